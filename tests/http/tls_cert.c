#include "http/tls_cert.h"

#include <time.h>

#include "http/gunzip.h"
#include "http/gzip.h"
#include "http/tls.h"
#include "tests/test.h"

TEST(an_authority_issues_certificates_that_servers_and_clients_can_use)
{
    struct arena *a = test_arena();
    struct error err;
    struct str ca, ca_key, certificate, key;
    static const char *const hosts[] = { "localhost", "127.0.0.1", "::1", NULL };
    static const char *const masters[] = { "system:masters", NULL };
    check(tls_authority(a, "test", 2, &ca, &ca_key, &err));
    check(tls_issue(a,
        ca,
        ca_key,
        &(struct tls_issue){ .common_name = "server", .hosts = hosts, .days = 1 },
        &certificate,
        &key,
        &err));
    struct tls_context *server = tls_server_new(
        &(struct tls_server_options){ .certificate = certificate, .key = key, .client_ca = ca },
        &err);
    check(server);
    tls_context_unref(server);
    check(tls_issue(a,
        ca,
        ca_key,
        &(struct tls_issue){ .common_name = "admin", .organizations = masters, .days = 1 },
        &certificate,
        &key,
        &err));
    struct tls_context *client = tls_client_new(
        &(struct tls_client_options){ .ca = ca, .certificate = certificate, .key = key }, &err);
    check(client);
    tls_context_unref(client);
    check(!tls_issue(a,
        STR("no certificate"),
        ca_key,
        &(struct tls_issue){ .common_name = "x", .days = 1 },
        &certificate,
        &key,
        &err));
}

TEST(what_gzip_packs_gunzip_unpacks)
{
    cleanup(buf_done) struct buf text = BUF_INIT(1 << 20), packed = BUF_INIT(1 << 20);
    for (int i = 0; i < 20000; i++)
        buf_printf(&text, "line %d ", i % 97);
    struct gzip *z = gzip_new();
    for (size_t at = 0; at < text.len; at += 1000) {
        size_t left = text.len - at;
        gzip_add(z, (struct str){ text.ptr + at, left < 1000 ? left : 1000 }, false, &packed);
    }
    gzip_add(z, STR(""), true, &packed);
    gzip_free(z);
    check(packed.len < text.len / 4);
    cleanup(buf_done) struct buf back = BUF_INIT(1 << 20);
    struct gunzip *g = gunzip_new();
    struct str in = buf_str(&packed);
    size_t count;
    struct error err;
    do {
        char piece[4096];
        check(gunzip_some(g, &in, piece, sizeof(piece), &count, &err));
        buf_add(&back, piece, count);
    } while (count);
    check(gunzip_is_complete(g));
    gunzip_free(g);
    check(str_eq(buf_str(&back), buf_str(&text)));
}

TEST(an_authority_of_another_time_is_refused_with_what_to_do)
{
    struct error err;
    struct str ca, key;
    int64_t now = (int64_t)time(NULL);
    check(tls_authority(test_arena(), "test", 2, &ca, &key, &err));
    check(tls_is_current(ca, "ca.crt", now, &err));
    check_fails(tls_is_current(ca, "ca.crt", now - 86400, &err), err, "the clock was ahead");
    check_fails(
        tls_is_current(ca, "ca.crt", now + 3 * 86400, &err), err, "remove ca.crt and ca.key");
    check_fails(tls_is_current(STR("x"), "ca.crt", now, &err), err, "ca.crt holds no certificate");
}
