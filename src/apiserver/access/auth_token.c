/* Tokens of ServiceAccounts: issued by TokenRequest, and verified for authentication. */

#include "apiserver/access/auth.h"
#include "apiserver/access/auth_internal.h"
#include "apiserver/access/secret_tokens.h"
#include "apiserver/access/token.h"
#include "apiserver/core/internal.h"
#include "base/base64.h"
#include "base/time.h"

/* The issuer of tokens in Secrets. */
#define SECRET_ISSUER "kubernetes/serviceaccount"
#define SECRET_CLAIM "kubernetes.io/serviceaccount/"
#define TOKEN_SECONDS_MIN 600
/* Clocks differ, and a token may be used shortly after its object was deleted. */
#define TOKEN_LEEWAY_S 60

/* ---- verifying ---- */

static bool is_gone(struct auth *auth, struct json object, const char *uid)
{
    int64_t ms;
    const char *deleted = json_get_text(object, "metadata.deletionTimestamp");
    int64_t now_ms = env_wall_ms(apiserver_env(auth->server));
    return !json_present(object) || !text_eq(json_get_text(object, "metadata.uid"), uid) ||
           (time_parse(deleted, &ms) && ms < now_ms - TOKEN_LEEWAY_S * 1000);
}

/* A part of a token that names an object: {name, uid}. */
static bool bound_is_there(struct auth *auth, struct arena *a, struct json claims, const char *what,
    const char *plural, const char *ns)
{
    struct json ref = json_member(claims, what);
    const char *name = json_get_text(ref, "name");
    return !json_present(ref) ||
           (name &&
               !is_gone(auth, auth_read(auth, a, plural, ns, name), json_get_text(ref, "uid")));
}

static bool is_current(struct auth *auth, struct json claims)
{
    int64_t now = env_wall_ms(apiserver_env(auth->server)) / 1000;
    return text_eq(json_get_text(claims, "iss"), AUTH_AUDIENCE) &&
           now < json_get_int(claims, "exp", 0) &&
           now + TOKEN_LEEWAY_S >= json_get_int(claims, "nbf", INT64_MAX / 2);
}

static struct json common(struct arena *a, struct json wanted, struct json has)
{
    struct json_builder both;
    json_builder_init(&both, a);
    json_each (w, wanted)
        if (json_text(*w) && json_list_has(has, json_text(*w)))
            json_push(&both, *w);
    return json_list_end(&both);
}

static void put_text(struct json_builder *b, const char *key, const char *text)
{
    if (text)
        json_put(b, key, json_list(b->arena, json_str(text)));
}

static struct json extra_of(struct arena *a, struct json claims, struct json own)
{
    struct json_builder b;
    json_builder_init(&b, a);
    const char *jti = json_get_text(claims, "jti");
    put_text(&b,
        "authentication.kubernetes.io/credential-id",
        jti ? arena_printf(a, "JTI=%s", jti) : NULL);
    put_text(&b, "authentication.kubernetes.io/node-name", json_get_text(own, "node.name"));
    put_text(&b, "authentication.kubernetes.io/node-uid", json_get_text(own, "node.uid"));
    put_text(&b, "authentication.kubernetes.io/pod-name", json_get_text(own, "pod.name"));
    put_text(&b, "authentication.kubernetes.io/pod-uid", json_get_text(own, "pod.uid"));
    return json_map_end(&b);
}

/* A list of texts, quoted as by Go. */
static const char *quoted(struct arena *a, struct json list)
{
    const char *text = "";
    json_each (item, list)
        text = arena_printf(a, "%s%s\"%s\"", text, *text ? " " : "", json_text(*item));
    return arena_printf(a, "[%s]", text);
}

static struct api_user account_user(
    struct arena *a, const char *ns, const char *name, const char *uid)
{
    const char **groups = arena_array(a, 4, sizeof(*groups));
    groups[0] = "system:serviceaccounts";
    groups[1] = arena_printf(a, "system:serviceaccounts:%s", ns);
    groups[2] = "system:authenticated";
    return (struct api_user){
        .name = arena_printf(a, "system:serviceaccount:%s:%s", ns, name),
        .uid = uid,
        .groups = groups,
    };
}

