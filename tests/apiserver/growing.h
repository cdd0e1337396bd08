#pragma once

/* Requests that grow, and what they cost: for tests that no input costs more than its size allows.
 */

#include "tests/apiserver/desk.h"

enum growing_form { OBJECT, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH, YAML, PROTOBUF };
extern const char *const growing_media[];

struct growing {
    const char *name;
    const char *method, *target;
    enum growing_form form;
    /* head, then n times item with its number for each %zu, separated by commas, then tail */
    const char *head, *item, *tail;
    size_t n;
    const char *before_target, *before_head, *before_item, *before_tail; /* created first */
    const char *setup_target, *setup_body;                               /* and before that */
    bool in_target; /* head, items and tail are what the target ends with; there is no body */
    const char *crowd_target, *crowd; /* n objects of this body, with a number for %zu, are there */
};

struct growing_cost {
    double ms;      /* of the processor */
    uint64_t steps; /* of the budget */
    int status;
};

/* With back, entries go from the last to the first. */
struct str growing_text(const char *head, const char *item, const char *tail, size_t n, bool back);
/* Sends it once to a new server, from the last entry to the first, so that their order is not that
 * of what is stored. */
struct growing_cost growing_send(const struct growing *g, size_t n);
double growing_cpu_ms(void);

/* Whether twice the entries cost at most RATIO_MAX times as much. Measures again when they seem to
 * cost more: other processes use the machine, too. Prints what is wrong, or everything with
 * verbose. */
#define GROWING_RATIO_MAX 2.6
bool growing_is_fair(const struct growing *g, size_t n, bool verbose);
