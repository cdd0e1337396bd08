/* Cedar policies. The entities of a request are those of ToolHive:
 *
 *   principal  Client::"SUB"    attributes claim_NAME; parents THVGroup::"GROUP"
 *   action     Action::"call_tool", "get_prompt" or "read_resource"
 *   resource   Tool::"NAME", Prompt::"NAME" or Resource::"URI"; in MCP::"SERVER"
 *   context    claim_NAME and arg_NAME; arg_NAME_present for a list, an object or null
 *
 * Integers are longs. ToolHive makes every number a decimal; policies written for that fail with a
 * type error here, and are then evaluated again with decimals. A policy that fails denies, as in
 * ToolHive. */

#include "mcp/middleware/authorization.h"

#include "base/buf.h"
#include "base/json_bind.h"
#include "cedar/cedar.h"

#define CLAIM_DEPTH_MAX 10

struct cedar_state {
    struct cedar_policies *policies;
    struct cedar_entity *entities;
    size_t entity_count;
    const char *group_claim, *role_claim, *group_type, *server;
    struct json multi_valued;
};

struct cedar_options {
    struct json policies, multi_valued;
    const char *entities, *group_claim, *role_claim, *group_type, *provider;
};

static const struct json_bind cedar_bind[] = {
    BIND(struct cedar_options, policies, "policies"),
    BIND(struct cedar_options, entities, "entities_json"),
    BIND(struct cedar_options, group_claim, "group_claim_name"),
    BIND(struct cedar_options, role_claim, "role_claim_name"),
    BIND(struct cedar_options, group_type, "group_entity_type"),
    BIND(struct cedar_options, provider, "primary_upstream_provider"),
    BIND(struct cedar_options, multi_valued, "multi_valued_claims"),
    { 0 },
};

/* ---- opening ---- */

static bool read_policies(
    struct arena *a, struct json list, struct cedar_state *s, struct error *err)
{
    size_t count = 0;
    if (!json_is(list, JSON_LIST) || !list.count)
        return fail(err, ERR_INVALID, "cedar.policies: at least one policy is required");
    struct str *texts = arena_array(a, list.count, sizeof(*texts));
    json_each (item, list) {
        if (!json_text(*item))
            return fail(err,
                ERR_INVALID,
                "cedar.policies[%zu]: expected string, got %s",
                count,
                json_type_name(*item));
        texts[count++] = str_of(json_text(*item));
    }
    s->policies = cedar_parse_all(a, texts, count, err);
    return s->policies || fail_in(err, "cedar.policies");
}

/* { type, id }, with or without __entity around it */
static bool read_uid(struct json v, struct cedar_uid *ret)
{
    struct json inner = json_member(v, "__entity");
    if (json_present(inner))
        v = inner;
    const char *type = json_text(json_member(v, "type")), *id = json_text(json_member(v, "id"));
    *ret = (struct cedar_uid){ str_of(type), str_of(id) };
    return type && id;
}

static bool read_entity(struct arena *a, struct json v, struct cedar_entity *e, struct error *err)
{
    struct json parents = json_member(v, "parents");
    if (!read_uid(json_member(v, "uid"), &e->uid))
        return fail(err, ERR_INVALID, "uid: expected type and id");
    e->attributes = json_member(v, "attrs");
    struct cedar_uid *list =
        arena_array(a, json_is(parents, JSON_LIST) ? parents.count + 1 : 1, sizeof(*list));
    json_each (parent, parents)
        if (!read_uid(*parent, &list[e->parent_count++]))
            return fail(err, ERR_INVALID, "parents: expected type and id");
    e->parents = list;
    return true;
}

static bool read_entities(
    struct arena *a, const char *text, struct cedar_state *s, struct error *err)
{
    struct json all;
    if (text_empty(text))
        return true;
    if (!json_parse(a, str_of(text), &all, err))
        return fail_in(err, "cedar.entities_json");
    if (!json_is(all, JSON_LIST))
        return fail(
            err, ERR_INVALID, "cedar.entities_json: expected list, got %s", json_type_name(all));
    s->entities = arena_array(a, all.count + 1, sizeof(*s->entities));
    json_each (item, all) {
        if (!read_entity(a, *item, &s->entities[s->entity_count], err))
            return fail_in(err, "cedar.entities_json[%zu]", s->entity_count);
        s->entity_count++;
    }
    return true;
}

