#include "router/target.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"

void router_target_init(
    struct target *t, struct arena *a, const struct router_backend *b, struct tls_context *tls)
{
    *t = (struct target){ .backend = b };
    if (!url_parse(a, b->address, &t->url, &t->unusable))
        return;
    bool secure = text_eq(t->url.scheme, "https");
    if ((!secure && !text_eq(t->url.scheme, "http")) || text_empty(t->url.host)) {
        fail(&t->unusable,
            ERR_INVALID,
            "%s: the address must begin with http:// or https://",
            b->name);
        return;
    }
    t->origin = (struct http_origin){
        .host = t->url.host, .port = (uint16_t)url_port(&t->url), .tls = secure ? tls : NULL
    };
    t->authority = url_authority(a, &t->url);
}

void router_target_done(struct target *t)
{
    free(t->file_key);
}

void router_target_inherit(struct target *t, const struct target *from)
{
    t->failures = from->failures;
    t->failing_since_ms = from->failing_since_ms;
    t->out_until_ms = from->out_until_ms;
    t->first_token_ms = from->first_token_ms;
    t->down = from->down;
}

/* ---- health ---- */

bool router_target_is_out(const struct target *t, int64_t now_ms)
{
    return t->down || (t->out_until_ms && (now_ms < t->out_until_ms || t->probing));
}

void router_target_begin(struct target *t, int64_t now_ms)
{
    if (t->out_until_ms && now_ms >= t->out_until_ms)
        t->probing = true;
}

void router_target_succeeded(struct target *t)
{
    t->failures = 0;
    t->out_until_ms = 0;
    t->probing = false;
}

void router_target_failed(struct target *t, enum target_failure how, int64_t now_ms, int64_t out_ms)
{
    bool was_out = t->out_until_ms != 0;
    if (t->failures == 0 || now_ms - t->failing_since_ms > out_ms) {
        t->failures = 0;
        t->failing_since_ms = now_ms;
    }
    t->failures++;
    t->probing = false;
    if (out_ms > 0 && (how != TARGET_FAILED || was_out || t->failures >= TARGET_FAILURES_MAX))
        t->out_until_ms = now_ms + out_ms;
}

void router_target_released(struct target *t)
{
    t->probing = false;
}

/* ---- the request ---- */

const char *router_target_path(
    struct arena *a, const struct target *t, struct str path, struct str query)
{
    struct str base = str_of(t->url.path);
    while (base.len && base.ptr[base.len - 1] == '/')
        base.len--;
    /* An address that ends in /v1, as the SDKs want it, does not double it. */
    if (str_ends(base, STR("/v1")) && str_starts(path, STR("/v1/")))
        base.len -= 3;
    bool both = t->url.query && query.len;
    bool any = t->url.query || query.len;
    return arena_printf(a,
        "%.*s%.*s%s%s%s%.*s",
        (int)base.len,
        base.ptr ?: "",
        (int)path.len,
        path.ptr,
        any ? "?" : "",
        t->url.query ?: "",
        both ? "&" : "",
        (int)query.len,
        query.ptr ?: "");
}

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

/* The id of a key of AWS, or what names or is a service account of Google: to sign with, not to
 * send.
 */
static bool needs_signature(const struct router_backend *b, struct str key)
{
    if (text_eq(b->provider, "bedrock"))
        return str_starts(key, STR("AKIA")) || str_starts(key, STR("ASIA"));
    return text_eq(b->provider, "vertex_ai") && *key.ptr == '{';
}

/* NULL: there is none. Blanks and line ends around it are not part of it. */
static const char *key_of(struct target *t, struct arena *a)
{
    const struct router_backend *b = t->backend;
    const char *key = NULL;
    if (!text_empty(b->credentials_file)) {
        key = key_of_file(t, b->credentials_file);
    } else {
        const char *file = getenv(arena_printf(a, "%s_FILE", b->credentials_env));
        key = file ? key_of_file(t, file) : getenv(b->credentials_env);
    }
    if (text_eq(b->provider, "bedrock") && getenv("AWS_BEARER_TOKEN_BEDROCK"))
        key = getenv("AWS_BEARER_TOKEN_BEDROCK");
    struct str trimmed = str_trim(str_of(key));
    if (trimmed.len == 0)
        return NULL;
    for (size_t i = 0; i < trimmed.len; i++)
        if ((unsigned char)trimmed.ptr[i] < 0x20 || trimmed.ptr[i] == 0x7f)
            return NULL;
    return needs_signature(b, trimmed) ? NULL : str_dup(a, trimmed);
}

const char *router_target_without_key(const struct target *t, struct arena *a)
{
    const char *name = t->backend->name;
    if (text_eq(t->backend->provider, "bedrock"))
        return arena_printf(a,
            "%s has no usable credential: requests are not signed here; put a key of the Bedrock "
            "API into AWS_BEARER_TOKEN_BEDROCK",
            name);
    if (text_eq(t->backend->provider, "vertex_ai"))
        return arena_printf(a,
            "%s has no usable credential: service accounts are not used here; put an access token "
            "into its file or variable",
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
    const char *key = key_of(t, a);
    if (!key)
        return false;
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
