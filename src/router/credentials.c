/* Credentials for a back end: a key in a header, a signature (Bedrock), or a token that is
 * requested for a service account (Vertex AI). */

#include "router/target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/sigv4.h"
#include "router/google.h"

/* ---- texts ---- */

static const char *key_of_file(struct target *t, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    int64_t mtime = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
    if (!t->file_key || mtime != t->file_mtime_ns) {
        char text[TARGET_KEY_MAX];
        ssize_t count = read(fd, text, sizeof(text) - 1);
        text[count > 0 ? count : 0] = '\0';
        free(t->file_key);
        t->file_key = mem_strdup(text);
        t->file_mtime_ns = mtime;
    }
    close(fd);
    return t->file_key;
}

/* The value of a variable, or of the file that NAME_FILE names, without blanks and line ends around
 * it. ptr NULL: there is none. */
static struct str value_of(struct target *t, struct arena *a, const char *name)
{
    const char *file = getenv(arena_printf(a, "%s_FILE", name));
    struct str value = str_trim(str_of(file ? key_of_file(t, file) : getenv(name)));
    return value.len ? value : (struct str){ 0 };
}

static bool is_header_value(struct str key)
{
    for (size_t i = 0; i < key.len; i++)
        if ((unsigned char)key.ptr[i] < 0x20 || key.ptr[i] == 0x7f)
            return false;
    return key.len > 0;
}

static struct str key_of(struct target *t, struct arena *a)
{
    const struct router_backend *b = t->backend;
    if (!text_empty(b->credentials_file))
        return str_trim(str_of(key_of_file(t, b->credentials_file)));
    if (text_empty(b->credentials_env))
        return (struct str){ 0 };
    return value_of(t, a, b->credentials_env);
}

/* ---- Bedrock ---- */

/* A key of Bedrock's API is sent as it is; the id of an AWS key has a secret that is used for
 * signing. */
static struct str bearer_of_bedrock(void)
{
    return str_trim(str_of(getenv("AWS_BEARER_TOKEN_BEDROCK")));
}

static bool is_key_id(struct str key)
{
    return str_starts(key, STR("AKIA")) || str_starts(key, STR("ASIA"));
}

/* Copies each text in turn: key_of_file() keeps only one. */
static bool aws_keys(struct target *t, struct arena *a, struct sigv4_keys *ret)
{
    struct str id = key_of(t, a);
    if (!is_header_value(id))
        return false;
    ret->id = str_dup(a, id);
    struct str secret = value_of(t, a, "AWS_SECRET_ACCESS_KEY");
    if (!secret.len)
        return false;
    ret->secret = str_dup(a, secret);
    struct str token = value_of(t, a, "AWS_SESSION_TOKEN");
    ret->token = is_header_value(token) ? str_dup(a, token) : NULL;
    return true;
}

/* Contained in "bedrock-runtime.eu-west-1.amazonaws.com"; otherwise from the variables of AWS's
 * tools. */
static const char *region_of(struct target *t, struct arena *a)
{
    struct str rest = str_of(t->url.host);
    str_cut(&rest, '.');
    if (rest.ptr && (str_ends(rest, STR(".amazonaws.com")) || str_ends(rest, STR(".api.aws"))))
        return str_dup(a, str_cut(&rest, '.'));
    static const char *const names[] = { "AWS_REGION", "AWS_DEFAULT_REGION" };
    for (size_t i = 0; i < lengthof(names); i++)
        if (!text_empty(getenv(names[i])))
            return getenv(names[i]);
    return "us-east-1";
}

bool router_target_signs(struct target *t, struct arena *a)
{
    struct sigv4_keys keys;
    return text_eq(t->backend->provider, "bedrock") && !bearer_of_bedrock().len &&
           aws_keys(t, a, &keys);
}

