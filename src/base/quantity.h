#pragma once

/* Kubernetes quantities: "100m", "1.5Gi", "2e3". What the API server makes of a quantity, it makes
 * here too: 1000m is stored as 1, 2048Mi as 2Gi, 1.5Gi as 1536Mi, 0.1 as 100m. So a desired object
 * can be compared with a stored one, by text or, better, with quantity_compare().
 *
 * Numbers are exact: an integer times a power of ten. As the API server does it, what is finer than
 * a nano (10⁻⁹) is rounded away from zero, a binary quantity ends at 2⁶³-1, and a number without
 * digits ("m", ".", "-", not "Ei") is 0. Unlike there, a number is refused that needs more than 36
 * digits, or more than 19 behind the point of a binary quantity, or an exponent beyond
 * ±QUANTITY_EXPONENT_MAX; and 1000E is 1e21, where Kubernetes before 1.37 forgets the exponent and
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
    enum quantity_format format; /* how it was written; does not matter for comparing */
};

/* Blanks around it do not count, as for the API server. */
bool quantity_parse(struct str text, struct quantity *ret, struct error *err) must_check;
/* -1, 0 or 1. */
int quantity_compare(struct quantity a, struct quantity b);
/* The whole number, rounded away from zero; at most INT64_MAX, at least INT64_MIN. */
int64_t quantity_value(struct quantity q);
/* In thousandths, likewise: what a CPU quantity means. */
int64_t quantity_milli_value(struct quantity q);
/* Written as the first one, or as the second if the first is zero. Of two that differ by more than
 * 36 digits, the larger. */
struct quantity quantity_plus(struct quantity a, struct quantity b);
/* Of two that are the same, the first. */
static inline struct quantity quantity_larger(struct quantity a, struct quantity b)
{
    return quantity_compare(a, b) < 0 ? b : a;
}
struct quantity quantity_minus(struct quantity a, struct quantity b);
/* A whole number of something, written with binary suffixes where it can be. */
struct quantity quantity_of_bytes(int64_t bytes);

/* The canonical form. */
const char *quantity_to_text(struct arena *a, struct quantity q);
/* Text as the API server stores it; NULL if it is not a quantity. Not always the canonical form: a
 * few texts stay as they are ("+5", "1.500", "1E3"), because the API server does not look closely.
 */
const char *quantity_canonical(struct arena *a, const char *text);
/* The same for a resource list (requests, limits, capacity, hard), where the API server rounds up
 * to thousandths: 1u becomes 1m. */
const char *quantity_canonical_resource(struct arena *a, const char *text);
/* Whether two texts are the same quantity; texts that are not quantities are equal when they are
 * the same text. Takes NULL. */
bool quantity_text_equal(const char *a, const char *b);
