#pragma once

/* Mount paths for processes that see the machine's own tree: where a mount path stands in a text as
 * a whole path, or as the beginning of one, it becomes the real place. `--model=/models/a.gguf`
 * becomes `--model=/var/…/models/a.gguf`; `/models-old` and `/x/models` stay as they are. */

#include "base/arena.h"
#include "node/root.h"

/* The mount that a text begins with: the longest that fits; NULL: none does. */
const struct root_mount *paths_mount_at(
    const char *text, const struct root_mount *mounts, size_t count);
/* The longest mount path that fits is taken. The text itself if nothing is in it. */
const char *paths_translate(
    struct arena *a, const char *text, const struct root_mount *mounts, size_t count);
