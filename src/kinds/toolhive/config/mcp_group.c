/* An MCPGroup: the servers, proxies and entries of its namespace that name it. It can always be
 * deleted; the members report that their group is missing. */

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/toolhive.h"

static struct json members(const struct view *in, const struct resource *r)
{
    struct json_builder names;
    json_builder_init(&names, in->arena);
    json_each (o, view_list(in, r, view_namespace(in), NULL))
        if (text_eq(json_get_text(*o, "spec.groupRef.name"), view_name(in)))
            json_push(&names, json_get(*o, "metadata.name"));
    return json_or_absent(json_list_end(&names));
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct json servers = members(in, &TOOLHIVE_SERVER);
    struct json proxies = members(in, &TOOLHIVE_REMOTE_PROXY);
    struct json entries = members(in, &TOOLHIVE_SERVER_ENTRY);
    plan_condition(out,
        "MCPServersChecked",
        true,
        "ListMCPServersCheckSucceeded",
        "Successfully listed MCPServers, MCPRemoteProxies, and MCPServerEntries in namespace");
    plan_status(out,
        json_fields(in->arena,
            { "phase", json_str("Ready") },
            { "servers", servers },
            { "serverCount", json_int_or_absent(servers.count) },
            { "remoteProxies", proxies },
            { "remoteProxyCount", json_int_or_absent(proxies.count) },
            { "entries", entries },
            { "entryCount", json_int_or_absent(entries.count) },
            { "observedGeneration", json_int(json_get_int(in->object, "metadata.generation", 1)) }),
        NULL);
    plan_done(out);
}

#define MEMBER ((const char *const[]){ "spec.groupRef.name", NULL })

static const struct kind_watch watches[] = {
    { .resource = &TOOLHIVE_SERVER, .keep = MEMBER },
    { .resource = &TOOLHIVE_REMOTE_PROXY, .keep = MEMBER },
    { .resource = &TOOLHIVE_SERVER_ENTRY, .keep = MEMBER },
    { 0 },
};

const struct kind toolhive_group_kind = {
    .resource = &TOOLHIVE_MCP_GROUP,
    .watches = watches,
    .finalizer = "toolhive.stacklok.dev/mcpgroup-finalizer",
    .reconcile = reconcile,
};
