#pragma once

/* What went wrong, in one sentence, on the caller's stack.
 *
 *   bool f(…, struct error *err);          true is success; on failure err is filled
 *   return fail(err, ERR_CONFLICT, "lease %s is held by %s", name, holder);
 *   return fail_in(err, "apply deployment %s/%s", ns, name);     adds context in front
 *
 * The codes mirror the reasons of a Kubernetes Status, because those decide what happens next. */

#include "base/base.h"

enum error_code {
    ERR_NONE = 0,
    /* The world said no, and asking again changes nothing until somebody changes something. */
    ERR_INVALID,      /* 400, 422, a value that cannot be read */
    ERR_UNAUTHORIZED, /* 401 */
    ERR_FORBIDDEN,    /* 403, EACCES */
    ERR_NOT_FOUND,    /* 404, ENOENT */
    ERR_EXISTS,       /* 409 AlreadyExists */
    ERR_UNSUPPORTED,  /* 405, 406, 415: the other side cannot do that */
    ERR_TOO_LARGE,    /* 413, a limit of ours */
    /* Look again, then decide again. */
    ERR_CONFLICT, /* 409 Conflict */
    ERR_GONE,     /* 410: the version asked for is too old */
    /* The world failed for now. */
    ERR_TIMEOUT,     /* a wait of ours ended, 504, 408 */
    ERR_BUSY,        /* 429 */
    ERR_UNAVAILABLE, /* connection refused or lost, 502, 503 */
    ERR_INTERNAL,    /* 500, and what nobody foresaw */
    ERR_CANCELLED,   /* we ended it ourselves */
};

struct error {
    enum error_code code;
    int64_t retry_after_ms; /* what the other side asked for; 0: nothing */
    char text[480];         /* cut at a character, never inside one */
};

/* Both return false, so that failing is one line. err may be NULL. */
bool fail(struct error *err, enum error_code code, const char *format, ...) printf_like(3, 4);
bool fail_in(struct error *err, const char *format, ...) printf_like(2, 3);
bool fail_errno(struct error *err, int number, const char *format, ...) printf_like(3, 4);

const char *error_code_name(enum error_code code); /* "NotFound", as Kubernetes writes it */
enum error_code error_code_of_http(int status);
/* True for the codes of the last group: the same request may succeed later. */
bool error_is_transient(enum error_code code);
