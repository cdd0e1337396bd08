#pragma once

/* Kubernetes quantities: "100m", "1.5Gi", "2e3". What the API server makes of a quantity, it makes
 * here too: 1000m is stored as 1, 2048Mi as 2Gi, 1.5Gi as 1536Mi, 0.1 as 100m. So a desired object
 * can be compared with a stored one.
 *
 * Numbers are exact: an integer times a power of ten. What is finer than a nano (10⁻⁹) is rounded
 * away from zero, as the API server does it. A number with more than 38 digits of precision is
 * refused, which the API server does not do; no machine has one. */

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"
#include "base/str.h"

enum quantity_format {
    QUANTITY_DECIMAL,  /* n u m k M G T P E */
    QUANTITY_BINARY,   /* Ki Mi Gi Ti Pi Ei */
    QUANTITY_EXPONENT, /* e3 */
};

struct quantity {
    __int128 value; /* without trailing decimal zeros, which are in the exponent */
    int32_t exponent;
    enum quantity_format format; /* how it was written; does not matter for comparing */
};

/* No blanks around it. */
bool quantity_parse(struct str text, struct quantity *ret, struct error *err) must_check;
/* -1, 0 or 1. */
int quantity_compare(struct quantity a, struct quantity b);
/* The whole number, rounded away from zero; at most INT64_MAX, at least INT64_MIN. */
int64_t quantity_value(struct quantity q);
/* In thousandths, likewise: what a CPU quantity means. */
int64_t quantity_milli_value(struct quantity q);
/* A whole number of something, written with binary suffixes where it can be. */
struct quantity quantity_of_bytes(int64_t bytes);

/* As the API server writes it. */
const char *quantity_to_text(struct arena *a, struct quantity q);
/* The two in one: NULL if text is not a quantity. */
const char *quantity_canonical(struct arena *a, const char *text);
/* Whether two texts are the same quantity; texts that are not quantities are equal when they are
 * the same text. Takes NULL. */
bool quantity_text_equal(const char *a, const char *b);
