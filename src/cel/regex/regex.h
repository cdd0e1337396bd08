#pragma once

/* Regular expressions in RE2's syntax, as Go's regexp package accepts them: no backreferences, no
 * lookaround, and time proportional to pattern × text for all inputs.
 *
 * A pattern becomes a program for a set of threads that walk the text together (Thompson's
 * simulation; leftmost match, earlier alternatives preferred). Characters are Unicode. Bytes that
 * are not UTF-8 count as U+FFFD, as in Go. */

#include "base/arena.h"
#include "base/str.h"

struct cel_regex;

struct cel_regex_match {
    size_t start, end; /* bytes */
};

/* State of running searches. Initialize to zero; may be reused for any number of searches. */
struct cel_regex_scratch {
    struct cel_regex_threads *now, *next;
    uint32_t size;
    uint64_t steps;
    bool exhausted; /* too many steps: ignore the result of the search */
};

/* Go's limits: repetitions of more than 1000 are refused, and so are programs that grow too
 * large. */
#define CEL_REGEX_REPEAT_MAX 1000
#define CEL_REGEX_PROGRAM_MAX 50000
#define CEL_REGEX_DEPTH_MAX 250
/* Per scratch: some seconds. */
#define CEL_REGEX_STEPS_MAX ((uint64_t)200000000)

/* Returns NULL, or what is wrong with the pattern, in Go's words: "error parsing regexp: missing
 * closing ): `(`". */
const char *cel_regex_compile(struct arena *a, struct str pattern, const struct cel_regex **ret);
/* Finds the leftmost match that begins at `from` or later. */
bool cel_regex_search(const struct cel_regex *re, struct arena *a, struct cel_regex_scratch *s,
    struct str text, size_t from, struct cel_regex_match *ret);
