#pragma once

/* The clauses of string.format(): "%s has %d of %.2f". Used by the function itself and by the
 * checker, which finds errors in literal formats before anything runs. */

#include "cel/value.h"

struct cel_clause {
    char letter;       /* s d f e b x X o */
    int precision;     /* -1: not given */
    size_t bytes;      /* length of the clause, including its % */
    const char *wrong; /* the error message for a value that it cannot format */
};

/* Reads the clause at the beginning of a text that begins with %. Returns NULL, or what is wrong
 * with it. */
const char *cel_clause_read(struct arena *a, struct str text, struct cel_clause *ret);
/* Whether it can format values of this kind. */
bool cel_clause_takes(const struct cel_clause *c, enum cel_kind kind);
