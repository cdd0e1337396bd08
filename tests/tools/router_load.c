/* Load for the benchmark of routers, and the back end behind them. Bare epoll, so that it costs
 * less than what it measures.
 *
 *   router_load serve [HOST PORT]                  prints its port; runs until it is killed
 *   router_load ask HOST PORT CONNECTIONS SECONDS BYTES
 *   router_load stream HOST PORT STREAMS CHUNKS GAP_MS [hold]
 *   router_load leave HOST PORT SERVER_PORT
 *
 * Answers are JSON on one line. A request is a chat completion with a body of BYTES. The header
 * X-Stream: CHUNKS,GAP_MS asks the back end for a stream whose chunks carry the time when they were
 * sent. `hold` prints a line when all streams have had a chunk, and ends when standard input does.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/str.h"

#define WHEEL 16384 /* milliseconds, more than any gap */
#define HEAD_MAX 4096
#define SAMPLES_MAX 2000000
#define PART ((size_t)64 << 10)

struct peer {
    int fd;
    char head[HEAD_MAX];
    size_t head_len;
    int64_t body_left; /* -1: in the head */
    /* of a stream at the back end */
    int chunks_left, gap_ms;
    struct peer *next; /* in a slot of the wheel */
    bool queued, gone;
    /* of a client */
    int64_t began_ns;
    size_t sent;
    int chunks;
};

static int poller;
static char part[PART];

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void watch(struct peer *p, uint32_t events, int how)
{
    struct epoll_event e = { .events = events, .data.ptr = p };
    epoll_ctl(poller, how, p->fd, &e);
}

static void no_delay(int fd)
{
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int));
}

static int64_t number_after(const char *head, const char *name)
{
    const char *at = strcasestr(head, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : -1;
}

/* ---- the back end ---- */

static struct peer *wheel[WHEEL];
static int64_t left_ns; /* when a client of a stream last left */
static char answer[1024];
static size_t answer_len;

static void make_answer(void)
{
    char body[578];
    memset(body, 'x', sizeof(body) - 1);
    body[577] = '\0';
    static const char start[] =
        "{\"id\":\"c\",\"object\":\"chat.completion\",\"usage\":{\"prompt_tokens\":"
        "200,\"completion_tokens\":100},\"text\":\"";
    memcpy(body, start, sizeof(start) - 1);
    memcpy(body + 575, "\"}", 2);
    answer_len = (size_t)snprintf(answer,
        sizeof(answer),
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 577\r\n\r\n%s",
        body);
}

static void put(struct peer *p, const char *text, size_t length)
{
    if (write(p->fd, text, length) < 0)
        p->chunks_left = 0;
}

static void queue_chunk(struct peer *p, int64_t at_ms)
{
    struct peer **slot = &wheel[at_ms % WHEEL];
    p->next = *slot;
    p->queued = true;
    *slot = p;
}

static void send_chunk(struct peer *p)
{
    char data[256], chunk[300];
    int length =
        snprintf(data, sizeof(data), "data: {\"t\":%020lld,\"pad\":\"", (long long)now_ns());
    memset(data + length, 'p', (size_t)(182 - 4 - length));
    memcpy(data + 178, "\"}\n\n", 4);
    int all = snprintf(chunk, sizeof(chunk), "b6\r\n%.182s\r\n", data);
    if (write(p->fd, chunk, (size_t)all) < 0)
        p->chunks_left = 1;
    if (--p->chunks_left > 0)
        return;
    if (write(p->fd, "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n", 24) < 0)
        return;
}

static void respond(struct peer *p, int64_t now_ms)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    char text[128];
    int64_t chunks = number_after(p->head, "\r\nx-stream: ");
    if (memcmp(p->head, "GET /left", 9) == 0) {
        int length = snprintf(text,
            sizeof(text),
            "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n%020lld",
            (long long)left_ns);
        put(p, text, (size_t)length);
    } else if (chunks < 0) {
        put(p, answer, answer_len);
    } else if (write(p->fd, head, sizeof(head) - 1) > 0) {
        const char *comma = strchr(strcasestr(p->head, "\r\nx-stream: "), ',');
        p->chunks_left = (int)chunks;
        p->gap_ms = (int)strtol(comma + 1, NULL, 10);
        send_chunk(p);
        if (p->chunks_left > 0)
            queue_chunk(p, now_ms + p->gap_ms);
    }
    p->head_len = 0;
    p->body_left = -1;
}