static void *cedar_open(const struct mcp_open *o, struct json config, struct error *err)
{
    struct cedar_state *s = arena_new(o->arena, struct cedar_state);
    struct cedar_options c = { 0 };
    struct cedar_uid probe;
    if (!json_bind(o->arena, json_member(config, "cedar"), "cedar", cedar_bind, &c, err) ||
        !read_policies(o->arena, c.policies, s, err) ||
        !read_entities(o->arena, c.entities, s, err))
        return NULL;
    if (!text_empty(c.provider)) {
        fail(err,
            ERR_UNSUPPORTED,
            "cedar.primary_upstream_provider: this version has no embedded authorization server "
            "that would hold tokens of other providers. Remove the field.");
        return NULL;
    }
    s->group_type = text_empty(c.group_type) ? "THVGroup" : c.group_type;
    const char *sample = arena_printf(o->arena, "%s::\"x\"", s->group_type);
    if (strstr(s->group_type, "::") || !cedar_uid_parse(o->arena, str_of(sample), &probe, err)) {
        fail(err,
            ERR_INVALID,
            "cedar.group_entity_type: \"%s\" is not a Cedar identifier without \"::\"",
            s->group_type);
        return NULL;
    }
    s->group_claim = c.group_claim;
    s->role_claim = c.role_claim;
    s->multi_valued = c.multi_valued;
    s->server = json_get_text(o->config, "name");
    return s;
}

/* ---- values ---- */

static struct json decimal(struct arena *a, double number)
{
    if (!(number > -922337203685477.0 && number < 922337203685477.0))
        return json_none;
    return json_map(a,
        { "__extn",
            json_map(a, { "fn", json_str("decimal") }, { "arg", json_strf(a, "%.4f", number) }) });
}

/* Absent for values that Cedar does not have: the attribute is omitted. */
static struct json cedar_value(struct arena *a, struct json v, bool decimals, size_t depth)
{
    struct json_builder b;
    if (depth > CLAIM_DEPTH_MAX)
        return json_none;
    switch (v.type) {
    case JSON_BOOL:
    case JSON_STR:
        return v;
    case JSON_INT:
        return decimals ? decimal(a, (double)v.integer) : v;
    case JSON_REAL:
        return decimal(a, v.real);
    case JSON_LIST:
        json_builder_init(&b, a);
        json_each (item, v)
            json_push(&b, cedar_value(a, *item, decimals, depth + 1));
        return json_list_end(&b);
    case JSON_MAP:
        /* Cedar would read these as an entity or an extension value. */
        if (json_present(json_member(v, "__entity")) || json_present(json_member(v, "__extn")))
            return json_none;
        json_builder_init(&b, a);
        json_each_member (m, v)
            json_put(&b, m->key, cedar_value(a, m->value, decimals, depth + 1));
        return json_map_end(&b);
    default:
        return json_none;
    }
}

/* Some issuers write this claim as a list, others as one string with spaces: accept both. */
static void add_multi_valued(
    struct arena *a, const char *name, struct json v, struct json_builder *to)
{
    struct json_builder set;
    const char *joined = json_text(v);
    cleanup(buf_done) struct buf text = BUF_INIT((size_t)1 << 20);
    json_builder_init(&set, a);
    if (json_is(v, JSON_LIST)) {
        json_each (item, v)
            if (json_text(*item)) {
                buf_printf(&text, "%s%s", text.len ? " " : "", json_text(*item));
                json_push(&set, *item);
            }
        joined = arena_strdup(a, buf_text(&text));
    } else if (joined) {
        struct str rest = str_of(joined);
        while (rest.ptr) {
            struct str word = str_trim(str_cut(&rest, ' '));
            if (word.len)
                json_push(&set, json_strn(a, word.ptr, word.len));
        }
    } else {
        return;
    }
    json_put(to, arena_printf(a, "claim_%s", name), json_str(joined));
    json_put(to, arena_printf(a, "claimset_%s", name), json_list_end(&set));
}

static struct json claims_of(
    const struct cedar_state *s, struct arena *a, struct json claims, bool decimals)
{
    struct json_builder all;
    json_builder_init(&all, a);
    json_each_member (m, claims)
        json_put(&all, arena_printf(a, "claim_%s", m->key), cedar_value(a, m->value, decimals, 0));
    json_each (name, s->multi_valued)
        if (json_text(*name))
            add_multi_valued(a, json_text(*name), json_member(claims, json_text(*name)), &all);
    return json_map_end(&all);
}

static struct json arguments_of(struct arena *a, struct json arguments, bool decimals)
{
    struct json_builder all;
    json_builder_init(&all, a);
    json_each_member (m, arguments) {
        bool is_plain = m->value.type == JSON_BOOL || m->value.type == JSON_STR ||
                        m->value.type == JSON_INT || m->value.type == JSON_REAL;
        if (is_plain)
            json_put(
                &all, arena_printf(a, "arg_%s", m->key), cedar_value(a, m->value, decimals, 0));
        else
            json_put(&all, arena_printf(a, "arg_%s_present", m->key), json_bool(true));
    }
    return json_map_end(&all);
}

/* ---- groups ---- */

static struct json claim_at(struct json claims, const char *path)
{
    struct json v = text_empty(path) ? json_none : json_member(claims, path);
    return json_present(v) || text_empty(path) ? v : json_get(claims, path);
}

