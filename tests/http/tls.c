#include "tests/http/rig.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/conn.h"
#include "tests/http/pem.h"

/* One call with these options, to a server that has the usual certificate. */
static void call_with(const struct tls_client_options *options, const char *host, struct seen *got,
    char *ret_head, size_t size)
{
    struct rig r;
    struct error err = { 0 };
    rig_open(&r, RIG_H2 | RIG_TLS);
    tls_context_unref(r.client_tls);
    r.client_tls = r.origin.tls = tls_client_new(options, &err);
    check_text(err.text, "");
    r.origin.host = host;
    rig_get(&r, "/hello", got);
    await(&r, got->ended);
    if (ret_head)
        snprintf(ret_head, size, "%s", r.seen_head);
    rig_close(&r);
    seen_done(got);
}

TEST(certificate_of_a_stranger_is_refused)
{
    struct seen got = { 0 };
    call_with(&(struct tls_client_options){ .ca = STR(PEM_OTHER_CA) }, "127.0.0.1", &got, NULL, 0);
    check_int(got.err.code, ERR_INVALID);
    check(strstr(got.err.text, "certificate of 127.0.0.1: unable to get local issuer"));
    check(!got.sent);
}

TEST(system_roots_do_not_know_the_test_authority)
{
    struct seen got = { 0 };
    call_with(&(struct tls_client_options){ 0 }, "127.0.0.1", &got, NULL, 0);
    check_int(got.err.code, ERR_INVALID);
    check(strstr(got.err.text, "certificate of 127.0.0.1"));
}

TEST(certificate_for_another_name_is_refused)
{
    struct seen got = { 0 };
    struct tls_client_options options = { .ca = STR(PEM_CA), .server_name = "elsewhere.test" };
    call_with(&options, "127.0.0.1", &got, NULL, 0);
    check_int(got.err.code, ERR_INVALID);
    check(strstr(got.err.text, "certificate of elsewhere.test: hostname mismatch"));
    struct seen address = { 0 };
    options.server_name = "127.0.0.2";
    call_with(&options, "127.0.0.1", &address, NULL, 0);
    check_int(address.err.code, ERR_INVALID);
    check(strstr(address.err.text, "IP address mismatch"));
}

TEST(server_name_override_is_what_is_verified)
{
    struct seen got = { 0 };
    struct tls_client_options options = { .ca = STR(PEM_CA), .server_name = "leeboard.test" };
    call_with(&options, "127.0.0.1", &got, NULL, 0);
    check_text(got.err.text, "");
    check_int(got.status, 200);
}

TEST(verification_can_be_switched_off)
{
    struct seen got = { 0 };
    struct tls_client_options options = {
        .ca = STR(PEM_OTHER_CA), .server_name = "elsewhere.test", .verify_off = true
    };
    call_with(&options, "127.0.0.1", &got, NULL, 0);
    check_text(got.err.text, "");
    check_int(got.status, 200);
}

TEST(client_certificate_reaches_the_handler)
{
    struct seen got = { 0 };
    char head[512];
    struct tls_client_options options = {
        .ca = STR(PEM_CA),
        .certificate = STR(PEM_CLIENT_CERT),
        .key = STR(PEM_CLIENT_KEY),
    };
    call_with(&options, "127.0.0.1", &got, head, sizeof(head));
    check_text(got.err.text, "");
    check(strstr(head, "peer=ada/testers"));
}

TEST(client_certificate_can_be_required)
{
    static const int flags[] = { RIG_H1, RIG_H2 };
    for (size_t i = 0; i < lengthof(flags); i++) {
        struct rig r;
        struct seen got = { 0 };
        struct error err = { 0 };
        rig_open(&r, flags[i] | RIG_TLS);
        struct tls_server_options options = {
            .certificate = STR(PEM_SERVER_CERT),
            .key = STR(PEM_SERVER_KEY),
            .client_ca = STR(PEM_CA),
            .client_cert_required = true,
        };
        struct tls_context *strict = tls_server_new(&options, &err);
        http_server_set_tls(r.server, strict);
        tls_context_unref(strict);
        rig_get(&r, "/hello", &got);
        await(&r, got.ended);
        check_int(got.err.code, ERR_UNAUTHORIZED);
        check(strstr(got.err.text, "a client certificate is needed"));
        check_int(r.requests, 0);
        seen_done(&got);
        rig_close(&r);
    }
}

