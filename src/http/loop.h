#pragma once

/* The event loop: one thread, one libuv loop, and the real clock and chance behind a struct env.
 *
 *   struct loop *loop = loop_new();
 *   … start things with loop_env(loop) and the functions below …
 *   loop_run(loop);                 until loop_stop(), or until nothing is left to wait for
 *   loop_free(loop);
 *
 * Everything that is given a loop calls back on this thread, from loop_run(), never from inside the
 * function that started it. Timers are those of base/timer.h on loop_env(); one that is set to 0 ms
 * fires before the loop next waits, which is the way to do something "after this callback".
 *
 * Only loop.c and process.c know libuv. Child processes are in http/process.h. */

#include "base/error.h"
#include "base/timer.h"

struct loop;
struct sockaddr;
struct addrinfo;

/* Also makes the process ignore SIGPIPE. */
struct loop *loop_new(void) must_check;
/* Everything that was started on it must have ended or been cancelled: it asserts that only handles
 * that are closing are left. */
void loop_free(struct loop *loop);
void loop_run(struct loop *loop);
/* Makes loop_run() return soon; from any callback, or before loop_run(). */
void loop_stop(struct loop *loop);
/* Runs for as long as done() says false: how tests and one-shot commands await a condition. False
 * when max_ms passed first, or nothing is left that could change it. */
bool loop_run_until(struct loop *loop, bool (*done)(void *ctx), void *ctx, int64_t max_ms);
const struct env *loop_env(struct loop *loop);
/* From now on, so many milliseconds at least pass from one look at the descriptors to the next:
 * what comes meanwhile is handled together, as network cards do. What comes alone still comes at
 * once. */
#define LOOP_GATHER_MAX_MS 20
void loop_gather(struct loop *loop, int64_t ms);

/* ---- file descriptors ---- */

enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 };

struct loop_watch;

/* ready() gets the LOOP_ bits that are true; after an error on fd, all that were asked for. */
struct loop_watch *loop_watch_new(
    struct loop *loop, int fd, void (*ready)(void *ctx, int events), void *ctx) must_check;
/* What to wait for from now on; 0 for nothing. */
void loop_watch_set(struct loop_watch *w, int events);
/* No call comes after this; the descriptor may be closed at once. NULL is fine. */
void loop_watch_free(struct loop_watch *w);

/* ---- names ---- */

struct loop_resolve;

/* Addresses of a host for TCP (numeric hosts and names alike, names on the thread pool). found()
 * is called once, with err NULL and a list that it must not keep, or with err; unless cancelled. */
struct loop_resolve *loop_resolve(struct loop *loop, const char *host, uint16_t port,
    void (*found)(void *ctx, const struct addrinfo *list, const struct error *err),
    void *ctx) must_check;
void loop_resolve_cancel(struct loop_resolve *r);
/* A file in the form of /etc/hosts that is asked before the system is, and read each time. The text
 * outlives the loop; NULL: none. */
void loop_set_hosts(struct loop *loop, const char *file);

/* ---- signals ---- */

struct loop_signal;

/* Calls got() for each signal of that number (SIGTERM, SIGINT, SIGHUP, …) instead of its default.
 * Does not keep the loop running. */
struct loop_signal *loop_signal_new(
    struct loop *loop, int number, void (*got)(void *ctx, int number), void *ctx) must_check;
void loop_signal_free(struct loop_signal *s);

/* ---- blocking work ---- */

/* Runs work(ctx) on a thread of the pool, then done(ctx) on this one. work() may touch only what
 * ctx owns. There is no timeout: work that can take long looks at a flag of its own. */
void loop_work(struct loop *loop, void (*work)(void *ctx), void (*done)(void *ctx), void *ctx);
