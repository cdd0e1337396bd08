/* policy.json, next to config.json in the same ConfigMap: settings that upstream's config.json has
 * no fields for, and its bytes are fixed. Leeboard's router reads it again when it changes; so it
 * is not part of the hash, and no pod restarts because of it. */

#include "kinds/llmkube/router.h"

static bool any_has(struct json list, const char *path)
{
    json_each (item, list)
        if (json_present(json_or_absent(json_get(*item, path))))
            return true;
    return false;
}

/* The entries that have one of these, reduced to them and the name. */
static struct json entries(struct arena *a, struct json list, const char *const *paths)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (item, list) {
        struct json entry = { 0 };
        for (const char *const *path = paths; *path; path++) {
            struct json value = json_or_absent(json_get(*item, *path));
            if (json_present(value))
                entry = json_overlay(a,
                    json_present(entry) ? entry
                                        : json_fields(a, { "name", json_get(*item, "name") }),
                    json_fields(a, { *path, value }));
        }
        if (json_present(entry))
            json_push(&b, entry);
    }
    return json_or_absent(json_list_end(&b));
}

struct json router_extras(const struct router *r, int64_t replicas)
{
    static const char *const of_backend[] = { "costPerMillionTokens", "healthCheck", NULL };
    static const char *const of_rule[] = { "match.latencySLOMs", NULL };
    struct arena *a = r->arena;
    struct json budgets = json_or_absent(json_get(r->raw, "policy.budgets"));
    struct json auth = json_or_absent(json_get(r->raw, "policy.auth"));
    struct json backends = entries(a, r->spec.backends, of_backend);
    struct json rules = entries(a, r->spec.rules, of_rule);
    if (!json_present(budgets) && !json_present(auth) && !json_present(backends) &&
        !json_present(rules))
        return json_none;
    bool shared = json_present(budgets) && replicas > 1;
    return json_fields(a,
        { "backends", backends },
        { "rules", rules },
        { "policy.budgets", budgets },
        { "policy.auth", auth },
        { "replicas", json_if(shared, json_int(replicas)) });
}

bool router_image_is_ours(const struct router *r)
{
    const char *image = router_image(r);
    if (text_eq(image, r->settings->own_router_image))
        return true;
    const char *slash = strrchr(image, '/');
    struct str name = str_of(slash ? slash + 1 : image);
    struct str digest = name, tag;
    name = str_cut(&digest, '@');
    tag = name;
    name = str_cut(&tag, ':');
    return str_eq(name, STR("leeboard-router")) || str_eq(name, STR("leeboard"));
}

const char *router_check_extras(const struct router *r)
{
    struct json jwt = json_get(r->raw, "policy.auth.jwt");
    struct json lists = json_get(r->raw, "policy.auth.allowlists");
    if (r->spec.budgets.count > ROUTER_BUDGETS_MAX)
        return arena_printf(r->arena, "spec.policy.budgets: %d at most", ROUTER_BUDGETS_MAX);
    size_t i = 0;
    struct json_builder names;
    json_builder_init(&names, r->arena);
    json_each (budget, r->spec.budgets)
        json_put(&names, json_get_text(*budget, "name") ?: "", json_int((int64_t)i++));
    struct json last = json_map_end(&names);
    i = 0;
    json_each (budget, r->spec.budgets) {
        const char *name = json_get_text(*budget, "name") ?: "";
        if (json_member(last, name).integer != (int64_t)i++)
            return arena_printf(r->arena, "spec.policy.budgets: duplicate name \"%s\"", name);
    }
    if (lists.count && !json_is(jwt, JSON_MAP))
        return "spec.policy.auth.allowlists need spec.policy.auth.jwt: the team comes from a token";
    return NULL;
}

/* "a, b": those paths of the spec that are set. */
static const char *given(const struct router *r, const char *text, const char *const *paths)
{
    for (; *paths; paths++) {
        struct json v = json_get(r->raw, *paths);
        if (json_present(json_or_absent(v)) && !json_is(v, JSON_NULL))
            text = text ? arena_printf(r->arena, "%s, spec.%s", text, *paths)
                        : arena_printf(r->arena, "spec.%s", *paths);
    }
    return text;
}

const char *router_inert(const struct router *r, bool ours)
{
    static const char *const never[] = {
        "endpoint.gateway", "mcpServer", "proxy.resources.claims", NULL
    };
    static const char *const upstream[] = { "policy.auth", "policy.budgets", NULL };
    const char *text = given(r, NULL, never);
    const struct {
        const char *shown;
        bool given;
    } inner[] = {
        { "spec.policy.classification.mode", !text_eq(r->spec.mode, "header-only") },
        { "spec.backends[].costPerMillionTokens",
            !ours && any_has(r->spec.backends, "costPerMillionTokens") },
        { "spec.backends[].healthCheck", !ours && any_has(r->spec.backends, "healthCheck") },
        { "spec.rules[].match.latencySLOMs",
            !ours && any_has(r->spec.rules, "match.latencySLOMs") },
    };
    if (!ours)
        text = given(r, text, upstream);
    for (size_t i = 0; i < lengthof(inner); i++)
        if (inner[i].given)
            text = text ? arena_printf(r->arena, "%s, %s", text, inner[i].shown) : inner[i].shown;
    return text;
}