TEST(file_contents_serve_as_well_as_memory)
{
    char folder[] = "/tmp/leeboard-tls-XXXXXX";
    check(mkdtemp(folder) != NULL);
    static const struct {
        const char *name, *text;
    } files[] = {
        { "ca", PEM_CA },
        { "cert", PEM_SERVER_CERT },
        { "key", PEM_SERVER_KEY },
    };
    const char *paths[3];
    for (size_t i = 0; i < lengthof(files); i++) {
        paths[i] = arena_printf(test_arena(), "%s/%s", folder, files[i].name);
        FILE *f = fopen(paths[i], "w");
        check(f && fputs(files[i].text, f) >= 0 && fclose(f) == 0);
    }
    struct rig r;
    struct seen got = { 0 };
    struct error err = { 0 };
    rig_open(&r, RIG_H2 | RIG_TLS);
    struct tls_context *server = tls_server_new(
        &(struct tls_server_options){ .certificate_file = paths[1], .key_file = paths[2] }, &err);
    check_text(err.text, "");
    http_server_set_tls(r.server, server);
    tls_context_unref(server);
    tls_context_unref(r.client_tls);
    r.client_tls = r.origin.tls =
        tls_client_new(&(struct tls_client_options){ .ca_file = paths[0] }, &err);
    check_text(err.text, "");
    rig_get(&r, "/hello", &got);
    await(&r, got.ended);
    check_int(got.status, 200);
    seen_done(&got);
    rig_close(&r);
    for (size_t i = 0; i < lengthof(files); i++)
        unlink(paths[i]);
    rmdir(folder);
}

TEST(contexts_that_cannot_be_made_say_why)
{
    struct error err;
    check_fails(tls_client_new(&(struct tls_client_options){ .ca = STR("no pem") }, &err),
        err,
        "no certificate in PEM form");
    check_fails(tls_client_new(&(struct tls_client_options){ .ca_file = "/no/such/file" }, &err),
        err,
        "/no/such/file");
    struct tls_client_options half = { .ca = STR(PEM_CA), .certificate = STR(PEM_CLIENT_CERT) };
    check_fails(tls_client_new(&half, &err), err, "only one is set");
    struct tls_client_options mixed = {
        .ca = STR(PEM_CA),
        .certificate = STR(PEM_CLIENT_CERT),
        .key = STR(PEM_SERVER_KEY),
    };
    check_fails(tls_client_new(&mixed, &err), err, "key: ");
    struct tls_server_options text = { .certificate = STR("x"), .key = STR(PEM_SERVER_KEY) };
    check_fails(tls_server_new(&text, &err), err, "certificate: ");
}

TEST(plain_http_on_a_tls_port_and_the_reverse_are_told_apart)
{
    struct rig plain, secure;
    struct seen got = { 0 };
    rig_open(&plain, RIG_H1);
    rig_open(&secure, RIG_H1 | RIG_TLS);
    secure.origin.port = plain.origin.port;
    rig_get(&secure, "/hello", &got);
    while (!got.ended) {
        rig_turn(plain.loop);
        rig_turn(secure.loop);
    }
    check_int(got.err.code, ERR_INVALID);
    check(strstr(got.err.text, "does not speak TLS"));
    seen_done(&got);
    rig_close(&plain);
    rig_close(&secure);
}

struct speaker {
    struct conn *conn;
    size_t heard;
};

static void speaker_data(void *ctx, struct str bytes)
{
    ((struct speaker *)ctx)->heard += bytes.len;
}

static void speaker_closed(void *ctx, const struct error *err)
{
    (void)ctx, (void)err;
}

static const struct conn_handlers speaker_handlers = { .data = speaker_data,
    .closed = speaker_closed };

/* An answer that the end of the connection completes must not be cut by somebody in between. */
TEST(end_without_a_goodbye_does_not_complete_an_answer)
{
    for (int polite = 0; polite < 2; polite++) {
        struct rig r;
        struct seen got = { 0 };
        rig_open(&r, RIG_H1 | RIG_TLS);
        int listener = raw_listen(&r.origin.port);
        rig_get(&r, "/", &got);
        int fd = raw_accept(r.loop, listener);
        struct speaker peer = { 0 };
        peer.conn = conn_new(r.loop, fd, &speaker_handlers, &peer);
        conn_secure(peer.conn, r.server_tls, NULL, NULL);
        await(&r, peer.heard > 0);
        conn_send(peer.conn, STR("HTTP/1.1 200 OK\r\n\r\nthe whole of it, or is it"));
        conn_flush(peer.conn);
        await(&r, got.received > 0);
        if (!polite)
            shutdown(fd, SHUT_WR);
        else
            conn_shutdown(peer.conn);
        await(&r, got.ended);
        conn_free(peer.conn);
        check_int(got.err.code, polite ? ERR_NONE : ERR_UNAVAILABLE);
        close(listener);
        seen_done(&got);
        rig_close(&r);
    }
}