#define INVALID_SINCE "kubernetes.io/legacy-token-invalid-since"

/* A token in a Secret is valid as long as the Secret, unless it is marked as invalid. */
static bool secret_token_user(struct auth *auth, struct arena *a, struct str token,
    struct json claims, struct api_user *ret, struct error *err)
{
    const char *ns = json_text(json_member(claims, SECRET_CLAIM "namespace"));
    const char *secret = json_text(json_member(claims, SECRET_CLAIM "secret.name"));
    const char *name = json_text(json_member(claims, SECRET_CLAIM "service-account.name"));
    const char *uid = json_text(json_member(claims, SECRET_CLAIM "service-account.uid"));
    if (!ns || !secret || !name || !uid)
        return fail(err, ERR_UNAUTHORIZED, "invalid bearer token");
    struct json holder = auth_read(auth, a, "secrets", ns, secret);
    struct json kept = json_get(holder, "data.token");
    if (!text_eq(json_text(kept), base64_encode(a, token)) ||
        json_present(json_get(holder, "metadata.deletionTimestamp")) ||
        is_gone(auth, auth_read(auth, a, "serviceaccounts", ns, name), uid))
        return fail(err,
            ERR_UNAUTHORIZED,
            "[invalid bearer token, service account token has been invalidated]");
    if (json_member(json_get(holder, "metadata.labels"), INVALID_SINCE).count)
        return fail(err, ERR_UNAUTHORIZED, "invalid bearer token");
    secret_tokens_used(auth->server->secret_tokens, holder);
    *ret = account_user(a, ns, name, uid);
    return true;
}

bool auth_token_user(struct auth *auth, struct arena *a, struct str token, struct json audiences,
    struct api_user *ret, struct json *ret_audiences, struct error *err)
{
    struct json claims, server = json_list(a, json_str(AUTH_AUDIENCE));
    if (!token_verify(a, auth->token_key, token, &claims))
        return fail(err, ERR_UNAUTHORIZED, "invalid bearer token");
    bool in_secret = text_eq(json_get_text(claims, "iss"), SECRET_ISSUER);
    if (!in_secret && !is_current(auth, claims))
        return fail(err, ERR_UNAUTHORIZED, "invalid bearer token");
    struct json own = json_member(claims, "kubernetes.io");
    struct json has = in_secret ? server : json_member(claims, "aud");
    struct json wanted = audiences.count ? audiences : server;
    struct json both = common(a, wanted, has);
    if (!both.count)
        return fail(err,
            ERR_UNAUTHORIZED,
            "[invalid bearer token, token audiences %s is invalid for the target audiences %s]",
            quoted(a, has),
            quoted(a, wanted));
    if (ret_audiences)
        *ret_audiences = both;
    if (in_secret)
        return secret_token_user(auth, a, token, claims, ret, err);
    const char *ns = json_get_text(own, "namespace");
    const char *name = json_get_text(own, "serviceaccount.name");
    const char *uid = json_get_text(own, "serviceaccount.uid");
    if (!ns || !name || !uid ||
        is_gone(auth, auth_read(auth, a, "serviceaccounts", ns, name), uid) ||
        !bound_is_there(auth, a, own, "pod", "pods", ns) ||
        !bound_is_there(auth, a, own, "secret", "secrets", ns) ||
        (!json_present(json_member(own, "pod")) &&
            !bound_is_there(auth, a, own, "node", "nodes", "")))
        return fail(err,
            ERR_UNAUTHORIZED,
            "[invalid bearer token, service account token has been invalidated]");
    *ret = account_user(a, ns, name, uid);
    ret->extra = extra_of(a, claims, own);
    return true;
}

/* ---- issuing ---- */

