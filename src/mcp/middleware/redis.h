#pragma once

/* A Redis client for scripts: one connection with pipelined commands, opened on first use and again
 * after it broke. Supports only what the steps need: AUTH, SELECT, EVALSHA and EVAL with an integer
 * reply. */

#include "mcp/middleware.h"

struct redis;
struct redis_call;
struct tls_context;

#define REDIS_WAIT_MS 2000 /* for connecting, and for a reply */

struct redis_options {
    const char *address;  /* host:port */
    const char *password; /* NULL or "": none */
    int64_t database;
    const char *script;
    struct tls_context *tls; /* NULL: plain; keeps a reference */
};

struct redis *redis_new(
    const struct mcp_open *o, const struct redis_options *options, struct error *err) must_check;
/* No callback follows. */
void redis_free(struct redis *r); /* NULL is allowed */

/* Runs the script. keys come first; args are the rest. done() is called later, once, with the
 * script's integer or err. Copies everything. */
struct redis_call *redis_run(struct redis *r, const char *const *keys, size_t key_count,
    const char *const *args, size_t arg_count,
    void (*done)(void *ctx, int64_t value, const struct error *err), void *ctx) must_check;
/* done() is not called. */
void redis_cancel(struct redis_call *c); /* NULL is allowed */

/* Reads one reply from the start of *text: `:1\r\n`, `+OK\r\n`, `-ERR …\r\n`, `$3\r\nabc\r\n`. 1:
 * it is complete; 0: more bytes are needed; -1: it is invalid. *ret_error is set for `-`;
 * *ret_value for `:`. */
int redis_read_reply(struct str *text, int64_t *ret_value, struct str *ret_error);
