#pragma once

/* What loop.c and process.c share. No other file includes libuv. */

#include <uv.h>

#include "http/loop.h"

struct loop {
    uv_loop_t uv;
    uv_prepare_t prepare;
    uv_timer_t wake;
    struct timers timers;
    struct env env;
    int64_t gather_ms;
    const char *hosts; /* a file; NULL: none */
    bool stopped;
    bool until; /* in loop_run_until(): checks the condition after every turn */
};

/* Fails with "name: message" for a libuv error number. */
bool loop_fail(struct error *err, int uv_error, const char *what);
