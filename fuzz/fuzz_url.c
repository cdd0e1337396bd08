/* URLs: what is read becomes text that reads as the same URL; a resolved reference is a URL. The
 * same bytes also go to the readers of percent escapes, base64 and addresses. */

#include "base/base64.h"
#include "base/url.h"
#include "fuzz/fuzz.h"

static void check_same(const struct url *a, const struct url *b)
{
    assert(text_eq(a->scheme, b->scheme) && text_eq(a->userinfo, b->userinfo));
    assert(text_eq(a->host, b->host) && a->host_is_ipv6 == b->host_is_ipv6);
    assert(a->port == b->port && text_eq(a->path, b->path));
    assert(text_eq(a->query, b->query) && text_eq(a->fragment, b->fragment));
}

static void check_url(struct arena *a, const char *text)
{
    struct url u, again, base;
    struct error err;
    if (url_parse(a, text, &u, &err)) {
        assert(url_parse(a, url_to_text(a, &u), &again, &err));
        check_same(&u, &again);
        assert(!strpbrk(url_target(a, &u), " \r\n") && !strpbrk(url_authority(a, &u), " \r\n/"));
        assert(url_target(a, &u)[0] == '/');
        (void)url_host_is_private_ip(u.host);
    } else {
        assert(err.code != ERR_NONE && err.text[0]);
    }
    assert(url_parse(a, "http://base:8080/a/b?q#f", &base, &err));
    if (url_resolve(a, &base, text, &u, &err)) {
        assert(url_parse(a, url_to_text(a, &u), &again, &err));
        check_same(&u, &again);
        assert(!strstr(u.path, "/../") && !text_ends(u.path, "/.."));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str raw = { (const char *)data, size }, bytes, again;
    const char *text = str_dup(&a, raw), *decoded;
    check_url(&a, text);
    if (!memchr(text, '\0', size)) {
        assert(url_decode(&a, str_of(url_encode(&a, raw)), &decoded));
        assert(text_eq(decoded, text));
    }
    (void)url_query_value(&a, text, "a");
    (void)url_host_is_private_ip(text);
    if (base64_decode(&a, raw, &bytes))
        assert(str_eq(str_of(base64_encode(&a, bytes)), raw));
    if (base64_decode_url(&a, raw, &bytes))
        assert(str_eq(str_of(base64_encode_url(&a, bytes)), raw));
    assert(base64_decode(&a, str_of(base64_encode(&a, raw)), &again) && str_eq(raw, again));
    return 0;
}
