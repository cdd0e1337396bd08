/* ToolHive's proxies and gateways read their configuration at startup: their pods must have the
 * present one, whatever users write next to its checksum (ToolHive's issues 5148, 5360). */

#include "sim/sim.h"

static const struct {
    const char *kind, *config;
    bool counted; /* the template includes the generation, too */
} rows[] = {
    { "MCPServer", "runconfig", true },
    { "MCPRemoteProxy", "runconfig", false },
    { "VirtualMCPServer", "vmcp-config", false },
};

static bool get(struct sim *s, struct arena *a, const char *path, struct json *ret)
{
    return sim_ask(s, "person", "GET", path, NULL, json_none, a, ret) == 200;
}

void sim_check_rolls(struct sim *s, struct json object)
{
    size_t i = 0;
    while (i < lengthof(rows) && !text_eq(rows[i].kind, json_get_text(object, "kind")))
        i++;
    if (i == lengthof(rows) || text_eq(json_get_text(object, "status.phase"), "Failed"))
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json map, workload;
    const char *name = json_get_text(object, "metadata.name");
    const char *ns = json_get_text(object, "metadata.namespace");
    if (!get(s,
            &a,
            arena_printf(&a, "/api/v1/namespaces/%s/configmaps/%s-%s", ns, name, rows[i].config),
            &map) ||
        !get(s,
            &a,
            arena_printf(&a, "/apis/apps/v1/namespaces/%s/deployments/%s", ns, name),
            &workload))
        return;
    struct json pods = json_get(workload, "spec.template.metadata.annotations");
    const char *wanted = json_text(
        json_member(json_get(map, "metadata.annotations"), SIM_TOOLHIVE "/content-checksum"));
    const char *there = json_text(json_member(pods, SIM_TOOLHIVE "/runconfig-checksum"));
    if (!text_eq(there, wanted))
        sim_fail(s,
            "promise 5, rolled: the pods of %s %s/%s are of configuration %s, not of %s",
            rows[i].kind,
            ns,
            name,
            there ? there : "none",
            wanted ? wanted : "none");
    const char *generation =
        arena_printf(&a, "%lld", (long long)json_get_int(object, "metadata.generation", 0));
    there = json_text(json_member(pods, SIM_TOOLHIVE "/mcpserver-generation"));
    if (rows[i].counted && !text_eq(there, generation))
        sim_fail(s,
            "promise 5, rolled: the pods of %s %s/%s are of generation %s, not of %s",
            rows[i].kind,
            ns,
            name,
            there ? there : "none",
            generation);
}
