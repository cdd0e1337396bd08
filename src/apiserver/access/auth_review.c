/* Reviews of rights and tokens: POSTs whose result is in the status. */

#include "apiserver/access/auth.h"
#include "apiserver/access/auth_internal.h"
#include "apiserver/rules/check.h"
#include "base/selector.h"
#include "base/time.h"

#define AUTHORIZATION "authorization.k8s.io"
#define AUTHENTICATION "authentication.k8s.io"

struct review {
    struct auth *auth;
    struct arena *arena;
    const struct api_user *user;
    const struct api_kind *kind;
    const char *ns;
    struct json body;
    struct api_answer *ret;
};

static const char *text_at(struct json v, const char *path)
{
    const char *text = json_get_text(v, path);
    return text ? text : "";
}

/* The request with a status, as the response. */
static void answer(const struct review *r, struct json body, struct json status)
{
    struct json metadata = json_member(body, "metadata");
    body = json_with_member(r->arena, body, "status", status);
    body = json_with_member(
        r->arena, body, "metadata", json_is(metadata, JSON_MAP) ? metadata : json_empty_map());
    body = json_with_member(r->arena, body, "kind", json_str(r->kind->resource.kind));
    body = json_with_member(
        r->arena, body, "apiVersion", json_str(resource_api_version(r->arena, &r->kind->resource)));
    answer_json(r->arena, r->ret, 201, body);
}

/* ---- SubjectAccessReview and the like ---- */

static struct json go_path(struct arena *a, struct json attributes)
{
    return json_map(a,
        { "Path", json_str(text_at(attributes, "path")) },
        { "Verb", json_str(text_at(attributes, "verb")) });
}

/* The fieldSelector or labelSelector of a request. An unknown operator may come from a newer
 * client. */
static void check_narrowing(struct field_errors *e, struct json attributes, const char *name)
{
    struct json selector = json_member(attributes, name),
                requirements = json_member(selector, "requirements");
    const char *raw = text_at(selector, "rawSelector"),
               *path = field_child(e->arena, "spec.resourceAttributes", name);
    if (!json_is(selector, JSON_MAP))
        return;
    if (*raw && requirements.count)
        field_invalid(e,
            field_child(e->arena, path, "rawSelector"),
            json_str(raw),
            "may not specified at the same time as requirements");
    if (!*raw && !requirements.count)
        field_required(e,
            field_child(e->arena, path, "requirements"),
            arena_printf(
                e->arena, "when %s is specified, requirements or rawSelector is required", path));
    for (size_t i = 0; i < requirements.count; i++) {
        const char *here = check_item_path(e->arena, path, "requirements", i);
        check_selector_operator(e, requirements.items[i], here);
        if (text_eq(name, "labelSelector"))
            check_requirement(e, requirements.items[i], here);
        else if (!*text_at(requirements.items[i], "key"))
            field_required(e, field_child(e->arena, here, "key"), "must be specified");
    }
}

/* For labels all operators are supported; for fields only equality and inequality. */
static bool is_readable(struct json requirement, bool labels)
{
    const char *op = text_at(requirement, "operator");
    if (text_eq(op, "In") || text_eq(op, "NotIn"))
        return labels || json_member(requirement, "values").count == 1;
    return labels && (text_eq(op, "Exists") || text_eq(op, "DoesNotExist"));
}

/* Invalid parts are ignored; returns their error, or NULL. */
static const char *narrowing_trouble(struct arena *a, struct json attributes, const char *name)
{
    struct json selector = json_member(attributes, name);
    const char *raw = text_at(selector, "rawSelector");
    bool labels = text_eq(name, "labelSelector"), ok = true, some = false;
    struct selector parsed;
    struct error err;
    if (*raw)
        ok = labels ? selector_parse(a, raw, &parsed, &err)
                    : selector_parse_fields(a, raw, &parsed, &err);
    json_each (requirement, json_member(selector, "requirements")) {
        ok = ok && is_readable(*requirement, labels);
        some = some || is_readable(*requirement, labels);
    }
    return ok ? NULL
              : arena_printf(a,
                    "spec.resourceAttributes.%s %signored due to parse error",
                    name,
                    some ? "partially " : "");
}

