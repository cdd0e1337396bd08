#pragma once

/* Removes what `leeboard up` keeps: for `leeboard down --purge`. */

#include "base/arena.h"
#include "base/error.h"

/* Whether the folder is one of ours to remove from: a directory and no link to one, of this user,
 * with the mark of `leeboard up` in it. */
bool purge_check(const char *folder, struct error *err) must_check;
/* Removes what leeboard made in the folder, and the folder if nothing else is in it. Follows no
 * link. Fails if something runs on it; from here on nothing can, until this process ends.
 * *ret_left: what somebody else put there, "a, b"; NULL: nothing. */
bool purge_folder(
    struct arena *a, const char *folder, const char **ret_left, struct error *err) must_check;
