#pragma once

/* Translates mount paths for processes that see the machine's own file system. A mount path that
 * occurs in a text, as a whole path or as the beginning of one, becomes the real path.
 * `--model=/models/a.gguf` becomes `--model=/var/…/models/a.gguf`; `/models-old` and `/x/models`
 * are left unchanged. */

#include "base/arena.h"
#include "node/root.h"

/* The longest mount path that the text begins with; NULL: none. */
const struct root_mount *paths_mount_at(
    const char *text, const struct root_mount *mounts, size_t count);
/* The longest matching mount path wins. Returns `text` itself if nothing matches. */
const char *paths_translate(
    struct arena *a, const char *text, const struct root_mount *mounts, size_t count);
