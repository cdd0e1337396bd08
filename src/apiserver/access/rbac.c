#include "apiserver/access/rbac.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/json_index.h"
#include "base/selector.h"
#include "base/table.h"

#define GROUP "rbac.authorization.k8s.io"

/* A binding with the rules of its role. */
struct binding {
    const char *ns; /* "" for a ClusterRoleBinding */
    const char *name;
    const char *role_kind, *role_name;
    struct json subjects, rules; /* rules absent: the role does not exist */
};

/* The rules of a role, shared by all its bindings: there may be thousands. */
struct rules {
    struct table_node node;
    const char *key;
    struct json rules;
};

enum { ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS, TABLES };
static const char *const plurals[TABLES] = {
    "roles", "clusterroles", "rolebindings", "clusterrolebindings"
};

struct rbac {
    struct apiserver *server;
    struct arena arena; /* of all members below */
    struct binding *list;
    size_t count;
    struct table roles; /* struct rules, only while bindings are read */
    bool fresh;
    struct store_watch watches[TABLES];
};

static void on_event(void *ctx, const struct store_event *event)
{
    (void)event;
    struct rbac *r = ctx;
    r->fresh = false;
}

static struct store_table *table(struct rbac *r, int which)
{
    const struct api_kind *k =
        registry_find(apiserver_registry(r->server), GROUP, "v1", plurals[which]);
    return k ? store_table(apiserver_store(r->server), k->table) : NULL;
}

struct rbac *rbac_new(struct apiserver *s)
{
    struct rbac *r = mem_new_of(struct rbac);
    r->server = s;
    const struct env *env = apiserver_env(s);
    table_init(&r->roles, env->random(env->ctx), env->random(env->ctx));
    arena_init(&r->arena, (size_t)1 << 30);
    for (int i = 0; i < TABLES; i++) {
        r->watches[i] = (struct store_watch){ .event = on_event, .ctx = r };
        struct store_table *t = table(r, i);
        if (t)
            store_watch_start(t, &r->watches[i]);
    }
    return r;
}

void rbac_free(struct rbac *r)
{
    if (!r)
        return;
    for (int i = 0; i < TABLES; i++)
        store_watch_stop(&r->watches[i]);
    table_done(&r->roles);
    arena_done(&r->arena);
    free(r);
}

/* ---- reading the store ---- */

static struct json parse(struct arena *a, const struct store_object *o)
{
    struct json v;
    return json_if(o && json_parse(a, o->text, &v, NULL), v);
}

static bool selected(struct json selectors, struct json labels)
{
    json_each (s, selectors) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        struct selector selector;
        if (selector_from_json(&a, *s, "", &selector, NULL) && selector_matches(&selector, labels))
            return true;
    }
    return false;
}

/* Aggregated roles may be aggregated themselves, even in a cycle: each is read once. */
struct aggregation {
    struct rbac *rbac;
    struct json_builder rules;
    struct json_seen known, roles; /* rules and names */
    int depth;
};
#define AGGREGATION_DEPTH_MAX 8

static void add_aggregated(struct aggregation *g, struct json cluster_role)
{
    struct json selectors = json_get(cluster_role, "aggregationRule.clusterRoleSelectors");
    struct store_cursor c = { 0 };
    struct store_table *t = table(g->rbac, CLUSTER_ROLES);
    json_seen_add(&g->roles, json_get(cluster_role, "metadata.name"));
    for (const struct store_object *o; t && (o = store_next(t, &c));) {
        struct json role = parse(g->rules.arena, o);
        struct json name = json_get(role, "metadata.name");
        if (json_seen_has(&g->roles, name) ||
            !selected(selectors, json_get(role, "metadata.labels")))
            continue;
        json_seen_add(&g->roles, name);
        json_each (rule, json_member(role, "rules"))
            if (!json_seen_add(&g->known, *rule))
                json_push(&g->rules, *rule);
        if (!json_present(json_member(role, "aggregationRule")) ||
            g->depth == AGGREGATION_DEPTH_MAX)
            continue;
        g->depth++;
        add_aggregated(g, role);
        g->depth--;
    }
}

struct json rbac_aggregate(struct rbac *r, struct arena *a, struct json cluster_role)
{
    struct aggregation g = { .rbac = r, .known.arena = a, .roles.arena = a };
    json_builder_init(&g.rules, a);
    add_aggregated(&g, cluster_role);
    return json_list_end(&g.rules);
}

