#pragma once

/* A local file that a Model names as its source. File systems may be slow or hang (NFS), so all of
 * it is for a thread. Messages begin with the path. */

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

struct source_file {
    struct arena *arena;
    const char *path;
    const char **roots; /* NULL-terminated: directories that it may be in */
    /* filled by source_file_open() */
    int64_t size;
    /* filled by source_file_read_head() */
    struct json gguf; /* as status.gguf has it, or absent */
};

/* With copies of both in the arena. */
struct source_file source_file_of(struct arena *a, const char *path, struct json roots);
/* What the path really is must lie below one of the roots: a link may not lead out of them. */
bool source_file_check_roots(const struct source_file *f, struct error *err) must_check;
/* -1: it is not there, may not be read, is no file, or is outside the roots once its links are
 * followed. */
int source_file_open(struct source_file *f, struct error *err);
/* False if it lacks bytes by its own header, so that it is still being written, or is no model. */
bool source_file_read_head(struct source_file *f, int fd, struct error *err) must_check;