static void check_attributes(const struct review *r, bool local, struct field_errors *errors)
{
    struct json spec = json_member(r->body, "spec");
    struct json resource = json_member(spec, "resourceAttributes");
    struct json path = json_member(spec, "nonResourceAttributes");
    bool has_resource = json_is(resource, JSON_MAP), has_path = json_is(path, JSON_MAP);
    bool self = text_starts(r->kind->resource.kind, "Self");
    if (has_resource && has_path)
        field_invalid(errors,
            "spec.nonResourceAttributes",
            go_path(r->arena, path),
            "cannot be specified in combination with resourceAttributes");
    else if (!has_resource && !has_path)
        field_invalid(errors,
            "spec.resourceAttributes",
            json_null(),
            "exactly one of nonResourceAttributes or resourceAttributes must be specified");
    struct json meta = json_member(r->body, "metadata");
    bool empty = true;
    json_each_member (m, meta)
        empty =
            empty && (text_eq(m->key, "managedFields") || (local && text_eq(m->key, "namespace")));
    if (!empty)
        field_invalid(errors,
            "metadata",
            meta,
            local ? "must be empty except for namespace" : "must be empty");
    check_narrowing(errors, resource, "fieldSelector");
    check_narrowing(errors, resource, "labelSelector");
    if (!self && !*text_at(spec, "user") && !json_member(spec, "groups").count)
        field_invalid(
            errors, "spec.user", json_str(""), "at least one of user or group must be specified");
    if (local && has_resource && !text_eq(text_at(resource, "namespace"), r->ns))
        field_invalid(errors,
            "spec.resourceAttributes.namespace",
            json_str(text_at(resource, "namespace")),
            "must match metadata.namespace");
    if (local && has_path)
        field_invalid(errors,
            "spec.nonResourceAttributes",
            go_path(r->arena, path),
            "disallowed on this kind of request");
}

/* The user that a SubjectAccessReview is about. */
static struct api_user subject(const struct review *r, struct json spec)
{
    struct json list = json_member(spec, "groups");
    const char **groups = arena_array(r->arena, list.count + 1, sizeof(*groups));
    size_t count = 0;
    json_each (g, list)
        if (json_text(*g))
            groups[count++] = json_text(*g);
    return (struct api_user){
        .name = text_at(spec, "user"),
        .uid = text_at(spec, "uid"),
        .groups = groups,
        .extra = json_member(spec, "extra"),
    };
}

static void review_access(const struct review *r, bool self, bool local)
{
    struct field_errors errors;
    field_errors_init(&errors, r->arena);
    check_attributes(r, local, &errors);
    if (errors.count) {
        answer_invalid(r->arena, r->ret, AUTHORIZATION, "", "", &errors);
        return;
    }
    struct json spec = json_member(r->body, "spec");
    struct json at = json_member(spec, "resourceAttributes");
    struct json path = json_member(spec, "nonResourceAttributes");
    bool resource = json_is(at, JSON_MAP);
    struct auth_request request = {
        .verb = text_at(resource ? at : path, "verb"),
        .path = resource ? NULL : text_at(path, "path"),
        .group = text_at(at, "group"),
        .version = text_at(at, "version"),
        .resource = text_at(at, "resource"),
        .subresource = text_at(at, "subresource"),
        .ns = text_at(at, "namespace"),
        .name = text_at(at, "name"),
    };
    struct api_user about = self ? *r->user : subject(r, spec);
    const char *reason;
    bool allowed = auth_allows(r->auth, r->arena, &about, &request, &reason);
    const char *fields = narrowing_trouble(r->arena, at, "fieldSelector"),
               *labels = narrowing_trouble(r->arena, at, "labelSelector");
    if (fields && labels)
        labels = arena_printf(r->arena, "%s; %s", fields, labels);
    answer(r,
        r->body,
        json_map(r->arena,
            { "allowed", json_bool(allowed) },
            { "reason", json_str_or_absent(reason) },
            { "evaluationError", json_str_or_absent(labels ? labels : fields) }));
}

static void review_self_access(const struct review *r)
{
    review_access(r, true, false);
}
static void review_subject_access(const struct review *r)
{
    review_access(r, false, false);
}
static void review_local_access(const struct review *r)
{
    review_access(r, false, true);
}

/* ---- SelfSubjectRulesReview ---- */

static void review_rules(const struct review *r)
{
    struct arena *a = r->arena;
    const char *ns = text_at(r->body, "spec.namespace");
    if (!*ns) {
        answer_status(a, r->ret, 400, "BadRequest", "no namespace on request", json_none);
        return;
    }
    struct json rules = rbac_rules_of(r->auth->rbac, a, r->user, ns);
    struct json_builder resources, paths;
    json_builder_init(&resources, a);
    json_builder_init(&paths, a);
    json_each (rule, rules) {
        bool path = json_member(*rule, "nonResourceURLs").count > 0;
        json_push(path ? &paths : &resources, *rule);
    }
    answer_json(a,
        r->ret,
        201,
        json_fields(a,
            { "kind", json_str("SelfSubjectRulesReview") },
            { "apiVersion", json_str(AUTHORIZATION "/v1") },
            { "metadata", json_empty_map() },
            { "spec", json_empty_map() },
            { "status.resourceRules", json_list_end(&resources) },
            { "status.nonResourceRules", json_list_end(&paths) },
            { "status.incomplete", json_bool(false) }));
}

/* ---- SelfSubjectReview and TokenReview ---- */

