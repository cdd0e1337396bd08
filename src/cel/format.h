#pragma once

/* The clauses of string.format(): "%s has %d of %.2f". Read here for both who use them: the
 * function, and the checker, which finds faults in literal formats before anything runs. */

#include "cel/value.h"

struct cel_clause {
    char letter;       /* s d f e b x X o */
    int precision;     /* -1: not given */
    size_t bytes;      /* of the clause, with its % */
    const char *wrong; /* what it says to a value that it cannot take */
};

/* The clause at the beginning of a text that begins with %. NULL, or what is wrong with it. */
const char *cel_clause_read(struct arena *a, struct str text, struct cel_clause *ret);
/* Whether it takes values of a kind. */
bool cel_clause_takes(const struct cel_clause *c, enum cel_kind kind);
