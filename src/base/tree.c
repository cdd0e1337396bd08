#include "base/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#define DEPTH_MAX 65536    /* when removing a tree: one descriptor, 16 bytes per level */
#define GROUP_DEPTH_MAX 64 /* when giving a tree to a group: one descriptor per level */
#define LINKS_MAX 8

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static void close_dir(DIR **dir)
{
    if (*dir)
        closedir(*dir);
}

static bool is_dots(const char *name)
{
    return text_eq(name, ".") || text_eq(name, "..");
}

/* A descriptor with O_PATH has no fchmod(). */
static bool change_mode(int fd, mode_t mode)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return chmod(path, mode) == 0;
}

/* ---- removing ---- */

/* The current position, and the directories above it. Only one descriptor is open at a time: the
 * way back is "..", which must lead to the directory that we came from. */
struct removal {
    int fd;
    struct place {
        dev_t dev;
        ino_t ino;
    } * above;
    size_t depth, size;
    struct place at;
};

/* Makes an unreadable directory readable, which its owner may do. */
static int open_directory(int parent, const char *name)
{
    int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    int fd = openat(parent, name, flags);
    if (fd >= 0 || errno != EACCES)
        return fd;
    cleanup(close_fd) int closed =
        openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (closed < 0 || !change_mode(closed, 0700)) {
        errno = EACCES;
        return -1;
    }
    return openat(parent, name, flags);
}

static bool enter(struct removal *r, int fd, const char *name, struct error *err)
{
    struct stat st;
    if (fd < 0)
        return fail_errno(err, errno, "%s", name);
    close_fd(&r->fd);
    r->fd = fd;
    if (fstat(fd, &st) != 0)
        return fail_errno(err, errno, "%s", name);
    r->at = (struct place){ st.st_dev, st.st_ino };
    return true;
}

static bool descend(struct removal *r, const char *name, struct error *err)
{
    if (r->depth == DEPTH_MAX)
        return fail(err, ERR_TOO_LARGE, "%s: more than %d directories deep", name, DEPTH_MAX);
    if (r->depth == r->size) {
        r->size = 2 * r->size + 16;
        r->above = mem_resize(r->above, r->size, sizeof(*r->above));
    }
    struct place from = r->at;
    if (!enter(r, open_directory(r->fd, name), name, err))
        return false;
    r->above[r->depth++] = from;
    return r->at.dev == from.dev ||
           fail(err, ERR_INVALID, "%s: another file system is mounted there", name);
}