static void review_self(const struct review *r)
{
    struct arena *a = r->arena;
    int64_t now_ms = env_wall_ms(apiserver_env(r->auth->server));
    answer_json(a,
        r->ret,
        201,
        json_fields(a,
            { "kind", json_str("SelfSubjectReview") },
            { "apiVersion", json_str(AUTHENTICATION "/v1") },
            { "metadata.creationTimestamp", json_str(time_format(a, now_ms)) },
            { "status.userInfo", auth_user_json(a, r->user) }));
}

static void review_token(const struct review *r)
{
    struct arena *a = r->arena;
    const char *token = text_at(r->body, "spec.token");
    if (!*token) {
        answer_status(a,
            r->ret,
            400,
            "BadRequest",
            "token is required for TokenReview in authentication",
            json_none);
        return;
    }
    struct api_user user = { .name = "", .uid = "" };
    struct json wanted = json_get(r->body, "spec.audiences"), audiences = { 0 };
    struct error err;
    const struct auth_credentials credentials = { .bearer = str_of(token) };
    bool account = auth_token_user(r->auth, a, str_of(token), wanted, &user, &audiences, &err);
    bool ok =
        account ||
        (!wanted.count && auth_authenticate(r->auth, a, &credentials, &user, &(struct error){ 0 }));
    if (!ok)
        user = (struct api_user){ .name = "", .uid = "" };
    answer(r,
        r->body,
        json_map(a,
            { "authenticated", json_true_or_absent(ok) },
            { "user", auth_user_json(a, &user) },
            { "audiences",
                account ? audiences : json_if(ok, json_list(a, json_str(AUTH_AUDIENCE))) },
            { "error", ok ? json_none : json_strf(a, "%s", err.text) }));
}

/* ---- dispatch ---- */

static const struct {
    const char *group, *kind;
    void (*run)(const struct review *r);
} reviews[] = {
    { AUTHORIZATION, "SelfSubjectAccessReview", review_self_access },
    { AUTHORIZATION, "SubjectAccessReview", review_subject_access },
    { AUTHORIZATION, "LocalSubjectAccessReview", review_local_access },
    { AUTHORIZATION, "SelfSubjectRulesReview", review_rules },
    { AUTHENTICATION, "SelfSubjectReview", review_self },
    { AUTHENTICATION, "TokenReview", review_token },
};

/* ---- the kinds, for discovery and decoding ---- */

#define AUTHENTICATION_PRIORITY 17700
#define AUTHORIZATION_PRIORITY 17600
#define VERSION_PRIORITY 15
#define REVIEW(group_, priority, kind_, plural_, singular_, cluster)                               \
    {                                                                                              \
        .resource = { group_, "v1", kind_, plural_, cluster }, .singular = singular_,              \
        .list_kind = kind_ "List", .verbs = API_CREATE, .table = group_ "/" plural_,               \
        .group_priority = priority, .version_priority = VERSION_PRIORITY,                          \
    }

static const struct api_kind kinds[] = {
    REVIEW(AUTHENTICATION, AUTHENTICATION_PRIORITY, "SelfSubjectReview", "selfsubjectreviews",
        "selfsubjectreview", true),
    REVIEW(AUTHENTICATION, AUTHENTICATION_PRIORITY, "TokenReview", "tokenreviews", "tokenreview",
        true),
    REVIEW(AUTHORIZATION, AUTHORIZATION_PRIORITY, "LocalSubjectAccessReview",
        "localsubjectaccessreviews", "localsubjectaccessreview", false),
    REVIEW(AUTHORIZATION, AUTHORIZATION_PRIORITY, "SelfSubjectAccessReview",
        "selfsubjectaccessreviews", "selfsubjectaccessreview", true),
    REVIEW(AUTHORIZATION, AUTHORIZATION_PRIORITY, "SelfSubjectRulesReview",
        "selfsubjectrulesreviews", "selfsubjectrulesreview", true),
    REVIEW(AUTHORIZATION, AUTHORIZATION_PRIORITY, "SubjectAccessReview", "subjectaccessreviews",
        "subjectaccessreview", true),
};

bool auth_register_reviews(struct registry *r)
{
    for (size_t i = 0; i < lengthof(kinds); i++)
        if (!registry_add(r, &kinds[i]))
            return false;
    return true;
}

bool auth_is_review(const struct api_kind *k)
{
    for (size_t i = 0; i < lengthof(reviews); i++)
        if (text_eq(k->resource.group, reviews[i].group) &&
            text_eq(k->resource.kind, reviews[i].kind))
            return true;
    return false;
}

void auth_review(struct auth *auth, struct arena *a, const struct api_user *user,
    const struct api_kind *k, const char *ns, struct json body, struct api_answer *ret)
{
    const struct review r = { auth, a, user, k, ns, body, ret };
    for (size_t i = 0; i < lengthof(reviews); i++)
        if (text_eq(k->resource.group, reviews[i].group) &&
            text_eq(k->resource.kind, reviews[i].kind))
            reviews[i].run(&r);
}
