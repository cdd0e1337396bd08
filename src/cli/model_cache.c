#include "cli/model_cache.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/tree.h"

#define KEY_LENGTH 16
#define DEPTH_MAX 8 /* maximum depth of directories below a key: repositories have some */
#define FILES_MAX 100000

static void close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static bool is_key(const char *name)
{
    return strspn(name, "0123456789abcdef") == KEY_LENGTH && !name[KEY_LENGTH];
}

/* The next entry that is not a dot file; NULL: the end. */
static const char *next_name(DIR *dir)
{
    struct dirent *entry;
    do
        entry = dir ? readdir(dir) : NULL;
    while (entry && entry->d_name[0] == '.');
    return entry ? entry->d_name : NULL;
}

/* ---- listing ---- */

struct walk {
    struct arena *arena;
    struct model_file *files;
    size_t count, size;
    struct model_file place; /* its namespace, claim and key */
};

static void add_file(struct walk *w, const char *path, const char *name, int64_t bytes)
{
    if (w->count == w->size) {
        struct model_file *more = arena_array(w->arena, 2 * w->size + 16, sizeof(*more));
        if (w->count)
            memcpy(more, w->files, w->count * sizeof(*more));
        w->files = more;
        w->size = 2 * w->size + 16;
    }
    struct model_file *f = &w->files[w->count++];
    *f = w->place;
    f->path = path;
    f->name = name;
    f->bytes = bytes;
    f->partial = text_ends(name, ".tmp");
}

static void walk_files(struct walk *w, const char *directory, const char *prefix, int depth)
{
    cleanup(close_dir) DIR *dir = opendir(directory);
    struct stat st;
    const char *name;
    while (w->count < FILES_MAX && (name = next_name(dir))) {
        const char *path = arena_printf(w->arena, "%s/%s", directory, name);
        if (lstat(path, &st) != 0 || strstr(name, ".tmp."))
            continue; /* files of the downloader */
        const char *below = arena_printf(w->arena, "%s%s", prefix, name);
        if (S_ISREG(st.st_mode))
            add_file(w, path, below, st.st_size);
        else if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
            walk_files(w, path, arena_printf(w->arena, "%s/", below), depth + 1);
    }
}

static void walk_claim(struct walk *w, const char *directory)
{
    cleanup(close_dir) DIR *dir = opendir(directory);
    const char *name;
    while ((name = next_name(dir)))
        if (is_key(name)) {
            w->place.key = arena_strdup(w->arena, name);
            walk_files(w, arena_printf(w->arena, "%s/%s", directory, name), "", 0);
        }
}

static void walk_namespace(struct walk *w, const char *directory)
{
    cleanup(close_dir) DIR *dir = opendir(directory);
    const char *name;
    while ((name = next_name(dir))) {
        w->place.claim = arena_strdup(w->arena, name);
        walk_claim(w, arena_printf(w->arena, "%s/%s", directory, name));
    }
}

static int compare_files(const void *left, const void *right)
{
    const struct model_file *a = left, *b = right;
    return strcmp(a->path, b->path);
}

bool model_cache_list(struct arena *a, const char *folder, struct model_file **ret,
    size_t *ret_count, struct error *err)
{
    struct walk w = { .arena = a, .place = { .ns = "", .claim = "" } };
    const char *volumes = arena_printf(a, "%s/volumes", folder), *name;
    cleanup(close_dir) DIR *dir = opendir(volumes);
    if (!dir && errno != ENOENT)
        return fail_errno(err, errno, "%s", volumes);
    walk_claim(&w, arena_printf(a, "%s/models", folder));
    while ((name = next_name(dir))) {
        w.place.ns = arena_strdup(a, name);
        walk_namespace(&w, arena_printf(a, "%s/%s", volumes, name));
    }
    if (w.count)
        qsort(w.files, w.count, sizeof(*w.files), compare_files);
    *ret = w.files;
    *ret_count = w.count;
    return true;
}

/* Pods control the content of a claim: no link in it may lead out of it. */
bool model_cache_remove(const char *folder, const struct model_file *f, struct error *err)
{
    char root[PATH_MAX], path[PATH_MAX];
    if (*f->claim)
        snprintf(root, sizeof(root), "%s/volumes/%s/%s", folder, f->ns, f->claim);
    else
        snprintf(root, sizeof(root), "%s/models", folder);
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", root, f->key) >= sizeof(path))
        return fail(err, ERR_TOO_LARGE, "removing %.100s…: too long a path", root);
    if (access(path, F_OK) != 0)
        return fail_errno(err, errno, "removing %s", path);
    return tree_remove_below(root, f->key, err) || fail_in(err, "removing");
}
