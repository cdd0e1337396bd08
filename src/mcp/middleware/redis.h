#pragma once

/* A Redis client for scripts: one connection, opened when first needed and again after it broke,
 * with commands one behind the other on it. Only what a step asks of Redis: AUTH, SELECT, EVALSHA
 * and EVAL with a whole number as answer. */

#include "mcp/middleware.h"

struct redis;
struct redis_call;
struct tls_context;

#define REDIS_WAIT_MS 2000 /* for a connection, and for an answer */

struct redis_options {
    const char *address;  /* host:port */
    const char *password; /* NULL or "": none */
    int64_t database;
    const char *script;
    struct tls_context *tls; /* NULL: plain; it keeps a reference */
};

struct redis *redis_new(
    const struct mcp_open *o, const struct redis_options *options, struct error *err) must_check;
/* No call is answered after this. */
void redis_free(struct redis *r); /* takes NULL */

/* Runs the script. keys come first; args are the rest. done() comes later, once, with the script's
 * whole number or err. Everything is copied. */
struct redis_call *redis_run(struct redis *r, const char *const *keys, size_t key_count,
    const char *const *args, size_t arg_count,
    void (*done)(void *ctx, int64_t value, const struct error *err), void *ctx) must_check;
/* done() does not come. */
void redis_cancel(struct redis_call *c); /* takes NULL */

/* Reads one reply off the front of *text: `:1\r\n`, `+OK\r\n`, `-ERR …\r\n`, `$3\r\nabc\r\n`. 1: it
 * is whole; 0: more bytes are needed; -1: it is none. *ret_error is set for `-`; *ret_value for
 * `:`. */
int redis_read_reply(struct str *text, int64_t *ret_value, struct str *ret_error);