static bool ascend(struct removal *r, struct error *err)
{
    struct place wanted = r->above[--r->depth];
    int up = openat(r->fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (!enter(r, up, "..", err))
        return false;
    return (r->at.dev == wanted.dev && r->at.ino == wanted.ino) ||
           fail(err, ERR_CONFLICT, "a directory was moved while it was removed");
}

/* False with errno ENOTEMPTY for a directory that has to be emptied first. */
static bool unlink_entry(int directory, const char *name)
{
    if (unlinkat(directory, name, 0) == 0 || errno == ENOENT)
        return true;
    if (errno != EISDIR && errno != EPERM)
        return false;
    return unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

/* Empties the current directory up to its first directory that is not empty, and enters that one.
 * *ret_empty: there was none. */
static bool empty_current(struct removal *r, bool *ret_empty, struct error *err)
{
    *ret_empty = false;
    int copy = fcntl(r->fd, F_DUPFD_CLOEXEC, 3);
    cleanup(close_dir) DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (!entries)
        return fail_errno(err, errno, "read a directory");
    for (struct dirent *e; (e = readdir(entries));) {
        if (is_dots(e->d_name) || unlink_entry(r->fd, e->d_name))
            continue;
        return errno == ENOTEMPTY || errno == EEXIST ? descend(r, e->d_name, err)
                                                     : fail_errno(err, errno, "%s", e->d_name);
    }
    *ret_empty = true;
    return true;
}

static bool remove_at(int parent, const char *name, struct error *err)
{
    if (unlink_entry(parent, name))
        return true;
    if (errno != ENOTEMPTY && errno != EEXIST)
        return fail_errno(err, errno, "%s", name);
    struct removal r = { .fd = -1 };
    bool empty = false;
    bool ok = enter(&r, open_directory(parent, name), name, err);
    while (ok && !(empty && !r.depth)) {
        ok = empty_current(&r, &empty, err);
        if (ok && empty && r.depth)
            ok = ascend(&r, err) && !(empty = false);
    }
    close_fd(&r.fd);
    free(r.above);
    return ok && (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ||
                     fail_errno(err, errno, "%s", name));
}

bool tree_remove(const char *path, struct error *err)
{
    char above[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (!slash || !slash[1] || is_dots(slash + 1) || strlen(path) >= sizeof(above))
        return fail(err, ERR_INVALID, "%s: cannot be removed by this path", path);
    snprintf(above, sizeof(above), "%.*s", slash == path ? 1 : (int)(slash - path), path);
    cleanup(close_fd) int parent = open(above, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return errno == ENOENT || fail_errno(err, errno, "%s", above);
    if (remove_at(parent, slash + 1, err))
        return true;
    return fail_in(err, "%s", path);
}

/* ---- opening ---- */

/* Takes the first part of a path; *rest is what remains. "" at the end of the path. */
static const char *next_part(char **rest)
{
    char *part = *rest + strspn(*rest, "/");
    char *end = part + strcspn(part, "/");
    *rest = *end ? end + 1 : end;
    *end = '\0';
    return part;
}

/* Creates a directory with the mode and owner of `root`. */
static int make_part(int at, const char *name, int root, struct error *err)
{
    struct stat st;
    if (fstat(root, &st) != 0 || (mkdirat(at, name, 0700) != 0 && errno != EEXIST)) {
        fail_errno(err, errno, "make %s", name);
        return -1;
    }
    int made = openat(at, name, O_PATH | O_NOFOLLOW | O_DIRECTORY | O_CLOEXEC);
    if (made < 0 || (geteuid() == 0 && fchownat(made, "", st.st_uid, st.st_gid, AT_EMPTY_PATH)) ||
        !change_mode(made, st.st_mode & 07777)) {
        fail_errno(err, errno, "make %s", name);
        close_fd(&made);
        return -1;
    }
    return made;
}

/* Puts the target of a link before the rest of the path. */
static bool follow(int link, char rest[static PATH_MAX], char **at, const char *name, int *links,
    struct error *err)
{
    char target[PATH_MAX], whole[PATH_MAX];
    ssize_t length = readlinkat(link, "", target, sizeof(target) - 1);
    if (length < 0)
        return fail_errno(err, errno, "read %s", name);
    target[length] = '\0';
    if (target[0] == '/')
        return fail(err, ERR_FORBIDDEN, "%s is a symbolic link that leads out of it", name);
    if (++*links > LINKS_MAX)
        return fail(err, ERR_INVALID, "%s: more than %d symbolic links", name, LINKS_MAX);
    if ((size_t)snprintf(whole, sizeof(whole), "%s/%s", target, *at) >= sizeof(whole))
        return fail(err, ERR_TOO_LARGE, "%s: too long a path", name);
    memcpy(rest, whole, sizeof(whole));
    *at = rest;
    return true;
}

static int open_part(int at, const char *name, int root, bool make, struct error *err)
{
    if (text_eq(name, "..")) {
        fail(err, ERR_FORBIDDEN, "\"..\" may lead out of it");
        return -1;
    }
    int next = openat(at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 && errno == ENOENT && make)
        return make_part(at, name, root, err);
    if (next < 0)
        fail_errno(err, errno, "%s", name);
    return next;
}

/* openat2() can do the same since Linux 5.6, but does not create directories and is refused by
 * older sandboxes: this walk would be needed anyway. */
int tree_open_below(int root, const char *below, bool make, struct error *err)
{
    char rest[PATH_MAX], *left = rest;
    struct stat st;
    int links = 0;
    if (strlen(below) >= sizeof(rest)) {
        fail(err, ERR_TOO_LARGE, "%.100s…: too long a path", below);
        return -1;
    }
    snprintf(rest, sizeof(rest), "%s", below);
    int at = fcntl(root, F_DUPFD_CLOEXEC, 3);
    for (const char *name; at >= 0 && *(name = next_part(&left));) {
        if (text_eq(name, "."))
            continue;
        int next = open_part(at, name, root, make, err);
        bool is_link = next >= 0 && fstat(next, &st) == 0 && S_ISLNK(st.st_mode);
        bool ok = next >= 0 && (!is_link || follow(next, rest, &left, name, &links, err));
        if (!ok || is_link)
            close_fd(&next);
        if (ok && is_link)
            continue;
        close(at);
        at = ok ? next : -1;
    }
    return at;
}

bool tree_remove_below(const char *root, const char *below, struct error *err)
{
    char above[PATH_MAX] = "";
    const char *slash = strrchr(below, '/'), *name = slash ? slash + 1 : below;
    if (!*name || is_dots(name) || strlen(below) >= sizeof(above))
        return fail(err, ERR_INVALID, "%s: cannot be removed by this path", below);
    snprintf(above, sizeof(above), "%.*s", slash ? (int)(slash - below) : 0, below);
    struct error why = { 0 };
    cleanup(close_fd) int from = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (from < 0)
        return errno == ENOENT || fail_errno(err, errno, "%s", root);
    cleanup(close_fd) int parent = tree_open_below(from, above, false, &why);
    if (parent >= 0 ? remove_at(parent, name, &why) : why.code == ERR_NOT_FOUND)
        return true;
    return fail(err, why.code, "%s/%s: %s", root, below, why.text);
}

/* ---- groups ---- */

/* Gives one entry to the group, unless it belongs to it already. Links have no mode. */
static bool give_one(int fd, const struct stat *st, uint32_t group, bool *ret_ok)
{
    bool directory = S_ISDIR(st->st_mode), link = S_ISLNK(st->st_mode);
    mode_t mode = (st->st_mode & 07777) | 0660 | (directory ? S_ISGID | 0110 : 0);
    *ret_ok = true;
    if (st->st_gid == group && (link || mode == (st->st_mode & 07777)))
        return true;
    *ret_ok = fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH) == 0 &&
              (link || change_mode(fd, mode)); /* in this order: a new owner clears bits */
    return false;
}

static bool give_all(int directory, uint32_t group, int depth, struct error *err)
{
    int copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    cleanup(close_dir) DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (!entries || depth == GROUP_DEPTH_MAX)
        return entries ? fail(err, ERR_TOO_LARGE, "more than %d directories deep", depth)
                       : fail_errno(err, errno, "read a directory");
    for (struct dirent *e; (e = readdir(entries));) {
        struct stat st;
        bool ok;
        if (is_dots(e->d_name))
            continue;
        cleanup(close_fd) int fd = openat(copy, e->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) != 0)
            continue; /* it is gone */
        give_one(fd, &st, group, &ok);
        if (!ok)
            return fail_errno(err, errno, "give %s to group %u", e->d_name, group);
        if (S_ISDIR(st.st_mode) && !give_all(fd, group, depth + 1, err))
            return false;
    }
    return true;
}

bool tree_give_group(const char *path, uint32_t group, struct error *err)
{
    struct stat st;
    bool ok;
    cleanup(close_fd) int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) != 0)
        return fail_errno(err, errno, "%s", path);
    mode_t wanted = S_ISGID | 0770;
    if (st.st_gid == group && (st.st_mode & wanted) == wanted)
        return true;
    /* The root last: its group marks that everything is done. */
    if (!give_all(fd, group, 0, err))
        return fail_in(err, "%s", path);
    give_one(fd, &st, group, &ok);
    return ok || fail_errno(err, errno, "give %s to group %u", path, group);
}

/* ---- names ---- */

const char *tree_path_clean(struct arena *a, const char *path)
{
    char *out = arena_alloc(a, strlen(path) + 2);
    size_t length = 0;
    for (const char *at = path; *at;) {
        at += strspn(at, "/");
        size_t count = strcspn(at, "/");
        bool up = count == 2 && strncmp(at, "..", 2) == 0;
        if (up)
            while (length && out[--length] != '/')
                ;
        if (count && !up && !(count == 1 && *at == '.')) {
            out[length++] = '/';
            memcpy(out + length, at, count);
            length += count;
        }
        at += count;
    }
    if (!length)
        out[length++] = '/';
    out[length] = '\0';
    return out;
}
