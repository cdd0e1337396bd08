/* Fields that users set but that have no effect: a condition names them, so that users do not wait
 * for one. */

#include "engine/plan.h"
#include "kinds/toolhive/proxy.h"

/* Limit of the message; the rest is left out. */
#define LIST_BYTES_MAX 1024
#define OVERRIDES "resourceOverrides."
#define PODS OVERRIDES "proxyDeployment.podTemplateMetadataOverrides."

void proxy_ignore(struct proxy *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *field = arena_vprintf(p->a, format, args), *list = p->ignored ? p->ignored : "";
    va_end(args);
    if (strlen(list) < LIST_BYTES_MAX)
        p->ignored = arena_printf(p->a, "%s%s%s", list, *list ? ", " : "", field);
}

void proxy_ignore_unknown(struct proxy *p, const char *unknown)
{
    if (unknown)
        proxy_ignore(p, "%s", unknown);
}

void proxy_tell_ignored(struct proxy *p)
{
    if (p->ignored)
        toolhive_tell_ignored(p->out, p->ignored);
}

void toolhive_tell_ignored(struct plan *out, const char *fields)
{
    plan_condition(
        out, "FieldsIgnored", true, "FieldsHaveNoEffect", "these have no effect: %s", fields);
}

/* ---- fields ---- */

/* Users' keys that the operator's replace. */
static void ignore_keys(struct proxy *p, const char *path, struct json ours)
{
    json_each_member (m, json_get(p->spec, path)) {
        struct json v = json_member(ours, m->key);
        if (json_present(v) && !text_eq(json_text(v), json_text(m->value)))
            proxy_ignore(p, "spec.%s[%s]", path, m->key);
    }
}

static void ignore_variables(struct proxy *p)
{
    static const char *const set[] = { "MCP_TRANSPORT", "MCP_PORT", "FASTMCP_PORT" };
    size_t count = text_eq(p->transport, "stdio") ? 1 : lengthof(set);
    for (size_t i = 0; i < count; i++)
        if (json_present(json_find(json_get(p->spec, "env"), "name", set[i])))
            proxy_ignore(p, "spec.env[%s]", set[i]);
}

/* Types whose tokens neither proxy can use. */
static void ignore_external(struct proxy *p)
{
    static const char *const types[] = {
        "headerInjection", "upstreamInject", "xaa", "bearerToken"
    };
    size_t count = p->remote ? lengthof(types) - 1 : lengthof(types);
    for (size_t i = 0; i < count; i++)
        if (proxy_external_is(p, types[i]))
            proxy_ignore(p, "spec.externalAuthConfigRef with an object of type %s", types[i]);
}

static void ignore_hints(struct proxy *p)
{
    json_each_member (m, json_get(p->tool, "spec.toolsOverride"))
        if (json_present(json_get(m->value, "annotations")))
            proxy_ignore(p,
                "MCPToolConfig %s: spec.toolsOverride[%s].annotations",
                json_get_text(p->spec, "toolConfigRef.name"),
                m->key);
}

void proxy_ignore_fields(struct proxy *p)
{
    const char *mode = json_get_text(p->spec, "proxyMode");
    struct json own = json_map(p->a,
        { TOOLHIVE_RUNCONFIG_CHECKSUM, json_str("") },
        { TOOLHIVE_GENERATION, p->remote ? json_none : json_str("") });
    ignore_keys(p, OVERRIDES "proxyDeployment.labels", p->labels);
    ignore_keys(p, OVERRIDES "proxyService.labels", p->labels);
    ignore_keys(p, PODS "labels", p->labels);
    ignore_keys(p, PODS "annotations", own);
    if (!p->remote)
        ignore_variables(p);
    /* The default is always set, so only the other value can be reported. */
    if (!p->remote && text_eq(mode, "sse") && text_eq(p->transport, "streamable-http"))
        proxy_ignore(p, "spec.proxyMode where spec.transport is not stdio");
    ignore_external(p);
    ignore_hints(p);
}
