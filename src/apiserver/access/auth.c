#include "apiserver/access/auth.h"

#include <stdlib.h>
#include <strings.h>

#include "apiserver/access/auth_internal.h"
#include "base/hash.h"
#include "base/url.h"

#define IMPERSONATE_MAX 64

struct auth *auth_new(struct apiserver *s, const struct apiserver_options *options)
{
    struct auth *auth = mem_new_of(struct auth);
    auth->server = s;
    auth->rbac = rbac_new(s);
    auth->token_key = options->token_key;
    auth->allow_all = options->allow_all;
    return auth;
}

void auth_free(struct auth *auth)
{
    if (!auth)
        return;
    rbac_free(auth->rbac);
    free(auth);
}

void auth_set_static_tokens(struct auth *auth, const struct auth_static_token *tokens)
{
    auth->tokens = tokens;
}

struct json auth_read(
    struct auth *auth, struct arena *a, const char *plural, const char *ns, const char *name)
{
    const struct api_kind *k = registry_find(apiserver_registry(auth->server), "", "v1", plural);
    return json_if(k, apiserver_read(auth->server, a, k, ns, name));
}

/* ---- authentication ---- */

static bool in_groups(const char *const *groups, const char *group)
{
    for (; groups && *groups; groups++)
        if (text_eq(*groups, group))
            return true;
    return false;
}

/* A copy of the list with one more item, unless it is in the list already. */
static const char *const *with_group(struct arena *a, const char *const *groups, const char *more)
{
    size_t count = 0;
    while (groups && groups[count])
        count++;
    const char **list = arena_array(a, count + 2, sizeof(*list));
    for (size_t i = 0; i < count; i++)
        list[i] = arena_strdup(a, groups[i]);
    if (!in_groups(groups, more))
        list[count] = more;
    return list;
}

static struct json credential(struct arena *a, const char *text)
{
    return json_map(
        a, { "authentication.kubernetes.io/credential-id", json_list(a, json_str(text)) });
}

static void certificate_user(
    struct arena *a, const struct auth_credentials *c, struct api_user *ret)
{
    *ret = (struct api_user){
        .name = arena_strdup(a, c->common_name),
        .uid = "",
        .groups = with_group(a, c->organizations, "system:authenticated"),
    };
    if (c->certificate_der.len)
        ret->extra =
            credential(a, arena_printf(a, "X509SHA256=%s", sha256_hex(a, c->certificate_der)));
}

bool auth_authenticate(struct auth *auth, struct arena *a, const struct auth_credentials *c,
    struct api_user *ret, struct error *err)
{
    static const char *const anonymous[] = { "system:unauthenticated", NULL };
    if (c->bearer.ptr && c->bearer.len) {
        const struct auth_static_token *t = auth->tokens;
        for (; t && t->token; t++)
            if (str_eq(str_of(t->token), c->bearer)) {
                *ret = t->user;
                ret->groups = with_group(a, t->user.groups, "system:authenticated");
                return true;
            }
        return auth_token_user(auth, a, c->bearer, json_none, ret, NULL, err);
    }
    if (c->common_name && *c->common_name) {
        certificate_user(a, c, ret);
        return true;
    }
    *ret = (struct api_user){ .name = "system:anonymous", .uid = "", .groups = anonymous };
    return true;
}

struct json auth_user_json(struct arena *a, const struct api_user *user)
{
    struct json_builder groups;
    json_builder_init(&groups, a);
    for (const char *const *g = user->groups; g && *g; g++)
        json_push(&groups, json_str(*g));
    return json_map(a,
        { "username", json_str_or_absent(user->name) },
        { "uid", json_str_or_absent(user->uid) },
        { "groups", json_or_absent(json_list_end(&groups)) },
        { "extra", json_or_absent(user->extra) });
}

/* ---- impersonation ---- */

static bool may(struct auth *auth, struct arena *a, const struct api_user *user, const char *group,
    const char *resource, const char *subresource, const char *ns, const char *name)
{
    return auth_allows(auth,
        a,
        user,
        &(struct auth_request){
            .verb = "impersonate",
            .group = group,
            .version = "v1",
            .resource = resource,
            .subresource = subresource,
            .ns = ns,
            .name = name,
        },
        NULL);
}