static void take_bytes(struct peer *p, size_t count, int64_t now_ms)
{
    size_t at = 0;
    while (at < count) {
        if (p->body_left >= 0) {
            size_t eat = (size_t)p->body_left < count - at ? (size_t)p->body_left : count - at;
            p->body_left -= (int64_t)eat;
            at += eat;
        } else if (p->head_len < HEAD_MAX - 1) {
            p->head[p->head_len++] = part[at++];
            p->head[p->head_len] = '\0';
            if (p->head_len < 4 || memcmp(p->head + p->head_len - 4, "\r\n\r\n", 4) != 0)
                continue;
            int64_t length = number_after(p->head, "\r\ncontent-length: ");
            p->body_left = length < 0 ? 0 : length;
        } else {
            exit(1);
        }
        if (p->body_left == 0)
            respond(p, now_ms);
    }
}

static void peer_gone(struct peer *p)
{
    if (p->chunks_left > 0)
        left_ns = now_ns();
    close(p->fd);
    p->gone = true;
    p->chunks_left = 0;
    if (!p->queued)
        free(p);
}

static void turn_wheel(int64_t ms)
{
    struct peer *p = wheel[ms % WHEEL], *next;
    wheel[ms % WHEEL] = NULL;
    for (; p; p = next) {
        next = p->next;
        p->queued = false;
        if (p->gone) {
            free(p);
            continue;
        }
        send_chunk(p);
        if (p->chunks_left > 0)
            queue_chunk(p, ms + p->gap_ms);
    }
}

static int serve(const char *host, const char *port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = inet_addr(host),
        .sin_port = htons((uint16_t)strtol(port, NULL, 10)),
    };
    socklen_t size = sizeof(a);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&a, size) != 0 || listen(listener, 4096) != 0)
        return 1;
    getsockname(listener, (struct sockaddr *)&a, &size);
    printf("%u\n", ntohs(a.sin_port));
    fflush(stdout);
    make_answer();
    struct peer door = { .fd = listener };
    watch(&door, EPOLLIN, EPOLL_CTL_ADD);
    for (int64_t turned = now_ns() / 1000000;;) {
        struct epoll_event events[256];
        int count = epoll_wait(poller, events, 256, 1);
        int64_t ms = now_ns() / 1000000;
        for (; turned < ms; turned++)
            turn_wheel(turned);
        for (int i = 0; i < count; i++) {
            struct peer *p = events[i].data.ptr;
            if (p == &door) {
                int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd < 0)
                    continue;
                no_delay(fd);
                p = mem_new_of(struct peer);
                p->fd = fd;
                p->body_left = -1;
                watch(p, EPOLLIN | EPOLLRDHUP, EPOLL_CTL_ADD);
                continue;
            }
            ssize_t got = read(p->fd, part, PART);
            if (got > 0)
                take_bytes(p, (size_t)got, ms);
            else if (got == 0 || errno != EAGAIN)
                peer_gone(p);
        }
    }
}

/* ---- clients ---- */

static struct sockaddr_in target;
static char *request;
static size_t request_len;
static int64_t *samples;
static size_t sample_count;

