/* A load for the proxy of Services (bench/proxy): HTTP/1.1 on connections that are kept, one
 * request at a time on each, with next to nothing behind them.
 *
 *   proxy_load serve                             prints its port; every request is answered with
 * BODY proxy_load ask HOST PORT CONNECTIONS SECONDS
 *
 * `ask` prints { "answers": …, "failed": …, "seconds": … }. Both know only each other's messages.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "http/listen.h"

#define PEERS_MAX 1024
#define BODY "{\"choices\":[{\"message\":{\"content\":\"ahoy, all of you out there\"}}]}"
#define QUESTION "{\"messages\":[{\"role\":\"user\",\"content\":\"Ahoy?\"}],\"max_tokens\":16}"
#define HEAD "\r\nContent-Type: application/json\r\nContent-Length: "

struct load {
    struct pollfd fds[PEERS_MAX];
    size_t got[PEERS_MAX]; /* of the message that is awaited */
    size_t count;
    struct str in, out; /* what is awaited, what is said then */
    size_t messages, failed;
};

static char *message(const char *first_line, const char *body)
{
    char *text = NULL;
    if (asprintf(&text, "%s" HEAD "%zu\r\n\r\n%s", first_line, strlen(body), body) < 0)
        exit(1);
    return text;
}

static void add(struct load *l, int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
    l->got[l->count] = 0;
    l->fds[l->count++] = (struct pollfd){ .fd = fd, .events = POLLIN };
}

static bool say(const struct load *l, int fd)
{
    return send(fd, l->out.ptr, l->out.len, MSG_NOSIGNAL) == (ssize_t)l->out.len;
}

/* Reads what is there; true while the connection is good. */
static bool hear(struct load *l, size_t i)
{
    char bytes[4096];
    ssize_t count = recv(l->fds[i].fd, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN)
        return true;
    if (count <= 0 || l->got[i] + (size_t)count > l->in.len)
        return false;
    l->got[i] += (size_t)count;
    if (l->got[i] < l->in.len)
        return true;
    l->got[i] = 0;
    l->messages++;
    return say(l, l->fds[i].fd);
}

static void turn(struct load *l, size_t first)
{
    if (poll(l->fds, l->count, 100) <= 0)
        return;
    for (size_t i = l->count; i-- > first;)
        if (l->fds[i].revents && !hear(l, i)) {
            close(l->fds[i].fd);
            l->failed++;
            l->fds[i] = l->fds[--l->count];
            l->got[i] = l->got[l->count];
        }
}

static int serve(struct load *l)
{
    struct error err;
    int listener = listen_tcp("127.0.0.1", 0, &err);
    if (listener < 0) {
        fprintf(stderr, "proxy_load: %s\n", err.text);
        return 1;
    }
    add(l, listener);
    printf("%u\n", listen_port(listener));
    fflush(stdout);
    while (true) {
        turn(l, 1);
        int fd = l->fds[0].revents ? accept(listener, NULL, NULL) : -1;
        if (fd >= 0 && l->count < PEERS_MAX)
            add(l, fd);
        else if (fd >= 0)
            close(fd);
    }
}

static int usage(void)
{
    fprintf(stderr, "usage: proxy_load serve | ask HOST PORT CONNECTIONS SECONDS\n");
    return 2;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int ask(struct load *l, char **args)
{
    int64_t port, connections, seconds;
    if (!str_to_int(str_of(args[1]), &port) || !str_to_int(str_of(args[2]), &connections) ||
        !str_to_int(str_of(args[3]), &seconds) || connections > PEERS_MAX)
        return usage();
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
    inet_pton(AF_INET, args[0], &to.sin_addr);
    for (int64_t i = 0; i < connections; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 || !say(l, fd)) {
            perror("proxy_load");
            return 1;
        }
        add(l, fd);
    }
    double start = now(), end = start + (double)seconds;
    while (now() < end && l->count)
        turn(l, 0);
    printf("{\"answers\": %zu, \"failed\": %zu, \"seconds\": %.3f}\n",
        l->messages,
        l->failed,
        now() - start);
    return 0;
}

int main(int argc, char **argv)
{
    static struct load load;
    struct str request =
        str_of(message("POST /v1/chat/completions HTTP/1.1\r\nHost: leeboard", QUESTION));
    struct str answer = str_of(message("HTTP/1.1 200 OK", BODY));
    bool serves = argc == 2 && text_eq(argv[1], "serve");
    load.in = serves ? request : answer;
    load.out = serves ? answer : request;
    if (serves)
        return serve(&load);
    if (argc == 6 && text_eq(argv[1], "ask"))
        return ask(&load, argv + 2);
    return usage();
}
