#include "kube/credentials.h"

#include <stdlib.h>
#include <unistd.h>

#include "http/tls.h"
#include "kube/config.h"
#include "tests/http/pem.h"
#include "tests/kube/world.h"

static const struct kube_exec exec_v1 = { .api_version = "client.authentication.k8s.io/v1" };

TEST(a_plugin_is_told_who_asks)
{
    struct kube_exec exec = exec_v1;
    check_json(test_json(credentials_exec_info(test_arena(), &exec)),
        "{'apiVersion': 'client.authentication.k8s.io/v1', 'kind': 'ExecCredential',"
        " 'spec': {'interactive': false}}");
    exec.cluster_info = "{\"server\":\"https://h\"}";
    check_text(
        json_get_text(test_json(credentials_exec_info(test_arena(), &exec)), "spec.cluster.server"),
        "https://h");
}

#define CREDENTIAL(status)                                                                         \
    "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","             \
    "\"status\":" status "}"

TEST(what_a_plugin_prints_is_taken_or_refused_with_a_reason)
{
    static const struct {
        const char *output, *message;
    } cases[] = {
        { "Please log in", "its output: not JSON" },
        { "{}", "not an ExecCredential of client.authentication.k8s.io/v1 but of nothing" },
        { "{\"apiVersion\":\"client.authentication.k8s.io/v1beta1\",\"kind\":\"ExecCredential\"}",
            "but of client.authentication.k8s.io/v1beta1" },
        { CREDENTIAL("{}"), "neither status.token nor a certificate" },
        { CREDENTIAL("{\"token\":\"\"}"), "neither status.token nor a certificate" },
        { CREDENTIAL("{\"clientKeyData\":\"k\"}"), "a certificate or a key without the other" },
        { CREDENTIAL("{\"token\":\"a\\nb\"}"), "holds a blank or a line end" },
        { CREDENTIAL("{\"token\":\"a\",\"expirationTimestamp\":\"soon\"}"), "is no time: soon" },
    };
    struct credentials_exec_result r;
    struct error err;
    struct arena *a = test_arena();
    for (size_t i = 0; i < lengthof(cases); i++)
        check_fails(credentials_exec_parse(a, &exec_v1, str_of(cases[i].output), &r, &err),
            err,
            cases[i].message);
    const char *good = CREDENTIAL("{\"token\":\"t\",\"clientCertificateData\":\"c\","
                                  "\"clientKeyData\":\"k\","
                                  "\"expirationTimestamp\":\"1970-01-01T00:00:05Z\"}");
    check(credentials_exec_parse(a, &exec_v1, str_of(good), &r, &err));
    check_text(r.token, "t");
    check_text(r.certificate, "c");
    check_text(r.key, "k");
    check_int(r.expires_wall_ms, 5000);
}

/* ---- files, on a clock that the test moves ---- */

static void write_text(const char *path, const char *text)
{
    const char *other = arena_printf(test_arena(), "%s.new", path);
    FILE *f = fopen(other, "w");
    check(f != NULL);
    fputs(text, f);
    fclose(f);
    check(rename(other, path) == 0);
}

static const char *temporary(void)
{
    char *path = arena_strdup(test_arena(), "/tmp/leeboard-credentials-XXXXXX");
    int fd = mkstemp(path);
    check(fd >= 0);
    close(fd);
    return path;
}

static void ignore(void *ctx)
{
    (void)ctx;
}

TEST(a_token_file_is_read_again_when_it_changed)
{
    struct world w;
    const char *path = temporary();
    write_text(path, " one\n");
    struct kube_config config = { .server = "http://h", .token_file = path, .origin = "x" };
    world_init(&w);
    struct credentials *c = credentials_new(NULL, &w.env, &config, ignore, NULL);
    check(credentials_ready(c) && !credentials_error(c));
    check_text(credentials_header(c), "Bearer one");
    uint64_t epoch = credentials_epoch(c);
    write_text(path, "two");
    check(credentials_ready(c));
    check_text(credentials_header(c), "Bearer one"); /* not looked at for every request */
    world_advance(&w, 10000);
    check(credentials_ready(c));
    check_text(credentials_header(c), "Bearer two");
    check(credentials_epoch(c) != epoch);
    epoch = credentials_epoch(c);
    world_advance(&w, 120000);
    check(credentials_ready(c));
    check_int(credentials_epoch(c), epoch); /* read, but the same */
    /* Half written, emptied or gone: what was read last stays in use. */
    write_text(path, "");
    world_advance(&w, 10000);
    check(credentials_ready(c) && !credentials_error(c));
    unlink(path);
    world_advance(&w, 10000);
    check(credentials_ready(c) && !credentials_error(c));
    check_text(credentials_header(c), "Bearer two");
    credentials_free(c);
    world_done(&w);
}