bool rbac_rules_of_ref(
    struct rbac *r, struct arena *a, const char *ns, struct json role_ref, struct json *ret)
{
    const char *name = json_get_text(role_ref, "name");
    bool local = text_eq(json_get_text(role_ref, "kind"), "Role");
    struct store_table *t = table(r, local ? ROLES : CLUSTER_ROLES);
    const struct store_object *o = t && name ? store_get(t, local ? ns : "", name) : NULL;
    struct json role = parse(a, o);
    *ret = json_present(json_member(role, "aggregationRule")) ? rbac_aggregate(r, a, role)
                                                              : json_member(role, "rules");
    if (o && !json_is(*ret, JSON_LIST))
        *ret = json_empty_list();
    return o != NULL;
}

static bool rules_are(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct rules, node)->key, key);
}

static struct json shared_rules(struct rbac *r, const char *ns, struct json ref)
{
    const char *kind = json_get_text(ref, "kind"), *name = json_get_text(ref, "name");
    bool local = text_eq(kind, "Role");
    const char *key = arena_printf(&r->arena, "%s/%s", local ? ns : "", name ? name : "");
    uint64_t hash = table_hash(&r->roles, key, strlen(key));
    struct table_node *n = table_find(&r->roles, hash, rules_are, key);
    if (n)
        return container_of(n, struct rules, node)->rules;
    struct rules *fresh = arena_new(&r->arena, struct rules);
    fresh->key = key;
    if (!rbac_rules_of_ref(r, &r->arena, ns, ref, &fresh->rules))
        fresh->rules = json_none;
    table_add(&r->roles, &fresh->node, hash);
    return fresh->rules;
}

static void forget_rules(struct rbac *r)
{
    for (struct table_cursor c = table_first(&r->roles); c.node; table_next(&c))
        table_remove(&r->roles, c.node);
}

static void read_bindings(struct rbac *r, int which)
{
    struct store_cursor c = { 0 };
    struct store_table *t = table(r, which);
    for (const struct store_object *o; t && (o = store_next(t, &c));) {
        struct json v = parse(&r->arena, o), ref = json_member(v, "roleRef");
        struct binding *b = &r->list[r->count++];
        *b = (struct binding){
            .ns = arena_strdup(&r->arena, o->ns),
            .name = arena_strdup(&r->arena, o->name),
            .role_kind = json_get_text(ref, "kind"),
            .role_name = json_get_text(ref, "name"),
            .subjects = json_member(v, "subjects"),
            .rules = shared_rules(r, o->ns, ref),
        };
    }
}

static void refresh(struct rbac *r)
{
    if (r->fresh)
        return;
    struct budget *left = budget_leave();
    struct store_table *cluster = table(r, CLUSTER_ROLE_BINDINGS), *local = table(r, ROLE_BINDINGS);
    arena_reset(&r->arena);
    r->count = 0;
    r->list = arena_array(&r->arena,
        (cluster ? store_table_count(cluster) : 0) + (local ? store_table_count(local) : 0) + 1,
        sizeof(*r->list));
    read_bindings(r, CLUSTER_ROLE_BINDINGS);
    read_bindings(r, ROLE_BINDINGS);
    forget_rules(r);
    budget_return(left);
    /* The store contains unflushed writes, which may be rolled back: then it is read again. */
    r->fresh = true;
    for (int i = 0; i < TABLES; i++) {
        const struct store_table *t = table(r, i);
        r->fresh = r->fresh && (!t || !store_table_is_dirty(apiserver_store(r->server), t));
    }
}

/* ---- subjects ---- */

static bool has_group(const struct api_user *user, const char *group)
{
    for (const char *const *g = user->groups; g && *g; g++)
        if (text_eq(*g, group))
            return true;
    return false;
}

static bool is_account(const struct api_user *user, const char *ns, const char *name)
{
    static const char prefix[] = "system:serviceaccount:";
    if (!name || !text_starts(user->name, prefix))
        return false;
    struct str rest = str_of(user->name + sizeof(prefix) - 1), of = str_cut(&rest, ':');
    return str_eq(of, str_of(ns)) && str_eq(rest, str_of(name));
}

/* The subject of a binding that matches the user; absent: none. */
static struct json subject_of(const struct binding *b, const struct api_user *user)
{
    json_each (s, b->subjects) {
        const char *kind = json_get_text(*s, "kind"), *name = json_get_text(*s, "name");
        const char *ns = json_get_text(*s, "namespace");
        if ((text_eq(kind, "User") && text_eq(name, user->name)) ||
            (text_eq(kind, "Group") && has_group(user, name)) ||
            (text_eq(kind, "ServiceAccount") &&
                is_account(user, text_empty(ns) ? b->ns : ns, name)))
            return *s;
    }
    return json_none;
}

