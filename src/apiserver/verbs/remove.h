#pragma once

/* Deletion: what a DELETE asks for, and what becomes of the object. */

#include "apiserver/verbs/write.h"

enum propagation {
    PROPAGATION_DEFAULT,
    PROPAGATION_BACKGROUND,
    PROPAGATION_FOREGROUND,
    PROPAGATION_ORPHAN
};

struct delete_options {
    enum propagation propagation;
    int64_t grace_s;           /* -1: not given */
    const char *uid, *version; /* preconditions; NULL: none */
    bool orphan_false;         /* orphanDependents: false, which changes the answer's code */
    bool dry_run;
};

/* Reads and checks the options (JSON, as in a body); sets the call's dry_run too. */
bool delete_options_read(
    struct api_call *c, struct json options, struct delete_options *ret) must_check;
bool delete_check_preconditions(struct write *w, const struct delete_options *o) must_check;
/* Deletes the object of w (before and old are there): at once, or, if finalizers or a grace period
 * hold it, by marking it. *ret_gone says which; *ret is its last or its new state (NULL: a dry run;
 * *object then has it). Fails with the answer given, or silently where w has no call. */
bool delete_object(struct write *w, const struct delete_options *o, struct json *object,
    const struct store_object **ret, bool *ret_gone) must_check;
