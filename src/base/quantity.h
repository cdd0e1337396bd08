#pragma once

/* Kubernetes quantities: "100m", "1.5Gi", "2e3". Quantities are normalized as in the API server:
 * 1000m is stored as 1, 2048Mi as 2Gi, 1.5Gi as 1536Mi, 0.1 as 100m. So a desired object can be
 * compared with a stored one, by text or, better, with quantity_compare().
 *
 * Numbers are exact: an integer times a power of ten. As in the API server, fractions of a nano
 * (10⁻⁹) are rounded away from zero, a binary quantity is limited to 2⁶³-1, and a number without
 * digits ("m", ".", "-", not "Ei") is 0. Unlike the API server, this code refuses a number with
 * more than 36 digits, a binary quantity with more than 19 digits after the point, and an exponent
 * beyond ±QUANTITY_EXPONENT_MAX. 1000E is 1e21; Kubernetes before 1.37 loses the exponent and
 * stores 1. */

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"
#include "base/str.h"

enum quantity_format {
    QUANTITY_DECIMAL,  /* n u m k M G T P E */
    QUANTITY_BINARY,   /* Ki Mi Gi Ti Pi Ei */
    QUANTITY_EXPONENT, /* e3 */
};

#define QUANTITY_EXPONENT_MAX 1000000

struct quantity {
    __int128 value; /* without trailing decimal zeros, which are in the exponent */
    int32_t exponent;
    enum quantity_format format; /* as written; ignored in comparisons */
};

/* Ignores surrounding whitespace, as the API server does. */
bool quantity_parse(struct str text, struct quantity *ret, struct error *err) must_check;
/* -1, 0 or 1. */
int quantity_compare(struct quantity a, struct quantity b);
/* The whole number, rounded away from zero; at most INT64_MAX, at least INT64_MIN. */
int64_t quantity_value(struct quantity q);
/* In thousandths, with the same rounding: the unit of CPU quantities. */
int64_t quantity_milli_value(struct quantity q);
/* Formatted like the first, or like the second if the first is zero. If they differ by more than 36
 * digits, returns the larger. */
struct quantity quantity_plus(struct quantity a, struct quantity b);
/* Returns the first if both are equal. */
static inline struct quantity quantity_larger(struct quantity a, struct quantity b)
{
    return quantity_compare(a, b) < 0 ? b : a;
}
struct quantity quantity_minus(struct quantity a, struct quantity b);
/* A whole number of bytes, with a binary suffix if possible. */
struct quantity quantity_of_bytes(int64_t bytes);

/* The canonical form. */
const char *quantity_to_text(struct arena *a, struct quantity q);
/* The text that the API server stores; NULL if it is not a quantity. Not always the canonical form:
 * a few texts stay unchanged ("+5", "1.500", "1E3"), because the API server has a shortcut. */
const char *quantity_canonical(struct arena *a, const char *text);
/* The same for a resource list (requests, limits, capacity, hard), where the API server rounds up
 * to thousandths: 1u becomes 1m. */
const char *quantity_canonical_resource(struct arena *a, const char *text);
/* Whether two texts are the same quantity. Texts that are not quantities are equal if they are the
 * same text. NULL is allowed. */
bool quantity_text_equal(const char *a, const char *b);
