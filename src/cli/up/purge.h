#pragma once

/* Removes the data of `leeboard up`: for `leeboard down --purge`. */

#include "base/arena.h"
#include "base/error.h"

/* Whether the folder is a data folder that may be removed: a directory, not a link to one, owned by
 * this user, with the marker file of `leeboard up`. */
bool purge_check(const char *folder, struct error *err) must_check;
/* Removes Leeboard's files from the folder, and the folder if nothing else is in it. Follows no
 * links. Fails if a process runs on it; none can start until this process ends. *ret_left: other
 * files in it, "a, b"; NULL: none. */
bool purge_folder(
    struct arena *a, const char *folder, const char **ret_left, struct error *err) must_check;
