/* Token buckets in a real Redis, and what becomes of calls without one. */

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mcp/middleware/redis.h"
#include "tests/folder.h"
#include "tests/http/pem.h"
#include "tests/mcp/quay.h"

#define CALL(name)                                                                                 \
    "{'jsonrpc': '2.0', 'id': 'a', 'method': 'tools/call', 'params': {'name': '" name "'}}"

extern char **environ;

static const struct {
    const char *option, *name, *text;
} pem_files[] = {
    { "--tls-ca-cert-file", "ca.pem", PEM_CA },
    { "--tls-cert-file", "cert.pem", PEM_SERVER_CERT },
    { "--tls-key-file", "key.pem", PEM_SERVER_KEY },
};

struct server {
    pid_t pid;
    uint16_t port;
};

static void server_stop(struct server *s)
{
    if (!s->pid)
        return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
        return fd;
    close(fd);
    return -1;
}

/* certs: a folder, for TLS; NULL: plain. False: there is no redis-server on this machine. */
static bool server_start_with(struct server *s, uint16_t port, const char *certs)
{
    char text[8];
    snprintf(text, sizeof(text), "%u", port);
    const char *args[32] = { "redis-server", "--save", "", "--appendonly", "no", "--bind" };
    size_t count = 6;
    args[count++] = "127.0.0.1";
    args[count++] = "--requirepass";
    args[count++] = "hush";
    args[count++] = "--port";
    args[count++] = certs ? "0" : text;
    for (size_t i = 0; certs && i < lengthof(pem_files); i++) {
        args[count++] = pem_files[i].option;
        args[count++] = arena_printf(test_arena(), "%s/%s", certs, pem_files[i].name);
    }
    if (certs) {
        args[count++] = "--tls-auth-clients";
        args[count++] = "no";
        args[count++] = "--tls-port";
        args[count++] = text;
    }
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    s->port = port;
    int failed = posix_spawnp(&s->pid, args[0], &files, NULL, (char *const *)args, environ);
    posix_spawn_file_actions_destroy(&files);
    if (failed) {
        s->pid = 0;
        return false;
    }
    int fd;
    while ((fd = connect_to(port)) < 0)
        check(waitpid(s->pid, NULL, WNOHANG) == 0);
    close(fd);
    return true;
}

static bool server_start(struct server *s, uint16_t port)
{
    return server_start_with(s, port, NULL);
}

static const char *config(uint16_t port, const char *limits)
{
    return arena_printf(test_arena(),
        "{'transport': 'streamable-http', 'middleware_configs': [{'type': 'auth'}, {'type': "
        "'ratelimit', 'parameters': {'namespace': 'n', 'server_name': 's', 'redis_addr': "
        "'127.0.0.1:%u', 'redis_db': 3, 'config': {%s}}}]}",
        port,
        limits);
}

static int ask(struct quay *q, const char *body)
{
    int status;
    quay_ask(q, "", body, &status);
    return status;
}

TEST(mcp_calls_beyond_the_rate_are_refused)
{
    cleanup(server_stop) struct server redis = { 0 };
    if (!server_start(&redis, quay_free_port())) {
        printf("     skipped: there is no redis-server\n");
        return;
    }
    cleanup(quay_close) struct quay q;
    quay_open(&q,
        config(redis.port,
            "'shared': {'maxTokens': 3, 'refillPeriod': '1h'}, 'tools': [{'name': 'add', "
            "'perUser': {'maxTokens': 1, 'refillPeriod': '1h0m0s'}}]"));
    int status;
    check_int(ask(&q, CALL("add")), 200);
    const char *body = quay_ask(&q, "", CALL("add"), &status);
    check_int(status, 429);
    check_text(body,
        "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":429,\"message\":\"Rate limit "
        "exceeded\",\"data\":{\"retryAfterSeconds\":3600}}}");
    /* The refused call took no token of the shared bucket. */
    check_int(ask(&q, CALL("echo")), 200);
    check_int(ask(&q, CALL("echo")), 200);
    check_int(ask(&q, CALL("echo")), 429);
    check_int(ask(&q, "{'id': 1, 'method': 'ping'}"), 200);
    check_int((int64_t)q.seen_count, 4);
}