static void sample(int64_t ns)
{
    if (sample_count < SAMPLES_MAX)
        samples[sample_count++] = ns;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static double percentile_us(double part_of)
{
    if (!sample_count)
        return 0;
    return (double)samples[(size_t)((double)(sample_count - 1) * part_of)] / 1000;
}

static void make_request(size_t bytes, const char *more)
{
    static const char start[] =
        "{\"model\":\"fast-1\",\"messages\":[{\"role\":\"user\",\"content\":\"";
    request = mem_new(bytes + 1024);
    request_len = (size_t)snprintf(request,
        1024,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\n"
        "%sContent-Length: %zu\r\n\r\n",
        more,
        bytes);
    char *body = request + request_len;
    memset(body, 'a', bytes);
    memcpy(body, start, sizeof(start) - 1);
    memcpy(body + bytes - 4, "\"}]}", 4);
    request_len += bytes;
}

static struct peer *client_new(void)
{
    struct peer *p = mem_new_of(struct peer);
    p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(p->fd, (struct sockaddr *)&target, sizeof(target)) != 0) {
        perror("connect");
        exit(1);
    }
    no_delay(p->fd);
    return p;
}

static void send_request(struct peer *p)
{
    p->began_ns = now_ns();
    p->head_len = 0;
    p->body_left = -1;
    for (size_t sent = 0; sent < request_len;) {
        ssize_t count = write(p->fd, request + sent, request_len - sent);
        if (count <= 0)
            exit(1);
        sent += (size_t)count;
    }
}

/* True when the answer is whole; it has a Content-Length, or is the first chunk's end. */
static bool answered(struct peer *p, size_t count)
{
    size_t at = 0;
    while (p->body_left < 0 && at < count && p->head_len < HEAD_MAX - 1) {
        p->head[p->head_len++] = part[at++];
        p->head[p->head_len] = '\0';
        if (p->head_len >= 4 && memcmp(p->head + p->head_len - 4, "\r\n\r\n", 4) == 0)
            p->body_left = number_after(p->head, "\r\ncontent-length: ");
    }
    if (p->body_left < 0)
        return false;
    p->body_left -= (int64_t)(count - at);
    return p->body_left <= 0;
}

static int ask(int connections, double seconds)
{
    int64_t answers = 0, failed = 0, end = now_ns() + (int64_t)(seconds * 1e9);
    int64_t began = now_ns();
    for (int i = 0; i < connections; i++) {
        struct peer *p = client_new();
        watch(p, EPOLLIN, EPOLL_CTL_ADD);
        send_request(p);
    }
    while (now_ns() < end) {
        struct epoll_event events[256];
        int count = epoll_wait(poller, events, 256, 100);
        for (int i = 0; i < count; i++) {
            struct peer *p = events[i].data.ptr;
            ssize_t got = read(p->fd, part, PART);
            if (got <= 0) {
                failed++;
                end = 0;
            } else if (answered(p, (size_t)got)) {
                sample(now_ns() - p->began_ns);
                answers++;
                failed += memcmp(p->head, "HTTP/1.1 200", 12) != 0;
                send_request(p);
            }
        }
    }
    double took = (double)(now_ns() - began) / 1e9;
    qsort(samples, sample_count, sizeof(*samples), by_size);
    printf("{\"answers\":%lld,\"failed\":%lld,\"seconds\":%f,\"p50_us\":%f,\"p99_us\":%f}\n",
        (long long)answers,
        (long long)failed,
        took,
        percentile_us(0.5),
        percentile_us(0.99));
    return 0;
}

/* Chunks whose time came whole with these bytes; a time that is cut by the end is left out. */
static int note_chunks(const char *bytes, size_t count)
{
    int found = 0;
    int64_t now = now_ns();
    struct str rest = { bytes, count };
    const char *at;
    while ((at = memmem(rest.ptr, rest.len, "{\"t\":", 5)) && at + 25 <= bytes + count) {
        sample(now - strtoll(at + 5, NULL, 10));
        found++;
        rest = (struct str){ at + 25, (size_t)(bytes + count - at - 25) };
    }
    return found;
}