TEST(a_refused_token_is_worth_another_try_only_if_there_is_a_newer_one)
{
    struct world w;
    const char *path = temporary();
    write_text(path, "one");
    struct kube_config config = { .server = "http://h", .token_file = path, .origin = "x" };
    world_init(&w);
    struct credentials *c = credentials_new(NULL, &w.env, &config, ignore, NULL);
    check(credentials_ready(c));
    uint64_t epoch = credentials_epoch(c);
    check(!credentials_rejected(c, epoch));
    write_text(path, "two");
    check(credentials_rejected(c, epoch)); /* at once, not after ten seconds */
    check(credentials_ready(c));
    check_text(credentials_header(c), "Bearer two");
    check(credentials_rejected(c, epoch)); /* a request that was sent with the old one */
    check(!credentials_rejected(c, credentials_epoch(c)));
    credentials_free(c);
    unlink(path);
    world_done(&w);
}

TEST(credentials_that_were_never_there_are_an_error_until_they_come)
{
    struct world w;
    const char *path = temporary();
    unlink(path);
    struct kube_config config = { .server = "http://h", .token_file = path, .origin = "x" };
    world_init(&w);
    struct credentials *c = credentials_new(NULL, &w.env, &config, ignore, NULL);
    check(credentials_ready(c));
    check(strstr(credentials_error(c)->text, "No such file"));
    write_text(path, "a b");
    check(credentials_ready(c));
    check(strstr(credentials_error(c)->text, "expected one token"));
    write_text(path, "ab");
    check(credentials_ready(c) && !credentials_error(c));
    check_text(credentials_header(c), "Bearer ab");
    credentials_free(c);
    unlink(path);
    /* The token that stands beside it is second best. */
    config.token = "written";
    c = credentials_new(NULL, &w.env, &config, ignore, NULL);
    check(credentials_ready(c) && !credentials_error(c));
    check_text(credentials_header(c), "Bearer written");
    credentials_free(c);
    world_done(&w);
}

TEST(a_name_and_a_password_go_as_base64)
{
    struct world w;
    struct kube_config config = {
        .server = "http://h", .username = "Aladdin", .password = "open sesame", .origin = "x"
    };
    world_init(&w);
    struct credentials *c = credentials_new(NULL, &w.env, &config, ignore, NULL);
    check(credentials_ready(c));
    check_text(credentials_header(c), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="); /* RFC 7617, 2 */
    check(!credentials_tls(c));
    credentials_free(c);
    world_done(&w);
}

TEST(a_ca_file_that_changes_makes_a_new_tls_context)
{
    struct world w;
    const char *path = temporary();
    write_text(path, "no certificate");
    struct kube_config config = { .server = "https://h", .ca_file = path, .origin = "the config" };
    world_init(&w);
    struct credentials *c = credentials_new(NULL, &w.env, &config, ignore, NULL);
    check(credentials_ready(c));
    check(text_starts(credentials_error(c)->text, "TLS of the config: "));
    write_text(path, PEM_CA);
    check(credentials_ready(c));
    check(!credentials_error(c));
    struct tls_context *first = tls_context_ref(credentials_tls(c));
    world_advance(&w, 61000);
    check(credentials_ready(c));
    check(credentials_tls(c) == first);
    write_text(path, PEM_CA "\n");
    world_advance(&w, 10000);
    check(credentials_ready(c));
    check(credentials_tls(c) && credentials_tls(c) != first);
    struct tls_context *second = credentials_tls(c);
    write_text(path, "half a cert");
    world_advance(&w, 10000);
    check(credentials_ready(c) && !credentials_error(c));
    check(credentials_tls(c) == second); /* in use until there is a better one */
    tls_context_unref(first);
    credentials_free(c);
    unlink(path);
    world_done(&w);
}