static void write_pem(const char *folder)
{
    for (size_t i = 0; i < lengthof(pem_files); i++) {
        FILE *f = fopen(arena_printf(test_arena(), "%s/%s", folder, pem_files[i].name), "w");
        check(f && fputs(pem_files[i].text, f) >= 0 && fclose(f) == 0);
    }
}

TEST(mcp_redis_is_reached_over_tls)
{
    static const struct {
        const char *tls;
        int second; /* status of the call beyond the rate */
    } cases[] = {
        { NULL, 429 }, /* the authority's file */
        { "{'insecureSkipVerify': true}", 429 },
        { "{}", 200 }, /* not trusted: as if there were none */
    };
    const char *folder = folder_new();
    cleanup(server_stop) struct server redis = { 0 };
    write_pem(folder);
    if (!server_start_with(&redis, quay_free_port(), folder))
        return;
    for (size_t i = 0; i < lengthof(cases); i++) {
        cleanup(quay_close) struct quay q;
        const char *file = arena_printf(test_arena(), "{'caCertFile': '%s/ca.pem'}", folder);
        quay_open(&q,
            arena_printf(test_arena(),
                "{'transport': 'streamable-http', 'middleware_configs': [{'type': 'auth'}, "
                "{'type': "
                "'ratelimit', 'parameters': {'namespace': '%zu', 'redis_addr': '127.0.0.1:%u', "
                "'redis_tls': %s, 'config': {'shared': {'maxTokens': 1, 'refillPeriod': '1h'}}}}]}",
                i,
                redis.port,
                cases[i].tls ? cases[i].tls : file));
        check_int(ask(&q, CALL("echo")), 200);
        check_int(ask(&q, CALL("echo")), cases[i].second);
    }
    folder_remove(folder);
}

TEST(mcp_tokens_come_back_and_many_calls_at_once_are_counted_right)
{
    cleanup(server_stop) struct server redis = { 0 };
    if (!server_start(&redis, quay_free_port()))
        return;
    cleanup(quay_close) struct quay q;
    quay_open(&q, config(redis.port, "'shared': {'maxTokens': 5, 'refillPeriod': '1h'}"));
    struct seen got[12] = { 0 };
    int allowed = 0;
    for (size_t i = 0; i < lengthof(got); i++)
        quay_post(&q, "", CALL("echo"), &got[i]);
    for (size_t i = 0; i < lengthof(got); i++) {
        await(&q, got[i].ended);
        allowed += got[i].status == 200;
        seen_done(&got[i]);
    }
    check_int(allowed, 5);
}

TEST(mcp_without_redis_calls_are_let_through_and_counted_again_later)
{
    uint16_t port = quay_free_port();
    cleanup(server_stop) struct server redis = { 0 };
    cleanup(quay_close) struct quay q;
    quay_open(&q, config(port, "'shared': {'maxTokens': 1, 'refillPeriod': '1h'}"));
    for (int i = 0; i < 3; i++)
        check_int(ask(&q, CALL("echo")), 200);
    if (!server_start(&redis, port))
        return;
    check_int(ask(&q, CALL("echo")), 200);
    check_int(ask(&q, CALL("echo")), 429);
    server_stop(&redis);
    check_int(ask(&q, CALL("echo")), 200);
}

TEST(mcp_replies_of_redis_are_read_piece_by_piece)
{
    static const struct {
        const char *text;
        int got;
        int64_t value;
    } cases[] = {
        { "", 0, 0 },
        { ":12", 0, 0 },
        { ":12\r\n", 1, 12 },
        { "+OK\r\n", 1, 0 },
        { "-NOSCRIPT x\r\n", 1, 0 },
        { "$3\r\nab", 0, 0 },
        { "$3\r\nabc\r\n", 1, 0 },
        { "$-1\r\n", 1, 0 },
        { "$-2\r\n", -1, 0 },
        { "$99999999999\r\n", -1, 0 },
        { ":x\r\n", -1, 0 },
        { "*1\r\n:1\r\n", -1, 0 },
        { "\r\n", -1, 0 },
        { "HTTP/1.1 400\r\n", -1, 0 },
    };
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct str text = str_of(cases[i].text), error;
        int64_t value;
        check_int(redis_read_reply(&text, &value, &error), cases[i].got);
        check_int(cases[i].got == 1 ? value : 0, cases[i].value);
        check_int((int64_t)text.len, cases[i].got == 1 ? 0 : (int64_t)strlen(cases[i].text));
    }
}
