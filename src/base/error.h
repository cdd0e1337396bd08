#pragma once

/* What went wrong, in one sentence, on the caller's stack.
 *
 *   bool f(…, struct error *err);          true is success; on failure err is filled
 *   return fail(err, ERR_CONFLICT, "lease %s is held by %s", name, holder);
 *   return fail_in(err, "apply deployment %s/%s", ns, name);     adds context in front
 *
 * The codes mirror the reasons of a Kubernetes Status, because callers decide by them. */

#include "base/base.h"

enum error_code {
    ERR_NONE = 0,
    /* Permanent errors: a retry does not help until somebody changes something. */
    ERR_INVALID,      /* 400, 422, an unreadable value */
    ERR_UNAUTHORIZED, /* 401 */
    ERR_FORBIDDEN,    /* 403, EACCES */
    ERR_NOT_FOUND,    /* 404, ENOENT */
    ERR_EXISTS,       /* 409 AlreadyExists */
    ERR_UNSUPPORTED,  /* 405, 406, 415: the server does not support it */
    ERR_TOO_LARGE,    /* 413, or one of our limits */
    /* Read again, then decide again. */
    ERR_CONFLICT, /* 409 Conflict */
    ERR_GONE,     /* 410: the requested version is too old */
    /* Temporary failures. */
    ERR_TIMEOUT,     /* our own timeout, 504, 408 */
    ERR_BUSY,        /* 429 */
    ERR_UNAVAILABLE, /* connection refused or lost, 502, 503 */
    ERR_INTERNAL,    /* 500, and unexpected errors */
    ERR_CANCELLED,   /* we cancelled it ourselves */
};

struct error {
    enum error_code code;
    int64_t retry_after_ms; /* the delay that the server requested; 0: none */
    char text[480];         /* truncated between characters, never inside one */
};

/* Both return false, so that failing takes one line. err may be NULL. */
bool fail(struct error *err, enum error_code code, const char *format, ...) printf_like(3, 4);
bool fail_in(struct error *err, const char *format, ...) printf_like(2, 3);
bool fail_errno(struct error *err, int number, const char *format, ...) printf_like(3, 4);

const char *error_code_name(enum error_code code); /* "NotFound", as in a Kubernetes Status */
enum error_code error_code_of_http(int status);
/* True for the codes of the last group: the same request may succeed later. */
bool error_is_transient(enum error_code code);
