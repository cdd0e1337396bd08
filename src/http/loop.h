#pragma once

/* The event loop: one thread, one libuv loop, and a struct env with the real clock and random
 * numbers.
 *
 *   struct loop *loop = loop_new();
 *   … start things with loop_env(loop) and the functions below …
 *   loop_run(loop);                 until loop_stop(), or until nothing is left to wait for
 *   loop_free(loop);
 *
 * All callbacks run on this thread, from loop_run(), never from inside the function that started
 * the operation. Timers are those of base/timer.h on loop_env(). A timer that is set to 0 ms fires
 * before the loop waits again; use this to do something "after this callback".
 *
 * Only loop.c and process.c use libuv. Child processes are in http/process.h. */

#include "base/error.h"
#include "base/timer.h"

struct loop;
struct sockaddr;
struct addrinfo;

/* Also makes the process ignore SIGPIPE. */
struct loop *loop_new(void) must_check;
/* All operations on the loop must have ended or been cancelled: asserts that only closing handles
 * are left. */
void loop_free(struct loop *loop);
void loop_run(struct loop *loop);
/* Makes loop_run() return soon. May be called from any callback, or before loop_run(). */
void loop_stop(struct loop *loop);
/* Runs until done() returns true; used by tests and one-shot commands. Returns false after max_ms,
 * or if nothing is left that could change the condition. */
bool loop_run_until(struct loop *loop, bool (*done)(void *ctx), void *ctx, int64_t max_ms);
const struct env *loop_env(struct loop *loop);
/* From now on, at least this many milliseconds pass between two polls of the descriptors: events in
 * this time are handled together, like interrupt coalescing of network cards. A single event is
 * still handled at once. */
#define LOOP_GATHER_MAX_MS 20
void loop_gather(struct loop *loop, int64_t ms);

/* ---- file descriptors ---- */

enum { LOOP_READ = 1, LOOP_WRITE = 2, LOOP_HANGUP = 4 };

struct loop_watch;

/* ready() gets the LOOP_ bits that are set; after an error on fd, all bits of the watch. */
struct loop_watch *loop_watch_new(
    struct loop *loop, int fd, void (*ready)(void *ctx, int events), void *ctx) must_check;
/* Sets the events to wait for; 0 for none. */
void loop_watch_set(struct loop_watch *w, int events);
/* There are no callbacks after this; the descriptor may be closed at once. NULL is allowed. */
void loop_watch_free(struct loop_watch *w);

/* ---- names ---- */

struct loop_resolve;

/* Resolves a host for TCP: numeric addresses, and names on the thread pool. found() is called once
 * unless cancelled, with err NULL and a list that it must not keep, or with err. */
struct loop_resolve *loop_resolve(struct loop *loop, const char *host, uint16_t port,
    void (*found)(void *ctx, const struct addrinfo *list, const struct error *err),
    void *ctx) must_check;
void loop_resolve_cancel(struct loop_resolve *r);
/* A file in the format of /etc/hosts that is searched before the system's resolver, and read each
 * time. The text must outlive the loop; NULL: none. */
void loop_set_hosts(struct loop *loop, const char *file);

/* ---- signals ---- */

struct loop_signal;

/* Calls got() for each signal of that number (SIGTERM, SIGINT, SIGHUP, …) instead of its default
 * action. Does not keep the loop running. */
struct loop_signal *loop_signal_new(
    struct loop *loop, int number, void (*got)(void *ctx, int number), void *ctx) must_check;
void loop_signal_free(struct loop_signal *s);

/* ---- blocking work ---- */

/* Runs work(ctx) on a thread of the pool, then done(ctx) on this one. work() may access only what
 * ctx owns. There is no timeout: long work must check a flag of its own. */
void loop_work(struct loop *loop, void (*work)(void *ctx), void (*done)(void *ctx), void *ctx);
