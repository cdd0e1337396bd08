/* An HTTP policy decision point (httpv1): POST { principal, operation, resource, context } to
 * URL/decision, answered by { "allow": true }. Any other answer denies. */

#include "mcp/middleware/authorization.h"

#include "base/json_bind.h"
#include "mcp/middleware/fetch.h"

#define TIMEOUT_S 30

struct pdp {
    struct fetch_target *target;
    const char *server;
    bool include_args, include_operation, is_mpe;
    int64_t timeout_ms;
};

struct pdp_options {
    const char *url, *mapping;
    int64_t timeout;
    bool verify_off, include_args, include_operation;
};

static const struct json_bind pdp_bind[] = {
    BIND(struct pdp_options, url, "http.url", .required = true),
    BIND(struct pdp_options, timeout, "http.timeout", .min = 0, .max = 600),
    BIND(struct pdp_options, verify_off, "http.insecure_skip_verify"),
    BIND(struct pdp_options, include_args, "context.include_args"),
    BIND(struct pdp_options, include_operation, "context.include_operation"),
    BIND(struct pdp_options, mapping, "claim_mapping", .required = true),
    { 0 },
};

static void *pdp_open(const struct mcp_open *o, struct json config, struct error *err)
{
    struct pdp_options p = { .timeout = TIMEOUT_S };
    if (!json_bind(o->arena, json_member(config, "pdp"), "pdp", pdp_bind, &p, err))
        return NULL;
    if (!text_eq(p.mapping, "mpe") && !text_eq(p.mapping, "standard")) {
        fail(err,
            ERR_INVALID,
            "pdp.claim_mapping: \"%s\" is not known. Use mpe or standard.",
            p.mapping);
        return NULL;
    }
    struct str base = str_of(p.url);
    while (str_ends(base, STR("/")))
        base.len--;
    struct pdp *s = arena_new(o->arena, struct pdp);
    *s = (struct pdp){
        .server = json_get_text(o->config, "name"),
        .include_args = p.include_args,
        .include_operation = p.include_operation,
        .is_mpe = text_eq(p.mapping, "mpe"),
        .timeout_ms = (p.timeout ? p.timeout : TIMEOUT_S) * 1000,
    };
    s->target = fetch_target_new(o,
        &(struct fetch_options){
            .url = arena_printf(o->arena, "%.*s/decision", (int)base.len, base.ptr),
            .verify_off = p.verify_off,
        },
        err);
    if (s->target)
        return s;
    fail_in(err, "pdp.http.url");
    return NULL;
}

static void pdp_close(void *state)
{
    fetch_target_free(((struct pdp *)state)->target);
}

/* ---- questions ---- */

/* Adds the first claim that exists from a list of names, under the first name. */
static void take_claim(struct json_builder *to, struct json claims, const char *as,
    const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (json_present(json_member(claims, names[i]))) {
            json_put(to, as, json_member(claims, names[i]));
            return;
        }
}

#define TAKE(to, claims, as, ...)                                                                  \
    take_claim((to),                                                                               \
        (claims),                                                                                  \
        (as),                                                                                      \
        (const char *const[]){ __VA_ARGS__ },                                                      \
        lengthof(((const char *const[]){ __VA_ARGS__ })))

static struct json principal(const struct pdp *s, struct arena *a, struct json claims)
{
    struct json_builder p;
    json_builder_init(&p, a);
    TAKE(&p, claims, "sub", "sub");
    TAKE(&p, claims, "scopes", "scopes", "scope");
    if (!s->is_mpe) {
        TAKE(&p, claims, "roles", "roles");
        TAKE(&p, claims, "groups", "groups");
        return json_map_end(&p);
    }
    json_put(&p, "mannotations", json_empty_map());
    TAKE(&p, claims, "mannotations", "mannotations", "annotations");
    TAKE(&p, claims, "mroles", "mroles", "roles");
    TAKE(&p, claims, "mgroups", "mgroups", "groups");
    TAKE(&p, claims, "mclearance", "mclearance", "clearance");
    return json_map_end(&p);
}

static struct json context(const struct pdp *s, struct arena *a, const struct authz_question *q)
{
    struct json_builder mcp;
    json_builder_init(&mcp, a);
    if (s->include_operation) {
        json_put(&mcp, "feature", json_str(q->feature));
        json_put(&mcp, "operation", json_str(q->operation));
        json_put(&mcp, "resource_id", json_str(q->id));
    }
    if (s->include_args)
        json_put(&mcp, "args", json_or_absent(q->arguments));
    json_put(&mcp, "annotations", q->annotations);
    struct json all = json_map_end(&mcp);
    return all.count ? json_map(a, { "mcp", all }) : json_empty_map();
}

static void on_decision(void *ctx, int status, struct str body, const struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json answer = { 0 };
    bool ok = !err && status == 200 && json_parse(&a, body, &answer, NULL);
    authz_answered(ctx, ok && json_get_bool(answer, "allow", false));
}

static enum authz_answer pdp_ask(void *state, struct mcp_exchange *x,
    const struct authz_question *q, struct authz_check *check, void **call)
{
    const struct pdp *s = state;
    struct arena *a = mcp_arena(x);
    const struct mcp_identity *who = mcp_identity(x);
    if (!who->subject)
        return AUTHZ_DENY;
    struct json question = json_map(a,
        { "principal", principal(s, a, who->claims) },
        { "operation", json_strf(a, "mcp:%s:%s", q->feature, q->operation) },
        { "resource",
            json_strf(a, "mrn:mcp:%s:%s:%s", s->server ? s->server : "", q->feature, q->id) },
        { "context", context(s, a, q) });
    *call = fetch_start(s->target,
        &(struct fetch_request){
            .method = "POST",
            .headers = HTTP_HEADERS({ STR("content-type"), STR("application/json") },
                { STR("accept"), STR("application/json") }),
            .body = str_of(json_to_text(a, question)),
            .timeout_ms = s->timeout_ms,
        },
        on_decision,
        check);
    return AUTHZ_LATER;
}

static void pdp_cancel(void *state, void *call)
{
    (void)state;
    fetch_cancel(call);
}

const struct authorizer authorizer_pdp = {
    .type = "httpv1",
    .open = pdp_open,
    .close = pdp_close,
    .ask = pdp_ask,
    .cancel = pdp_cancel,
};
