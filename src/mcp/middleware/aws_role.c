#include "mcp/middleware/aws_role.h"

#include "base/json_bind.h"
#include "cel/cel.h"
#include "cel/eval.h"

#define ACCOUNT_DIGITS 12
#define CLAIMS_DEPTH_MAX 32

struct role {
    const char *claim;                 /* NULL: see matcher */
    const struct cel_program *matcher; /* NULL: see claim */
    const char *arn;
    int64_t priority;
};

struct aws_roles {
    const char *fallback; /* NULL: none */
    const char *claim;    /* the claim that rules with a value match */
    struct role *list;
    size_t count;
};

/* ---- reading ---- */

static bool check_arn(const char *text, struct error *err)
{
    struct str rest = str_of(text);
    struct str arn = str_cut(&rest, ':'), partition = str_cut(&rest, ':');
    struct str service = str_cut(&rest, ':'), region = str_cut(&rest, ':');
    struct str account = str_cut(&rest, ':');
    bool fine = str_eq(arn, STR("arn")) && partition.len && str_eq(service, STR("iam")) &&
                !region.len && account.len == ACCOUNT_DIGITS && str_starts(rest, STR("role/"));
    for (size_t i = 0; fine && i < account.len; i++)
        fine = account.ptr[i] >= '0' && account.ptr[i] <= '9';
    return fine || fail(err, ERR_INVALID, "\"%s\" is not the ARN of an IAM role", text);
}

/* Claims are a map with values of any type. */
static const struct cel_decl *claims_decl(struct arena *a)
{
    return cel_decl_new(a,
        json_fields(a,
            { "type", json_str("object") },
            { "additionalProperties.x-kubernetes-int-or-string", json_bool(true) }),
        false);
}

struct rule_fields {
    const char *claim, *matcher, *arn;
    int64_t priority;
};

static bool read_rule(struct arena *a, struct json v, struct role *ret, struct error *err)
{
    static const struct json_bind bind[] = {
        BIND(struct rule_fields, claim, "claim"),
        BIND(struct rule_fields, matcher, "matcher"),
        BIND(struct rule_fields, arn, "role_arn", .required = true),
        BIND(struct rule_fields, priority, "priority"),
        { 0 },
    };
    struct rule_fields f = { 0 };
    if (!json_bind(a, v, "", bind, &f, err))
        return false;
    if (text_empty(f.claim) == text_empty(f.matcher))
        return fail(err, ERR_INVALID, "needs either claim or matcher");
    *ret = (struct role){ .arn = f.arn, .priority = f.priority };
    if (!check_arn(f.arn, err))
        return fail_in(err, "role_arn");
    if (!text_empty(f.claim)) {
        ret->claim = f.claim;
        return true;
    }
    const char *trouble = cel_compile(
        a, claims_decl(a), f.matcher, &(struct cel_options){ .variable = "claims" }, &ret->matcher);
    return !trouble || fail(err, ERR_INVALID, "matcher: %s", trouble);
}

struct aws_roles *aws_roles_new(struct arena *a, struct json config, struct error *err)
{
    struct aws_roles *r = arena_new(a, struct aws_roles);
    struct json list = json_member(config, "role_mappings");
    const char *fallback = json_get_text(config, "fallback_role_arn");
    const char *claim = json_get_text(config, "role_claim");
    r->fallback = text_empty(fallback) ? NULL : fallback;
    r->claim = text_empty(claim) ? "groups" : claim;
    r->list = arena_array(a, (json_is(list, JSON_LIST) ? list.count : 0) + 1, sizeof(*r->list));
    if (r->fallback && !check_arn(r->fallback, err)) {
        fail_in(err, "fallback_role_arn");
        return NULL;
    }
    json_each (item, list)
        if (!read_rule(a, *item, &r->list[r->count++], err)) {
            fail_in(err, "role_mappings[%zu]", r->count - 1);
            return NULL;
        }
    if (!r->fallback && !r->count) {
        fail(err, ERR_INVALID, "needs fallback_role_arn or role_mappings");
        return NULL;
    }
    return r;
}

/* ---- choosing ---- */

/* Numbers are doubles, as Go reads them. */
static struct cel_value value_of(struct arena *a, struct json v, int depth)
{
    if (json_is(v, JSON_BOOL))
        return cel_bool(v.boolean);
    if (json_is(v, JSON_INT))
        return cel_double((double)v.integer);
    if (json_is(v, JSON_REAL))
        return cel_double(v.real);
    if (json_is(v, JSON_STR))
        return cel_string((struct str){ v.string, v.count });
    if (json_is(v, JSON_LIST) && depth < CLAIMS_DEPTH_MAX) {
        struct cel_value list = cel_list_new(a, NULL, 0);
        json_each (item, v)
            list = cel_list_append(a, list, value_of(a, *item, depth + 1));
        return list;
    }
    if (json_is(v, JSON_MAP) && depth < CLAIMS_DEPTH_MAX) {
        struct cel_value map = cel_map_new(a);
        json_each_member (m, v)
            map = cel_map_insert(a, map, cel_text(m->key), value_of(a, m->value, depth + 1));
        return map;
    }
    return cel_null();
}

static bool is_true(const struct cel_program *p, struct arena *a, struct cel_value claims)
{
    struct cel_variable variable = { .name = STR("claims"), .value = claims };
    struct cel_eval e = {
        .arena = a, .cost_limit = CEL_BUDGET_CALL, .variables = &variable, .regexes = p->regexes
    };
    struct cel_value got = cel_evaluate(&e, p->root);
    return got.kind == CEL_BOOL && got.boolean && !e.stopped;
}

static bool has_value(struct json claim, const char *value)
{
    if (json_is(claim, JSON_LIST))
        return json_list_has(claim, value);
    return json_is(claim, JSON_MAP) && json_present(json_member(claim, value));
}

const char *aws_roles_choose(const struct aws_roles *r, struct arena *a, struct json claims)
{
    const struct role *best = NULL;
    struct cel_value value = value_of(a, json_is(claims, JSON_MAP) ? claims : json_empty_map(), 0);
    for (size_t i = 0; i < r->count; i++) {
        const struct role *one = &r->list[i];
        bool fits = one->claim ? has_value(json_member(claims, r->claim), one->claim)
                               : is_true(one->matcher, a, value);
        if (fits && (!best || one->priority < best->priority))
            best = one;
    }
    return best ? best->arn : r->fallback;
}
