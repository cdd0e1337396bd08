#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Removes the rest of a UTF-8 sequence that vsnprintf may have truncated. */
static void trim_to_character(char *text, size_t size)
{
    size_t length = strnlen(text, size);
    if (length < size - 1)
        return;
    while (length > 0 && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
        length--;
    if (length > 0 && ((unsigned char)text[length - 1] & 0xc0) == 0xc0)
        length--;
    text[length] = '\0';
}

static void printf_like(3, 0)
    set(struct error *err, enum error_code code, const char *format, va_list args)
{
    err->code = code;
    err->retry_after_ms = 0;
    vsnprintf(err->text, sizeof(err->text), format, args);
    trim_to_character(err->text, sizeof(err->text));
}

bool fail(struct error *err, enum error_code code, const char *format, ...)
{
    assert(code != ERR_NONE);
    if (!err)
        return false;
    va_list args;
    va_start(args, format);
    set(err, code, format, args);
    va_end(args);
    return false;
}

bool fail_in(struct error *err, const char *format, ...)
{
    if (!err)
        return false;
    struct error inner = *err;
    va_list args;
    va_start(args, format);
    set(err, inner.code ? inner.code : ERR_INTERNAL, format, args);
    va_end(args);
    size_t length = strlen(err->text);
    snprintf(err->text + length, sizeof(err->text) - length, ": %s", inner.text);
    trim_to_character(err->text, sizeof(err->text));
    err->retry_after_ms = inner.retry_after_ms;
    return false;
}

static enum error_code code_of_errno(int number)
{
    switch (number) {
    case ENOENT:
    case ENOTDIR:
        return ERR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_FORBIDDEN;
    case EEXIST:
        return ERR_EXISTS;
    case ETIMEDOUT:
        return ERR_TIMEOUT;
    case ECONNREFUSED:
    case ECONNRESET:
    case EPIPE:
        return ERR_UNAVAILABLE;
    default:
        return ERR_INTERNAL;
    }
}

bool fail_errno(struct error *err, int number, const char *format, ...)
{
    if (!err)
        return false;
    va_list args;
    va_start(args, format);
    set(err, code_of_errno(number), format, args);
    va_end(args);
    char reason[96];
    const char *text = strerror_r(number, reason, sizeof(reason));
    size_t length = strlen(err->text);
    const char *remedy = number == ENOSPC ? "; make room there" : "";
    snprintf(err->text + length, sizeof(err->text) - length, ": %s%s", text, remedy);
    trim_to_character(err->text, sizeof(err->text));
    return false;
}

static const struct {
    enum error_code code;
    const char *name;
} names[] = {
    { ERR_NONE, "OK" },
    { ERR_INVALID, "Invalid" },
    { ERR_UNAUTHORIZED, "Unauthorized" },
    { ERR_FORBIDDEN, "Forbidden" },
    { ERR_NOT_FOUND, "NotFound" },
    { ERR_EXISTS, "AlreadyExists" },
    { ERR_UNSUPPORTED, "UnsupportedMediaType" },
    { ERR_TOO_LARGE, "RequestEntityTooLarge" },
    { ERR_CONFLICT, "Conflict" },
    { ERR_GONE, "Expired" },
    { ERR_TIMEOUT, "Timeout" },
    { ERR_BUSY, "TooManyRequests" },
    { ERR_UNAVAILABLE, "ServiceUnavailable" },
    { ERR_INTERNAL, "InternalError" },
    { ERR_CANCELLED, "Cancelled" },
};

const char *error_code_name(enum error_code code)
{
    assert((size_t)code < lengthof(names) && names[code].code == code);
    return names[code].name;
}

enum error_code error_code_of_http(int status)
{
    switch (status) {
    case 401:
        return ERR_UNAUTHORIZED;
    case 403:
        return ERR_FORBIDDEN;
    case 404:
        return ERR_NOT_FOUND;
    case 405:
    case 406:
    case 415:
        return ERR_UNSUPPORTED;
    case 408:
    case 504:
        return ERR_TIMEOUT;
    case 409:
        return ERR_CONFLICT;
    case 410:
        return ERR_GONE;
    case 413:
        return ERR_TOO_LARGE;
    case 429:
        return ERR_BUSY;
    case 502:
    case 503:
        return ERR_UNAVAILABLE;
    default:
        return status >= 500 ? ERR_INTERNAL : status >= 400 ? ERR_INVALID : ERR_NONE;
    }
}

bool error_is_transient(enum error_code code)
{
    return code >= ERR_TIMEOUT && code <= ERR_INTERNAL;
}
