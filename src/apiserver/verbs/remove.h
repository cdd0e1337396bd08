#pragma once

/* Deletion: the options of a DELETE, and its effect on the object. */

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
    bool orphan_false;         /* orphanDependents: false, which changes the status code */
    bool dry_run;
};

/* Parses and validates the options (JSON, as in a body); also sets the call's dry_run. */
bool delete_options_read(
    struct api_call *c, struct json options, struct delete_options *ret) must_check;
bool delete_check_preconditions(struct write *w, const struct delete_options *o) must_check;
/* Deletes the object of w (before and old must be set): at once or, if finalizers or a grace period
 * prevent this, by marking it. *ret_gone says which; *ret is its last or new state (NULL: a dry
 * run; then *object has it). On failure the answer is set, if w has a call. */
bool delete_object(struct write *w, const struct delete_options *o, struct json *object,
    const struct store_object **ret, bool *ret_gone) must_check;
