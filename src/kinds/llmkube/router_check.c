/* Validates a ModelRouter, for the kind and for the admission webhook. */

#include "kinds/llmkube/model_router.h"
#include "kinds/llmkube/router.h"

#include "base/buf.h"
#include "base/time.h"

#include <stdarg.h>

#define FAULTS_MAX 16
#define TIMEOUT_MIN_NS ((int64_t)100 * TIME_NS_PER_MS)
#define TIMEOUT_MAX_NS ((int64_t)30 * 60 * TIME_NS_PER_S)

struct check {
    struct arena *arena;
    const struct router *router;
    struct json_builder faults;
    struct json rules; /* { name: true } */
};

static void printf_like(3, 4) fault(struct check *c, const char *field, const char *format, ...)
{
    if (c->faults.count == FAULTS_MAX)
        return;
    va_list args;
    va_start(args, format);
    const char *message = arena_vprintf(c->arena, format, args);
    va_end(args);
    json_push(&c->faults,
        json_fields(c->arena, { "field", json_str(field) }, { "message", json_str(message) }));
}

const struct router_backend *router_backend(const struct router *r, const char *name)
{
    struct json at = json_member(r->backend_index, name ? name : "");
    return json_present(at) ? &r->backends[at.integer] : NULL;
}

struct json router_sensitive(
    struct arena *a, const struct router *r, const struct router_rule *rule)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (class_name, json_get(rule->match, "dataClassification"))
        if (json_text(*class_name) && json_list_has(r->spec.sensitive, json_text(*class_name)))
            json_push(&b, *class_name);
    return json_list_end(&b);
}

/* "[pii phi]" */
static const char *list_text(struct arena *a, struct json list)
{
    const char *text = "";
    json_each (item, list)
        text = arena_printf(a, "%s%s%s", text, *text ? " " : "", json_text(*item));
    return arena_printf(a, "[%s]", text);
}

static void check_duration(struct check *c, const char *field, const char *text)
{
    int64_t ns;
    if (text && !time_duration_parse(text, &ns))
        fault(c, field, "\"%s\" is not a duration. Use a form such as 30s or 1m30s", text);
}

static void check_timeout(struct check *c, const char *at, const char *text)
{
    const char *field = arena_printf(c->arena, "%s.timeout", at);
    int64_t ns;
    check_duration(c, field, text);
    if (!text || !time_duration_parse(text, &ns))
        return;
    const char *shown = time_duration_format(c->arena, ns);
    if (ns < TIMEOUT_MIN_NS)
        fault(c, field, "must be >= 100ms; got %s", shown);
    if (ns > TIMEOUT_MAX_NS)
        fault(c, field, "must be <= 30m0s; got %s (probable unit typo)", shown);
}

static void check_backend(struct check *c, size_t i)
{
    const struct router_backend *b = &c->router->backends[i];
    const char *at = arena_printf(c->arena, "spec.backends[%zu]", i);
    bool external = json_present(b->external);
    if (router_backend(c->router, b->name) != b)
        fault(c, arena_printf(c->arena, "%s.name", at), "duplicate backend name \"%s\"", b->name);
    if (external == (b->service != NULL))
        fault(c, at, "exactly one of inferenceServiceRef and external must be set");
    if (b->service && text_eq(b->tier, "cloud"))
        fault(c,
            arena_printf(c->arena, "%s.tier", at),
            "an InferenceService is in the cluster, so its tier is local; remove tier");
    if (external && text_empty(b->model))
        fault(c, arena_printf(c->arena, "%s.external.model", at), "required");
    check_timeout(c, at, b->timeout);
}

static void check_sensitive(
    struct check *c, const char *at, const struct router_rule *rule, const char *backend)
{
    struct json classes = router_sensitive(c->arena, c->router, rule);
    const struct router_backend *b = router_backend(c->router, backend);
    if (classes.count && b && text_eq(b->tier, "cloud"))
        fault(c,
            arena_printf(c->arena, "%s.route.backends", at),
            "sensitive-data rule cannot route to cloud-tier backend \"%s\" (matched "
            "classifications: %s)",
            backend,
            list_text(c->arena, classes));
}

static void check_rule(struct check *c, size_t i, struct json_builder *names)
{
    const struct router_rule *rule = &c->router->rules[i];
    const char *at = arena_printf(c->arena, "spec.rules[%zu]", i);
    json_put(names, rule->name, json_bool(true));
    struct json classes = router_sensitive(c->arena, c->router, rule);
    if (classes.count && !rule->fail_closed)
        fault(c,
            arena_printf(c->arena, "%s.failClosed", at),
            "rule matches sensitive classifications %s and must set failClosed=true",
            list_text(c->arena, classes));
    if (!json_is(rule->backends, JSON_LIST) || !rule->backends.count)
        fault(
            c, arena_printf(c->arena, "%s.route.backends", at), "at least one back end is needed");
    size_t n = 0;
    json_each (item, rule->backends) {
        const char *backend = json_text(*item) ? json_text(*item) : "";
        if (!router_backend(c->router, backend))
            fault(c,
                arena_printf(c->arena, "%s.route.backends[%zu]", at, n),
                "references undefined backend \"%s\"",
                backend);
        check_sensitive(c, at, rule, backend);
        n++;
    }
    check_timeout(c, at, rule->timeout);
}

static void check_budget(struct check *c, struct json budget, size_t i)
{
    const char *at = arena_printf(c->arena, "spec.policy.budgets[%zu]", i);
    const char *rule = json_get_text(budget, "ruleName");
    bool of_rule = text_eq(json_get_text(budget, "scope"), "rule");
    bool tokens = json_present(json_get(budget, "maxTokens"));
    if (!tokens && text_empty(json_get_text(budget, "maxUSD")))
        fault(c, at, "one of maxTokens and maxUSD must be set");
    const char *field = arena_printf(c->arena, "%s.ruleName", at);
    if (of_rule && text_empty(rule))
        fault(c, field, "required with scope rule");
    else if (of_rule && !json_present(json_member(c->rules, rule)))
        fault(c, field, "references undefined rule \"%s\"", rule);
}

static void check_rules(struct check *c)
{
    struct json_builder names;
    json_builder_init(&names, c->arena);
    for (size_t i = 0; i < c->router->rule_count; i++)
        check_rule(c, i, &names);
    c->rules = json_map_end(&names);
    size_t n = 0;
    json_each (budget, c->router->spec.budgets)
        check_budget(c, *budget, n++);
}

struct json router_check(struct arena *a, const struct router *r)
{
    struct check c = { .arena = a, .router = r };
    json_builder_init(&c.faults, a);
    for (size_t i = 0; i < r->backend_count; i++)
        check_backend(&c, i);
    const char *route = r->spec.default_route;
    if (!text_empty(route) && !router_backend(r, route))
        fault(&c, "spec.defaultRoute", "references undefined backend \"%s\"", route);
    check_rules(&c);
    check_duration(&c, "spec.proxy.quarantineDuration", r->spec.quarantine);
    check_duration(&c, "spec.proxy.responseHeaderTimeout", r->spec.header_timeout);
    return json_list_end(&c.faults);
}

bool model_router_check(
    struct arena *a, struct json spec, struct json *ret_faults, struct error *err)
{
    struct router r;
    if (!router_read(a, spec, &r, err))
        return false;
    *ret_faults = router_check(a, &r);
    return true;
}