static const char *new_uuid(const struct env *env, struct arena *a)
{
    uint64_t x = env->random(env->ctx), y = env->random(env->ctx);
    return arena_printf(a,
        "%08x-%04x-4%03x-%04x-%012llx",
        (unsigned)(x >> 32),
        (unsigned)(x >> 16) & 0xffff,
        (unsigned)x & 0xfff,
        0x8000 | ((unsigned)(y >> 48) & 0x3fff),
        (unsigned long long)y & 0xffffffffffffULL);
}

const char *auth_secret_token(
    struct auth *auth, struct arena *a, const char *ns, const char *secret, struct json account)
{
    const char *name = json_get_text(account, "metadata.name");
    const char *uid = json_get_text(account, "metadata.uid");
    struct json claims = json_map(a,
        { "iss", json_str(SECRET_ISSUER) },
        { SECRET_CLAIM "namespace", json_str(ns) },
        { SECRET_CLAIM "secret.name", json_str(secret) },
        { SECRET_CLAIM "service-account.name", json_str(name) },
        { SECRET_CLAIM "service-account.uid", json_str(uid) },
        { "sub", json_strf(a, "system:serviceaccount:%s:%s", ns, name) });
    return token_sign(a, auth->token_key, claims);
}

static void answer_missing(
    struct arena *a, const char *plural, const char *name, struct api_answer *ret)
{
    answer_status(a,
        ret,
        404,
        "NotFound",
        arena_printf(a, "%s \"%s\" not found", plural, name),
        json_map(a, { "name", json_str(name) }, { "kind", json_str(plural) }));
}

static bool answer_bad(struct arena *a, const char *message, struct api_answer *ret)
{
    answer_status(a, ret, 400, "BadRequest", message, json_none);
    return false;
}

/* Adds the object to which a token is bound; false: answered. */
static bool bind(struct auth *auth, struct arena *a, const char *ns, const char *account,
    struct json ref, struct json *own, struct api_answer *ret)
{
    static const char *const kinds[][3] = {
        { "Pod", "pods", "pod" },
        { "Secret", "secrets", "secret" },
        { "Node", "nodes", "node" },
    };
    if (!json_is(ref, JSON_MAP))
        return true;
    const char *kind = json_get_text(ref, "kind"), *version = json_get_text(ref, "apiVersion");
    const char *name = json_get_text(ref, "name"), *uid = json_get_text(ref, "uid");
    for (size_t i = 0; i < lengthof(kinds); i++) {
        if (!text_eq(kind, kinds[i][0]) || strchr(version ? version : "", '/'))
            continue;
        if (text_empty(name))
            return answer_bad(a, "Name parameter required.", ret);
        bool node = text_eq(kind, "Node");
        struct json object = auth_read(auth, a, kinds[i][1], node ? "" : ns, name);
        const char *has = json_get_text(object, "metadata.uid");
        if (!json_present(object)) {
            answer_missing(a, kinds[i][1], name, ret);
            return false;
        }
        if (text_eq(kind, "Pod") &&
            !text_eq(json_get_text(object, "spec.serviceAccountName"), account))
            return answer_bad(a,
                arena_printf(a,
                    "cannot bind token for serviceaccount \"%s\" to pod running with different "
                    "serviceaccount name.",
                    account),
                ret);
        if (!text_empty(uid) && !text_eq(uid, has)) {
            answer_status(a,
                ret,
                409,
                "Conflict",
                arena_printf(a,
                    "Operation cannot be fulfilled on %s \"%s\": the UID in the bound object "
                    "reference (%s) does not match the UID in record. The object might have been "
                    "deleted and then recreated",
                    kind,
                    name,
                    uid),
                json_map(a, { "name", json_str(name) }, { "kind", json_str(kind) }));
            return false;
        }
        *own = json_with_member(a,
            *own,
            kinds[i][2],
            json_map(a, { "name", json_str(name) }, { "uid", json_str(has) }));
        return true;
    }
    struct str group = str_of(version ? version : ""), first = str_cut(&group, '/');
    return answer_bad(a,
        arena_printf(a,
            "cannot bind token to object of type %.*s/%.*s, Kind=%s",
            group.ptr ? (int)first.len : 0,
            first.ptr,
            group.ptr ? (int)group.len : (int)first.len,
            group.ptr ? group.ptr : first.ptr,
            kind ? kind : ""),
        ret);
}

