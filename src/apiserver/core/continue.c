#include "apiserver/core/continue.h"

#include <string.h>

#include "apiserver/core/internal.h"
#include "base/base64.h"

#define TOKEN_VERSION "meta.k8s.io/v1"

/* Appended to the name in a token, so that the list continues at the next key. */
#define BEHIND "\001"

const char *continue_print(
    struct arena *a, uint64_t version, struct list_place after, bool all_namespaces)
{
    const char *start = all_namespaces && *after.ns
                            ? arena_printf(a, "/%s/%s" BEHIND, after.ns, after.name)
                            : arena_printf(a, "/%s" BEHIND, after.name);
    struct json token = json_map(a,
        { "v", json_str(TOKEN_VERSION) },
        { "rv", json_int((int64_t)version) },
        { "start", json_str(start) });
    return base64_encode_url(a, str_of(json_to_text(a, token)));
}

static bool fail_token(struct api_call *c, const char *why)
{
    return call_fail_bad(c, "invalid continue token: continue key is not valid: %s", why);
}

/* Go's decoder error for a token with values of wrong types; NULL: none. */
static const char *type_trouble(struct arena *a, struct json token)
{
    static const struct {
        const char *field, *go;
        enum json_type type;
    } rows[] = {
        { "v", "string", JSON_STR }, { "rv", "int64", JSON_INT }, { "start", "string", JSON_STR }
    };
    if (json_is(token, JSON_NULL))
        return NULL;
    if (!json_is(token, JSON_MAP))
        return arena_printf(a,
            "json: cannot unmarshal %s into Go value of type storage.continueToken",
            json_type_name(token));
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct json v = json_member(token, rows[i].field);
        if (json_present(v) && !json_is(v, JSON_NULL) && v.type != rows[i].type)
            return arena_printf(a,
                "json: cannot unmarshal %s%s%s into Go struct field continueToken.%s of type %s",
                json_type_name(v),
                json_is(v, JSON_REAL) ? " " : "",
                json_is(v, JSON_REAL) ? json_to_text(a, v) : "",
                rows[i].field,
                rows[i].go);
    }
    return NULL;
}

/* Tokens must not contain path segments that lead out of the list. */
static bool is_clean(const char *start)
{
    struct str rest = str_of(*start == '/' ? start + 1 : start);
    while (rest.ptr && *start && strcmp(start, "/") != 0) {
        struct str part = str_cut(&rest, '/');
        if (!part.len || str_eq(part, STR(".")) || str_eq(part, STR("..")))
            return false;
    }
    return true;
}

static bool read_token(struct api_call *c, const char *text, struct json *ret)
{
    struct arena *a = &c->arena;
    struct str bytes;
    struct error err;
    if (!base64_decode_url(a, str_of(text), &bytes)) {
        size_t fine =
            strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
        /* A single character at the end is an error itself. */
        return fail_token(c,
            arena_printf(
                a, "illegal base64 data at input byte %zu", fine - (!text[fine] && fine % 4 == 1)));
    }
    if (!json_parse(a, bytes, ret, &err))
        return fail_token(c, err.text);
    if (type_trouble(a, *ret))
        return fail_token(c, type_trouble(a, *ret));
    const char *version = json_get_text(*ret, "v"), *start = json_get_text(*ret, "start");
    if (!text_eq(version, TOKEN_VERSION))
        return fail_token(c,
            arena_printf(
                a, "server does not recognize this encoded version %s", version ? version : ""));
    if (json_get_int(*ret, "rv", 0) == 0)
        return fail_token(c, "incorrect encoded start resourceVersion (version " TOKEN_VERSION ")");
    if (text_empty(start))
        return fail_token(c, "encoded start key empty (version " TOKEN_VERSION ")");
    return is_clean(start) || fail_token(c, start);
}

/* The error for an expired token contains a new token, without the guarantee of a consistent
 * version. */
static bool fail_expired(struct api_call *c, struct list_place after)
{
    struct arena *a = &c->arena;
    struct api_status status = status_expired(
        "The provided continue parameter is too old to display a consistent list result. You can "
        "start a new list without the continue parameter, or use the continue token in this "
        "response to retrieve the remainder of the results. Continuing with the provided token "
        "results in an inconsistent list - objects that were created, modified, or deleted between "
        "the time the first chunk was returned and now may show up in the list.");
    struct json body = status_to_json(a, &status);
    const char *token = continue_print(a, UINT64_MAX, after, !*c->ns);
    call_fail_json(c, 410, json_with(a, body, "metadata.continue", json_str(token)));
    return false;
}

bool continue_read(struct api_call *c, const struct list_options *o, uint64_t current,
    uint64_t *ret_version, bool *ret_exact, struct list_place *ret_after)
{
    struct json token;
    struct arena *a = &c->arena;
    if (!read_token(c, o->cont, &token))
        return false;
    if (!text_empty(o->version_text) && !text_eq(o->version_text, "0"))
        return call_fail_bad(c, "specifying resource version is not allowed when using continue");
    struct str start = str_of(json_get_text(token, "start"));
    if (str_starts(start, STR("/")))
        start = (struct str){ start.ptr + 1, start.len - 1 };
    if (str_ends(start, STR(BEHIND)))
        start.len--;
    struct str name = start, ns = { "", 0 };
    if (!*c->ns && !c->kind->resource.cluster_scoped) {
        ns = str_cut(&name, '/');
        if (!name.ptr)
            name = STR("");
    }
    *ret_after = (struct list_place){ *c->ns ? c->ns : str_dup(a, ns), str_dup(a, name) };
    int64_t version = json_get_int(token, "rv", 0);
    if (version < 0)
        return true;
    if ((uint64_t)version > current)
        return call_fail(c, status_too_large_version(a, (uint64_t)version, current));
    if ((uint64_t)version < store_oldest(c->server->store))
        return fail_expired(c, *ret_after);
    *ret_version = (uint64_t)version;
    *ret_exact = true;
    return true;
}
