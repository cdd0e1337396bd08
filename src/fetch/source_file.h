#pragma once

/* A local file as the source of a Model. File systems may be slow or hang (NFS), so all of this
 * runs on a thread. Messages start with the path. */

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"

struct source_file {
    struct arena *arena;
    const char *path;
    const char **roots; /* NULL-terminated: directories that may contain it */
    /* set by source_file_open() */
    int64_t size;
    /* set by source_file_read_head() */
    struct json gguf; /* in the form of status.gguf, or absent */
};

/* Copies both into the arena. */
struct source_file source_file_of(struct arena *a, const char *path, struct json roots);
/* The resolved path must be below one of the roots: a link may not lead out of them. */
bool source_file_check_roots(const struct source_file *f, struct error *err) must_check;
/* -1: it is missing, unreadable, not a file, or outside the roots after resolving links. */
int source_file_open(struct source_file *f, struct error *err);
/* False if it is shorter than its own header says, so that it is still being written, or if it is
 * not a model. */
bool source_file_read_head(struct source_file *f, int fd, struct error *err) must_check;
