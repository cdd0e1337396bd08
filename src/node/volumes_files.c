#include "node/volumes_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/tree.h"

/* Identifies a state: a hash of names, modes, owners and bytes. */
static const char *state_name(struct arena *a, const struct volume_file *files, size_t count)
{
    struct sha256 h;
    sha256_init(&h);
    for (size_t i = 0; i < count; i++) {
        const char *head = arena_printf(a,
            "%s %o %d:%d %zu ",
            files[i].path,
            files[i].mode,
            (int)files[i].user,
            (int)files[i].group,
            files[i].data.len);
        sha256_add(&h, head, strlen(head) + 1);
        sha256_add(&h, files[i].data.ptr, files[i].data.len);
    }
    return arena_printf(a, "..%.32s", sha256_end_hex(&h, a));
}

static bool make_parents(char *path, size_t from, struct error *err)
{
    for (char *slash = path + from; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        bool ok = mkdir(path, 0755) == 0 || errno == EEXIST;
        if (!ok)
            return fail_errno(err, errno, "make %s", path);
        *slash = '/';
    }
    return true;
}

static bool write_one(
    struct arena *a, const char *directory, const struct volume_file *file, struct error *err)
{
    char *path = arena_printf(a, "%s/%s", directory, file->path);
    if (!make_parents(path, strlen(directory) + 1, err))
        return false;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool ok = fd >= 0;
    for (size_t done = 0; ok && done < file->data.len;) {
        ssize_t count = write(fd, file->data.ptr + done, file->data.len - done);
        ok = count > 0;
        done += ok ? (size_t)count : 0;
    }
    /* In this order, because a change of owner clears mode bits. */
    ok = ok && fchown(fd, file->user, file->group) == 0 && fchmod(fd, file->mode) == 0;
    int number = errno;
    if (fd >= 0)
        close(fd);
    return ok || fail_errno(err, number, "write %s", path);
}

static bool point_link(struct arena *a, const char *to, const char *path, struct error *err)
{
    const char *fresh = arena_printf(a, "%s_tmp", path);
    unlink(fresh);
    return (symlink(to, fresh) == 0 && rename(fresh, path) == 0) ||
           fail_errno(err, errno, "link %s", path);
}

static bool has_name(const struct volume_file *files, size_t count, const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < count; i++)
        if (strncmp(files[i].path, name, length) == 0 &&
            (files[i].path[length] == '/' || !files[i].path[length]))
            return true;
    return false;
}

/* Removes names and states that are no longer used. */
static void remove_old(struct arena *a, const char *directory, const char *state,
    const struct volume_file *files, size_t count)
{
    DIR *entries = opendir(directory);
    for (struct dirent *e; entries && (e = readdir(entries));) {
        const char *path = arena_printf(a, "%s/%s", directory, e->d_name);
        if (text_eq(e->d_name, ".") || text_eq(e->d_name, "..") || text_eq(e->d_name, "..data") ||
            text_eq(e->d_name, state))
            continue;
        if (text_starts(e->d_name, ".."))
            tree_remove(path, NULL);
        else if (!has_name(files, count, e->d_name))
            unlink(path);
    }
    if (entries)
        closedir(entries);
}

bool volumes_files_write(
    const char *directory, const struct volume_file *files, size_t count, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    char now[PATH_MAX];
    const char *state = state_name(&a, files, count);
    const char *data = arena_printf(&a, "%s/..data", directory);
    ssize_t length = readlink(data, now, sizeof(now) - 1);
    if (length > 0 && str_eq((struct str){ now, (size_t)length }, str_of(state)))
        return true;
    const char *place = arena_printf(&a, "%s/%s", directory, state);
    tree_remove(place, NULL); /* an interrupted attempt may have left half of it */
    if (mkdir(place, 0755))
        return fail_errno(err, errno, "make %s", place);
    for (size_t i = 0; i < count; i++)
        if (!write_one(&a, place, &files[i], err))
            return false;
    if (!point_link(&a, state, data, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const char *first = arena_strndup(&a, files[i].path, strcspn(files[i].path, "/"));
        const char *target = arena_printf(&a, "..data/%s", first);
        if (!point_link(&a, target, arena_printf(&a, "%s/%s", directory, first), err))
            return false;
    }
    remove_old(&a, directory, state, files, count);
    return true;
}