static bool check_request(
    struct arena *a, const char *name, struct json body, int64_t seconds, struct api_answer *ret)
{
    struct field_errors errors;
    field_errors_init(&errors, a);
    const char *given = json_get_text(body, "metadata.name");
    if (seconds < TOKEN_SECONDS_MIN)
        field_invalid(&errors,
            "spec.expirationSeconds",
            json_int(seconds),
            "may not specify a duration less than 10 minutes");
    else if (seconds > (int64_t)1 << 32)
        field_invalid(&errors,
            "spec.expirationSeconds",
            json_int(seconds),
            "may not specify a duration larger than 2^32 seconds");
    const char *about = "";
    if (!errors.count && !text_empty(given) && !text_eq(given, name)) {
        about = name;
        field_invalid(&errors,
            "metadata.name",
            json_str(given),
            "must match the service account name if specified");
    }
    if (errors.count)
        answer_invalid(a, ret, "authentication.k8s.io", "TokenRequest", about, &errors);
    return !errors.count;
}

const struct api_kind *auth_token_kind(void)
{
    static const struct api_kind kind = {
        .resource = { "authentication.k8s.io", "v1", "TokenRequest", "tokenrequests", false },
        .list_kind = "TokenRequestList",
    };
    return &kind;
}

void auth_token_request(struct auth *auth, struct arena *a, const struct api_user *user,
    const char *ns, const char *name, struct json body, struct api_answer *ret)
{
    (void)user;
    struct json account = auth_read(auth, a, "serviceaccounts", ns, name);
    struct json spec = json_member(body, "spec"), audiences = json_member(spec, "audiences");
    struct json ref = json_member(spec, "boundObjectRef");
    int64_t seconds = json_get_int(spec, "expirationSeconds", AUTH_TOKEN_SECONDS);
    if (!json_present(account)) {
        answer_missing(a, "serviceaccounts", name, ret);
        return;
    }
    const char *uid = json_get_text(account, "metadata.uid");
    struct json own = json_map(a,
        { "namespace", json_str(ns) },
        { "serviceaccount", json_map(a, { "name", json_str(name) }, { "uid", json_str(uid) }) });
    if (!check_request(a, name, body, seconds, ret) || !bind(auth, a, ns, name, ref, &own, ret))
        return;
    if (!audiences.count)
        audiences = json_list(a, json_str(AUTH_AUDIENCE));
    const struct env *env = apiserver_env(auth->server);
    int64_t now = env_wall_ms(env) / 1000;
    struct json claims = json_map(a,
        { "aud", audiences },
        { "exp", json_int(now + seconds) },
        { "iat", json_int(now) },
        { "iss", json_str(AUTH_AUDIENCE) },
        { "jti", json_str(new_uuid(env, a)) },
        { "kubernetes.io", own },
        { "nbf", json_int(now) },
        { "sub", json_strf(a, "system:serviceaccount:%s:%s", ns, name) });
    struct json meta = json_member(body, "metadata");
    meta = json_with_member(a, meta, "name", json_str(name));
    meta = json_with_member(a, meta, "namespace", json_str(ns));
    meta = json_with_member(a, meta, "uid", json_str(uid));
    meta = json_with_member(a, meta, "creationTimestamp", json_str(time_format(a, now * 1000)));
    answer_json(a,
        ret,
        201,
        json_fields(a,
            { "kind", json_str("TokenRequest") },
            { "apiVersion", json_str("authentication.k8s.io/v1") },
            { "metadata", meta },
            { "spec.audiences", audiences },
            { "spec.expirationSeconds", json_int(seconds) },
            { "spec.boundObjectRef", json_is(ref, JSON_MAP) ? ref : json_null() },
            { "status.token", json_str(token_sign(a, auth->token_key, claims)) },
            { "status.expirationTimestamp", json_str(time_format(a, (now + seconds) * 1000)) }));
}
