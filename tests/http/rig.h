#pragma once

/* A loop, a server and a client in this process, on loopback sockets, and ways to watch them.
 *
 *   cleanup(rig_close) struct rig r; rig_open(&r, RIG_H2 | RIG_TLS);
 *   struct seen got = { 0 };
 *   rig_get(&r, "/hello", &got);
 *   await(&r, got.ended);
 *
 * What the server's paths do stands in rig.c, at the routes. */

#include "base/buf.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/server.h"
#include "http/tls.h"
#include "tests/test.h"

#define AWAIT_MAX_MS 60000

/* Turns the loop until it is true; a test that waits too long fails. */
#define await(rig, expression)                                                                     \
    do {                                                                                           \
        int64_t until_ = env_mono_ms(loop_env((rig)->loop)) + AWAIT_MAX_MS;                        \
        while (!(expression)) {                                                                    \
            if (env_mono_ms(loop_env((rig)->loop)) > until_)                                       \
                test_fail(__FILE__, __LINE__, "waited too long for: %s", #expression);             \
            rig_turn((rig)->loop);                                                                 \
        }                                                                                          \
    } while (0)

enum { RIG_H1 = 0, RIG_H2 = 1, RIG_TLS = 2 };

struct rig {
    struct loop *loop;
    struct http_server *server;
    struct http_client *client;
    struct tls_context *server_tls, *client_tls;
    struct http_origin origin;
    /* the server's side */
    int requests;       /* heads that came */
    int closed, failed; /* exchanges that ended, and of those with an error */
    struct error last_err;
    size_t body_bytes;    /* of requests */
    size_t written_bytes; /* of answers, as far as the back-pressure let it */
    struct http_exchange *last;
    bool last_gone;
    bool hold_body;      /* /sink pauses after the first piece */
    char seen_head[512]; /* what /inspect saw */
};

struct seen {
    struct http_call *call;
    int status;
    bool http2, ended, sent, paused;
    bool pause_always; /* after each piece */
    bool cancel_at_head, cancel_at_data;
    int heads, datas;
    int64_t body_bytes; /* as announced */
    size_t received;
    struct buf body;  /* the first MiB of it */
    char header[128]; /* the value of x-answer */
    struct error err;
    /* what it sends, when streamed */
    size_t to_send, sent_bytes;
    int more_calls;
};

void rig_open(struct rig *r, int flags);
void rig_open_with(struct rig *r, int flags, const struct http_server_options *server,
    const struct http_client_options *client);
void rig_close(struct rig *r);
void rig_turn(struct loop *loop);
/* Turns for a while in which nothing is expected to happen. */
void rig_turn_for(struct loop *loop, int64_t ms);
/* For what a busy machine can upset: tries with 200 ms as the limit, then with longer and longer
 * ones; false if it never came out. */
bool rig_patiently(bool (*attempt)(int flags, int64_t limit_ms), int flags);

struct http_request rig_request(const struct rig *r, const char *method, const char *path);
void rig_send(struct rig *r, const struct http_request *request, struct seen *seen);
void rig_get(struct rig *r, const char *path, struct seen *seen);
void seen_done(struct seen *s);

/* ---- raw sockets, for peers that misbehave; blocking, with a limit of some seconds ---- */
int raw_listen(uint16_t *ret_port);
int raw_accept(struct loop *loop, int listener);
int raw_connect(uint16_t port);
void raw_send(int fd, struct str bytes);
/* Reads while the loop turns, until the text so far contains part, or the end of the stream. */
const char *raw_read_until(struct loop *loop, int fd, const char *part);
const char *raw_read_until_bytes(struct loop *loop, int fd, struct str part);
/* True if the other side closes, while the loop turns; what comes before is thrown away. */
bool raw_closed(struct loop *loop, int fd);