/* Splits "system:serviceaccount:NS:NAME"; false for another name. */
static bool cut_account(
    struct arena *a, const char *user, const char **ret_namespace, const char **ret_name)
{
    static const char prefix[] = "system:serviceaccount:";
    if (!text_starts(user, prefix))
        return false;
    struct str rest = str_of(user + sizeof(prefix) - 1);
    *ret_namespace = str_dup(a, str_cut(&rest, ':'));
    *ret_name = rest.ptr ? str_dup(a, rest) : "";
    return rest.ptr && rest.len > 0;
}

/* "impersonate-extra-KEY: VALUE" adds a value to KEY. */
static void add_extra(
    struct arena *a, struct json_builder *extras, const char *name, const char *value)
{
    char *key = arena_strdup(a, name);
    for (char *p = key; *p; p++)
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
    const char *decoded;
    if (url_decode(a, str_of(key), &decoded))
        key = arena_strdup(a, decoded);
    struct json have = { 0 };
    for (uint32_t i = 0; i < extras->count; i++)
        if (text_eq(extras->members[i].key, key))
            have = extras->members[i].value;
    struct json_builder values;
    json_builder_init(&values, a);
    json_push_all(&values, json_present(have) ? have : json_empty_list());
    json_push(&values, json_str(value));
    json_put(extras, key, json_list_end(&values));
}

/* Reads the impersonated user from the headers. If a header were ignored, the request would run
 * with more rights than intended, so an unknown header is an error. Returns the error, or NULL. */
static const char *read_headers(
    struct arena *a, const struct api_header *headers, struct api_user *ret)
{
    static const char extra[] = "impersonate-extra-";
    struct json_builder extras;
    json_builder_init(&extras, a);
    const char **groups = arena_array(a, IMPERSONATE_MAX + 1, sizeof(*groups));
    size_t count = 0, group_count = 0;
    *ret = (struct api_user){ .name = "", .uid = "", .groups = groups };
    for (; headers->name; headers++) {
        if (++count > IMPERSONATE_MAX)
            return arena_printf(
                a, "the request has more than %d Impersonate-* headers", IMPERSONATE_MAX);
        bool is_user = strcasecmp(headers->name, "impersonate-user") == 0;
        bool is_uid = strcasecmp(headers->name, "impersonate-uid") == 0;
        const char **one = is_user ? &ret->name : &ret->uid;
        if (is_user || is_uid) {
            if (**one)
                return arena_printf(a, "the request has two %s headers", headers->name);
            *one = headers->value;
        } else if (strcasecmp(headers->name, "impersonate-group") == 0) {
            groups[group_count++] = headers->value;
        } else if (strncasecmp(headers->name, extra, sizeof(extra) - 1) == 0) {
            add_extra(a, &extras, headers->name + sizeof(extra) - 1, headers->value);
        } else {
            return arena_printf(a,
                "the header %s is not known: use Impersonate-User, Impersonate-Group, "
                "Impersonate-Uid or Impersonate-Extra-*",
                headers->name);
        }
    }
    ret->extra = json_or_absent(json_map_end(&extras));
    return NULL;
}

static bool may_be(
    struct auth *auth, struct arena *a, const struct api_user *user, const struct api_user *wanted)
{
    static const char group[] = "authentication.k8s.io";
    const char *ns, *name;
    bool ok = cut_account(a, wanted->name, &ns, &name)
                  ? may(auth, a, user, "", "serviceaccounts", "", ns, name)
                  : may(auth, a, user, "", "users", "", "", wanted->name);
    for (const char *const *g = wanted->groups; ok && *g; g++)
        ok = may(auth, a, user, "", "groups", "", "", *g);
    if (ok && *wanted->uid)
        ok = may(auth, a, user, group, "uids", "", "", wanted->uid);
    json_each_member (m, wanted->extra)
        json_each (value, m->value)
            ok = ok && may(auth, a, user, group, "userextras", m->key, "", json_text(*value));
    return ok;
}

static void complete_groups(struct arena *a, struct api_user *wanted)
{
    const char *ns, *name;
    if (!*wanted->groups && cut_account(a, wanted->name, &ns, &name)) {
        const char **list = arena_array(a, 3, sizeof(*list));
        list[0] = "system:serviceaccounts";
        list[1] = arena_printf(a, "system:serviceaccounts:%s", ns);
        wanted->groups = list;
    }
    bool anonymous = text_eq(wanted->name, "system:anonymous");
    if (!in_groups(wanted->groups, "system:unauthenticated"))
        wanted->groups = with_group(
            a, wanted->groups, anonymous ? "system:unauthenticated" : "system:authenticated");
}