size_t router_target_sign(struct target *t, struct arena *a, const struct target_request *q,
    int64_t wall_ms, struct http_header *ret)
{
    struct sigv4_keys keys;
    if (!aws_keys(t, a, &keys))
        return 0;
    struct str query = str_of(q->path), path = str_cut(&query, '?');
    struct sigv4_header headers[2] = { { "host", str_of(t->authority) } };
    size_t count = 1;
    if (q->content_type.len)
        headers[count++] = (struct sigv4_header){ "content-type", q->content_type };
    struct sigv4_signature s = sigv4_sign(a,
        &keys,
        &(struct sigv4_request){
            .method = q->method,
            .path = str_dup(a, path),
            .query = query.ptr ? str_dup(a, query) : NULL,
            .region = region_of(t, a),
            .service = "bedrock",
            .headers = headers,
            .header_count = count,
            .body_sha256 = sha256_hex(a, q->body),
            .now_ms = wall_ms,
        });
    count = 0;
    ret[count++] = (struct http_header){ STR("authorization"), str_of(s.authorization) };
    ret[count++] = (struct http_header){ STR("x-amz-date"), str_of(s.date) };
    if (keys.token)
        ret[count++] = (struct http_header){ STR("x-amz-security-token"), str_of(keys.token) };
    return count;
}

/* ---- Vertex AI ---- */

/* The JSON of a service account, in the variable itself or in the file that it names; len 0: the
 * credential is an access token instead. */
static struct str account_of(struct target *t, struct arena *a)
{
    if (!text_eq(t->backend->provider, "vertex_ai"))
        return (struct str){ 0 };
    struct str key = key_of(t, a);
    if (!key.len)
        return key;
    if (*key.ptr == '/')
        key = str_trim(str_of(key_of_file(t, str_dup(a, key))));
    return key.len && *key.ptr == '{' ? key : (struct str){ 0 };
}

bool router_target_awaits_token(struct target *t, struct arena *a)
{
    const char *why;
    struct str account = account_of(t, a);
    return account.len && t->google && !google_token(t->google, account, &why) && !why;
}

/* ---- the headers ---- */

static struct str bearer_of(struct target *t, struct arena *a)
{
    const char *provider = t->backend->provider, *why;
    struct str key = key_of(t, a), account = account_of(t, a);
    if (text_eq(provider, "bedrock") && bearer_of_bedrock().len)
        return bearer_of_bedrock();
    if (text_eq(provider, "bedrock") && is_key_id(key))
        return (struct str){ 0 };
    if (account.len)
        return t->google ? str_of(google_token(t->google, account, &why)) : (struct str){ 0 };
    /* Never send the name of a missing file. */
    if (text_eq(provider, "vertex_ai") && key.len && *key.ptr == '/')
        return (struct str){ 0 };
    return key;
}

const char *router_target_without_key(struct target *t, struct arena *a)
{
    const char *name = t->backend->name, *why = NULL;
    struct str account = account_of(t, a);
    if (account.len && t->google && !google_token(t->google, account, &why) && why)
        return arena_printf(a, "%s has %s", name, why);
    if (text_eq(t->backend->provider, "bedrock"))
        return arena_printf(a,
            "%s has no usable credential: AWS_ACCESS_KEY_ID needs AWS_SECRET_ACCESS_KEY beside it, "
            "or put a key of the Bedrock API into AWS_BEARER_TOKEN_BEDROCK",
            name);
    return arena_printf(a, "%s has no usable credential", name);
}

bool router_target_credentials(struct target *t, struct arena *a, struct http_headers from_client,
    struct http_header *ret, size_t *ret_count)
{
    const struct router_backend *b = t->backend;
    *ret_count = 0;
    if (text_empty(b->credentials_env) && text_empty(b->credentials_file)) {
        struct error err;
        const char *basic = NULL;
        if (url_basic_auth(a, &t->url, &basic, &err) && basic)
            ret[(*ret_count)++] = (struct http_header){ STR("authorization"), str_of(basic) };
        return true;
    }
    if (router_target_signs(t, a))
        return true;
    struct str bearer = bearer_of(t, a);
    if (!is_header_value(bearer))
        return false;
    const char *key = str_dup(a, bearer);
    if (text_eq(b->provider, "anthropic")) {
        ret[(*ret_count)++] = (struct http_header){ STR("x-api-key"), str_of(key) };
        if (!http_header_find(from_client, "anthropic-version").ptr)
            ret[(*ret_count)++] =
                (struct http_header){ STR("anthropic-version"), STR("2023-06-01") };
    } else if (text_eq(b->provider, "azure")) {
        ret[(*ret_count)++] = (struct http_header){ STR("api-key"), str_of(key) };
    } else {
        const char *value = arena_printf(a, "Bearer %s", key);
        ret[(*ret_count)++] = (struct http_header){ STR("authorization"), str_of(value) };
    }
    return true;
}