static size_t add_groups(const struct cedar_state *s, struct json list, struct cedar_uid *to)
{
    size_t count = 0;
    json_each (item, list)
        if (json_text(*item))
            to[count++] = (struct cedar_uid){ str_of(s->group_type), str_of(json_text(*item)) };
    return count;
}

static const struct cedar_uid *groups_of(
    const struct cedar_state *s, struct arena *a, struct json claims, size_t *ret_count)
{
    static const char *const usual[] = { "groups", "roles", "cognito:groups" };
    struct json groups = claim_at(claims, s->group_claim), roles = claim_at(claims, s->role_claim);
    for (size_t i = 0; i < lengthof(usual) && !json_is(groups, JSON_LIST); i++)
        groups = claim_at(claims, usual[i]);
    size_t most = (json_is(groups, JSON_LIST) ? groups.count : 0) +
                  (json_is(roles, JSON_LIST) ? roles.count : 0);
    struct cedar_uid *list = arena_array(a, most + 1, sizeof(*list));
    *ret_count = add_groups(s, groups, list);
    *ret_count += add_groups(s, roles, list + *ret_count);
    return list;
}

/* ---- decisions ---- */

static const struct kind_words {
    const char *feature, *action, *type;
} kinds[] = {
    { "tool", "call_tool", "Tool" },
    { "prompt", "get_prompt", "Prompt" },
    { "resource", "read_resource", "Resource" },
};

static bool same_uid(struct cedar_uid a, struct cedar_uid b)
{
    return str_eq(a.type, b.type) && str_eq(a.id, b.id);
}

static struct json resource_attributes(
    struct arena *a, const struct authz_question *q, struct json arguments)
{
    bool is_tool = text_eq(q->feature, "tool"), is_resource = text_eq(q->feature, "resource");
    struct json own = json_map(a,
        { "name", json_str(q->id) },
        { "uri", json_if(is_resource, json_str(q->id)) },
        { "operation", json_str(q->operation) },
        { "feature", json_str(q->feature) });
    if (!is_tool)
        return json_overlay(a, own, arguments);
    return json_overlay(a, json_overlay(a, q->annotations, arguments), own);
}

static struct cedar_answer decide(const struct cedar_state *s, struct arena *a,
    const struct mcp_identity *who, const struct authz_question *q, bool decimals)
{
    const struct kind_words *k = kinds;
    while (!text_eq(k->feature, q->feature))
        k++;
    struct json claims = claims_of(s, a, who->claims, decimals);
    struct json arguments = arguments_of(a, q->arguments, decimals);
    struct cedar_request r = {
        .principal = { STR("Client"), str_of(json_text(json_member(who->claims, "sub"))) },
        .action = { STR("Action"), str_of(k->action) },
        .resource = { str_of(k->type), str_of(q->id) },
        .context = json_overlay(a, claims, arguments),
    };
    struct cedar_uid server = { STR("MCP"), str_of(s->server) };
    struct cedar_entity *list = arena_array(a, s->entity_count + 3, sizeof(*list));
    list[0] = (struct cedar_entity){ .uid = r.principal, .attributes = claims };
    list[0].parents = groups_of(s, a, who->claims, &list[0].parent_count);
    list[1] = (struct cedar_entity){ .uid = r.action,
        .attributes = json_map(a, { "operation", json_str(k->action) }) };
    list[2] = (struct cedar_entity){ .uid = r.resource,
        .attributes = resource_attributes(a, q, arguments),
        .parents = &server,
        .parent_count = !text_empty(s->server) };
    r.entity_count = 3;
    for (size_t i = 0; i < s->entity_count; i++) {
        struct cedar_uid uid = s->entities[i].uid;
        if (!same_uid(uid, r.principal) && !same_uid(uid, r.action) && !same_uid(uid, r.resource))
            list[r.entity_count++] = s->entities[i];
    }
    r.entities = list;
    return cedar_authorize(a, s->policies, &r);
}

static enum authz_answer cedar_ask(void *state, struct mcp_exchange *x,
    const struct authz_question *q, struct authz_check *check, void **call)
{
    const struct mcp_identity *who = mcp_identity(x);
    struct arena *a = mcp_arena(x);
    (void)check;
    (void)call;
    if (text_empty(json_text(json_member(who->claims, "sub"))))
        return AUTHZ_DENY;
    struct cedar_answer answer = decide(state, a, who, q, false);
    bool was_forbidden = !answer.allowed && answer.reason_count;
    if (answer.error_count && !was_forbidden)
        answer = decide(state, a, who, q, true);
    return answer.allowed && !answer.error_count ? AUTHZ_ALLOW : AUTHZ_DENY;
}

const struct authorizer authorizer_cedar = {
    .type = "cedarv1",
    .open = cedar_open,
    .ask = cedar_ask,
};