/* A list of texts as printed by Go. */
static const char *go_list(struct arena *a, const char *const *list)
{
    const char *text = "";
    for (const char *const *item = list; *item; item++)
        text = arena_printf(a, "%s%s\"%s\"", text, *text ? ", " : "", *item);
    return *list ? arena_printf(a, "[]string{%s}", text) : "[]string(nil)";
}

static const char *go_extra(struct arena *a, struct json extra)
{
    const char *text = "";
    json_each_member (m, extra) {
        const char *values = "";
        json_each (v, m->value)
            values = arena_printf(a, "%s%s%s", values, *values ? ", " : "", json_to_text(a, *v));
        text = arena_printf(a, "%s%s\"%s\":[]string{%s}", text, *text ? ", " : "", m->key, values);
    }
    return *text ? arena_printf(a, "map[string][]string{%s}", text) : "map[string][]string(nil)";
}

bool auth_impersonate(struct auth *auth, struct arena *a, const struct api_user *user,
    const struct api_header *headers, const struct auth_request *r, struct api_user *ret,
    struct api_answer *ret_answer)
{
    struct api_user wanted;
    if (!headers) {
        *ret = *user;
        return true;
    }
    const char *wrong = read_headers(a, headers, &wanted);
    if (wrong) {
        answer_status(a, ret_answer, 400, "BadRequest", wrong, json_none);
        return false;
    }
    if (!*wanted.name) {
        answer_status(a,
            ret_answer,
            400,
            "BadRequest",
            arena_printf(a,
                "requested &user.DefaultInfo{Name:\"\", UID:\"%s\", Groups:%s, "
                "Extra:%s} without impersonating a user name",
                wanted.uid,
                go_list(a, wanted.groups),
                go_extra(a, wanted.extra)),
            json_none);
        return false;
    }
    if (!may_be(auth, a, user, &wanted)) {
        struct auth_request denied = *r;
        denied.verb = arena_printf(a,
            "impersonate-on:%s:%s",
            text_starts(wanted.name, "system:serviceaccount:") ? "serviceaccount" : "user-info",
            r->verb);
        auth_answer_forbidden(a, user, &denied, "", ret_answer);
        return false;
    }
    complete_groups(a, &wanted);
    *ret = wanted;
    return true;
}

/* ---- authorization ---- */

bool auth_is_master(const struct api_user *user)
{
    return in_groups(user->groups, "system:masters");
}

bool auth_allows(struct auth *auth, struct arena *a, const struct api_user *user,
    const struct auth_request *r, const char **ret_reason)
{
    const char *reason = "";
    bool ok =
        auth->allow_all || auth_is_master(user) || rbac_allows(auth->rbac, a, user, r, &reason);
    if (ret_reason)
        *ret_reason = reason;
    return ok;
}

void auth_answer_unauthorized(struct arena *a, struct api_answer *ret)
{
    answer_status(a, ret, 401, "Unauthorized", "Unauthorized", json_none);
}

void auth_answer_forbidden(struct arena *a, const struct api_user *user,
    const struct auth_request *r, const char *reason, struct api_answer *ret)
{
    const char *tail = text_empty(reason) ? "" : arena_printf(a, ": %s", reason);
    if (r->path) {
        const char *message = arena_printf(a,
            "forbidden: User \"%s\" cannot %s path \"%s\"%s",
            user->name,
            r->verb,
            r->path,
            tail);
        answer_status(a, ret, 403, "Forbidden", message, json_empty_map());
        return;
    }
    const char *what = *r->group ? arena_printf(a, "%s.%s", r->resource, r->group) : r->resource;
    const char *name = text_empty(r->name) ? "" : arena_printf(a, " \"%s\"", r->name);
    const char *where = text_empty(r->ns) ? "at the cluster scope"
                                          : arena_printf(a, "in the namespace \"%s\"", r->ns);
    const char *sub = text_empty(r->subresource) ? "" : arena_printf(a, "/%s", r->subresource);
    answer_status(a,
        ret,
        403,
        "Forbidden",
        arena_printf(a,
            "%s%s is forbidden: User \"%s\" cannot %s resource \"%s%s\" in API group \"%s\" %s%s",
            what,
            name,
            user->name,
            r->verb,
            r->resource,
            sub,
            r->group,
            where,
            tail),
        json_map(a,
            { "name", json_str_or_absent(r->name) },
            { "group", json_str_or_absent(r->group) },
            { "kind", json_str(r->resource) }));
}

struct json auth_aggregate(struct auth *auth, struct arena *a, struct json cluster_role)
{
    return rbac_aggregate(auth->rbac, a, cluster_role);
}