static int stream(int streams, int chunks, bool hold)
{
    int64_t total = 0, wanted = (int64_t)streams * chunks, begun = 0, ended = 0;
    bool told = false;
    struct peer input = { .fd = 0 };
    for (int i = 0; i < streams; i++) {
        struct peer *p = client_new();
        watch(p, EPOLLIN, EPOLL_CTL_ADD);
        send_request(p);
    }
    if (hold)
        watch(&input, EPOLLIN, EPOLL_CTL_ADD);
    while (ended < streams && (hold || total < wanted)) {
        struct epoll_event events[256];
        int count = epoll_wait(poller, events, 256, 30000);
        if (count == 0)
            break;
        for (int i = 0; i < count; i++) {
            struct peer *p = events[i].data.ptr;
            if (hold && p->fd == 0)
                ended = streams;
            ssize_t got = hold && p->fd == 0 ? 0 : read(p->fd, part, PART);
            if (got <= 0) {
                ended++;
                epoll_ctl(poller, EPOLL_CTL_DEL, p->fd, NULL);
                continue;
            }
            int found = note_chunks(part, (size_t)got);
            begun += found && !p->chunks;
            p->chunks += found;
            total += found;
        }
        if (hold && !told && begun == streams) {
            printf("held\n");
            fflush(stdout);
            told = true;
        }
    }
    qsort(samples, sample_count, sizeof(*samples), by_size);
    printf("{\"chunks\":%lld,\"begun\":%lld,\"p50_us\":%f,\"p99_us\":%f}\n",
        (long long)total,
        (long long)begun,
        percentile_us(0.5),
        percentile_us(0.99));
    return 0;
}

static int64_t asked_left(int fd)
{
    char text[512];
    static const char ask_text[] = "GET /left HTTP/1.1\r\nHost: b\r\n\r\n";
    if (write(fd, ask_text, sizeof(ask_text) - 1) < 0)
        exit(1);
    ssize_t got = read(fd, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    const char *body = strstr(text, "\r\n\r\n");
    return body ? strtoll(body + 4, NULL, 10) : 0;
}

/* From our close() until the back end sees its own, median of some. */
static int leave(uint16_t server_port)
{
    for (int i = 0; i < 21; i++) {
        struct peer *p = client_new();
        send_request(p);
        while (!note_chunks(part, (size_t)read(p->fd, part, PART)))
            ;
        sample_count = (size_t)i;
        int64_t began = now_ns();
        close(p->fd);
        struct sockaddr_in server = target;
        server.sin_port = htons(server_port);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&server, sizeof(server)) != 0)
            return 1;
        int64_t left;
        while ((left = asked_left(fd)) < began && now_ns() < began + 5000000000)
            ;
        close(fd);
        sample(left < began ? 5000000000 : left - began);
    }
    qsort(samples, sample_count, sizeof(*samples), by_size);
    printf("{\"p50_us\":%f}\n", percentile_us(0.5));
    return 0;
}

static int number(const char *text)
{
    int64_t value = 0;
    return str_to_int(str_of(text), &value) && value < INT32_MAX ? (int)value : 0;
}

int main(int argc, char **argv)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    poller = epoll_create1(EPOLL_CLOEXEC);
    samples = mem_resize(NULL, SAMPLES_MAX, sizeof(*samples));
    if (argc >= 2 && text_eq(argv[1], "serve"))
        return serve(argc == 4 ? argv[2] : "127.0.0.1", argc == 4 ? argv[3] : "0");
    if (argc < 5)
        return 2;
    target =
        (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)number(argv[3])) };
    inet_pton(AF_INET, argv[2], &target.sin_addr);
    if (text_eq(argv[1], "ask") && argc == 7) {
        make_request((size_t)number(argv[6]), "");
        return ask(number(argv[4]), strtod(argv[5], NULL));
    }
    if (text_eq(argv[1], "stream") && argc >= 7) {
        char more[64];
        snprintf(more, sizeof(more), "X-Stream: %d,%d\r\n", number(argv[5]), number(argv[6]));
        make_request(200, more);
        return stream(number(argv[4]), number(argv[5]), argc > 7);
    }
    if (text_eq(argv[1], "leave")) {
        make_request(200, "X-Stream: 100000,20\r\n");
        return leave((uint16_t)number(argv[4]));
    }
    return 2;
}