/* ---- rules ---- */

static bool listed(struct json list, const char *text)
{
    return json_list_has(list, "*") || json_list_has(list, text);
}

static bool path_listed(struct json urls, const char *path)
{
    json_each (u, urls) {
        const char *url = json_text(*u);
        size_t length = url ? strlen(url) : 0;
        if (text_eq(url, path) ||
            (length && url[length - 1] == '*' && strncmp(url, path, length - 1) == 0))
            return true;
    }
    return false;
}

static bool resource_listed(struct json resources, const struct auth_request *r)
{
    char text[512];
    if (text_empty(r->subresource))
        return listed(resources, r->resource);
    snprintf(text, sizeof(text), "%s/%s", r->resource, r->subresource);
    if (listed(resources, text))
        return true;
    snprintf(text, sizeof(text), "*/%s", r->subresource);
    return json_list_has(resources, text);
}

bool rbac_rule_allows(struct json rule, const struct auth_request *r)
{
    if (!listed(json_member(rule, "verbs"), r->verb))
        return false;
    if (r->path)
        return path_listed(json_member(rule, "nonResourceURLs"), r->path);
    struct json names = json_member(rule, "resourceNames");
    return listed(json_member(rule, "apiGroups"), r->group) &&
           resource_listed(json_member(rule, "resources"), r) &&
           (!names.count || json_list_has(names, r->name ? r->name : ""));
}

/* ---- queries ---- */

static const char *describe(struct arena *a, const struct binding *b, struct json subject)
{
    const char *kind = json_get_text(subject, "kind"), *name = json_get_text(subject, "name");
    const char *ns = json_get_text(subject, "namespace");
    if (text_eq(kind, "ServiceAccount"))
        name = arena_printf(a, "%s/%s", name, text_empty(ns) ? b->ns : ns);
    return arena_printf(a,
        "RBAC: allowed by %s \"%s%s%s\" of %s \"%s\" to %s \"%s\"",
        *b->ns ? "RoleBinding" : "ClusterRoleBinding",
        b->name,
        *b->ns ? "/" : "",
        b->ns,
        b->role_kind,
        b->role_name,
        kind,
        name);
}

/* The next binding that names the user and applies to the namespace. */
static const struct binding *next_binding(struct rbac *r, size_t *at, const struct api_user *user,
    const char *ns, struct json *ret_subject)
{
    while (*at < r->count) {
        const struct binding *b = &r->list[(*at)++];
        if (*b->ns && !text_eq(b->ns, ns))
            continue;
        *ret_subject = subject_of(b, user);
        if (json_present(*ret_subject))
            return b;
    }
    return NULL;
}

bool rbac_allows(struct rbac *r, struct arena *a, const struct api_user *user,
    const struct auth_request *request, const char **ret_reason)
{
    refresh(r);
    const char *ns = request->path || !request->ns ? "" : request->ns;
    const struct binding *b;
    struct json subject, missing = { 0 };
    struct json_builder troubles;
    json_builder_init(&troubles, a);
    for (size_t i = 0; (b = next_binding(r, &i, user, ns, &subject));) {
        if (!json_present(b->rules))
            json_push(&troubles,
                json_strf(a,
                    "%s.rbac.authorization.k8s.io \"%s\" not found",
                    text_eq(b->role_kind, "Role") ? "role" : "clusterrole",
                    b->role_name));
        json_each (rule, b->rules)
            if (rbac_rule_allows(*rule, request)) {
                *ret_reason = describe(a, b, subject);
                return true;
            }
    }
    missing = json_list_end(&troubles);
    cleanup(buf_done) struct buf text = BUF_INIT(65536);
    json_each (m, missing)
        buf_printf(&text, "%s%s", text.len ? ", " : "", m->string);
    *ret_reason = missing.count == 0   ? ""
                  : missing.count == 1 ? arena_printf(a, "RBAC: %s", buf_text(&text))
                                       : arena_printf(a, "RBAC: [%s]", buf_text(&text));
    return false;
}

struct json rbac_rules_of(
    struct rbac *r, struct arena *a, const struct api_user *user, const char *ns)
{
    refresh(r);
    struct json_builder rules;
    json_builder_init(&rules, a);
    struct json subject;
    const struct binding *b;
    struct json_seen roles = { .arena = a }; /* by the address of their rules */
    for (size_t i = 0; (b = next_binding(r, &i, user, ns, &subject));)
        if (!json_seen_add(&roles, json_int((int64_t)(intptr_t)b->rules.items)))
            json_push_all(&rules, json_copy(a, b->rules));
    return json_list_end(&rules);
}
