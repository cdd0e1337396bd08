#include "node/root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "base/tree.h"

struct builder {
    const char *root;
    int root_fd; /* the new root, once it is mounted */
    const struct root_mount *mounts;
    size_t done; /* mounts that are in place */
};

/* For system calls that need a path where we have a descriptor. */
#define FD_PATH_BYTES 32
static const char *fd_path(int fd, char ret[static FD_PATH_BYTES])
{
    snprintf(ret, FD_PATH_BYTES, "/proc/self/fd/%d", fd);
    return ret;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

bool root_possible(void)
{
    pid_t child = _Fork();
    if (child == 0)
        _exit(geteuid() == 0 && unshare(CLONE_NEWNS) == 0 &&
                      mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
                  ? 0
                  : 1);
    int status = 1;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static bool bind_at(const char *from, const char *to, struct error *err)
{
    return mount(from, to, NULL, MS_BIND | MS_REC, NULL) == 0 ||
           fail_errno(err, errno, "bind %s to %s", from, to);
}

static bool make_file(const char *path)
{
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
    return fd >= 0 && close(fd) == 0;
}

static bool mirror_entry(const char *from, const char *to, unsigned char type, struct error *err)
{
    char link[PATH_MAX];
    if (type == DT_LNK) {
        ssize_t length = readlink(from, link, sizeof(link) - 1);
        if (length < 0)
            return fail_errno(err, errno, "read %s", from);
        link[length] = 0;
        return symlink(link, to) == 0 || fail_errno(err, errno, "link %s", to);
    }
    if (type == DT_DIR ? mkdir(to, 0755) != 0 : !make_file(to))
        return fail_errno(err, errno, "make %s", to);
    return bind_at(from, to, err);
}

/* Mirrors one entry of the machine's directory `path`. */
static bool mirror_name(
    const struct builder *b, const char *path, const char *name, struct error *err)
{
    char from[PATH_MAX], to[PATH_MAX];
    struct stat st;
    if (text_eq(name, ".") || text_eq(name, ".."))
        return true;
    if ((size_t)snprintf(from, sizeof(from), "%s%s%s", path, path[1] ? "/" : "", name) >=
            sizeof(from) ||
        (size_t)snprintf(to, sizeof(to), "%s%s", b->root, from) >= sizeof(to))
        return fail(err, ERR_TOO_LARGE, "%.100s…/%s: too long a path", path, name);
    if (lstat(from, &st))
        return true; /* removed in the meantime */
    unsigned char type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISLNK(st.st_mode) ? DT_LNK : DT_REG;
    return mirror_entry(from, to, type, err);
}

/* `path` is on the machine; its mirror is mounted at the same path below the new root. Does not use
 * readdir(), which would allocate. */
static bool mirror(struct builder *b, const char *path, struct error *err)
{
    char to[PATH_MAX], entries[8192] __attribute__((aligned(8)));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "open %s", path);
    snprintf(to, sizeof(to), "%s%s", b->root, path);
    bool ok = mount("tmpfs", to, "tmpfs", 0, "mode=755") == 0 ||
              fail_errno(err, errno, "mount a tmpfs on %s", to);
    for (ssize_t count; ok && (count = getdents64(fd, entries, sizeof(entries))) > 0;)
        for (ssize_t i = 0; ok && i < count;) {
            const struct dirent64 *e = (const void *)(entries + i);
            ok = mirror_name(b, path, e->d_name, err);
            i += e->d_reclen;
        }
    close(fd);
    return ok;
}

static bool is_below(const char *path, const char *above)
{
    size_t length = strlen(above);
    return strncmp(path, above, length) == 0 && (path[length] == '/' || !path[length]);
}

/* Whether path already belongs to the pod, so that we may create entries in it. */
static bool is_ours(const struct builder *b, const char *path, const struct stat *ours)
{
    struct stat theirs;
    for (size_t i = 0; i < b->done; i++)
        if (is_below(path, b->mounts[i].to))
            return true;
    return stat(path, &theirs) || ours->st_dev != theirs.st_dev;
}

static int open_inside(const struct builder *b, const char *path, struct error *err)
{
    return tree_open_below(b->root_fd, path, false, err);
}

/* Creates one directory of the path to a mount point, if missing. `at` is its length. A volume may
 * contain links that its pod made: none of them may lead out of the new root. */
static bool make_step(
    struct builder *b, const char *path, size_t at, bool is_file, struct error *err)
{
    char step[PATH_MAX];
    struct stat st;
    struct error why = { 0 };
    snprintf(step, sizeof(step), "%.*s", (int)at, path);
    cleanup(close_fd) int there = open_inside(b, step, &why);
    if (there >= 0)
        return true;
    if (why.code != ERR_NOT_FOUND)
        return fail(err, why.code, "mount path %s: %s", path, why.text);
    char *name = strrchr(step, '/');
    *name++ = 0;
    const char *parent = *step ? step : "/";
    cleanup(close_fd) int above = open_inside(b, parent, err);
    if (above < 0 || fstat(above, &st))
        return fail_errno(err, errno, "mount path %s", path);
    if (*step && !is_ours(b, parent, &st)) {
        close(above);
        above = mirror(b, parent, err) ? open_inside(b, parent, err) : -1;
        if (above < 0)
            return false;
    }
    int flags = O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC;
    cleanup(close_fd) int file = is_file ? openat(above, name, flags, 0644) : -1;
    return (is_file ? file >= 0 : mkdirat(above, name, 0755) == 0) ||
           fail_errno(err, errno, "make the mount point %s", path);
}

/* Resolves the machine's symbolic links, so that none of them leads out of the new root. */
static bool real_path(const char *path, char ret[static PATH_MAX], struct error *err)
{
    char prefix[PATH_MAX], real[PATH_MAX];
    if (strlen(path) >= sizeof(prefix))
        return fail(err, ERR_TOO_LARGE, "mount path %.100s…: too long", path);
    snprintf(prefix, sizeof(prefix), "%s", path);
    while (!realpath(prefix, real)) {
        char *slash = strrchr(prefix, '/');
        assert(slash);
        *slash = 0;
        if (!*prefix)
            snprintf(prefix, sizeof(prefix), "/");
    }
    const char *rest = path + (prefix[1] ? strlen(prefix) : 0);
    snprintf(ret, PATH_MAX, "%s%s", real[1] ? real : "", rest);
    return true;
}

/* Opens the source in the new namespace, because a mount of another namespace cannot be bound. */
static int open_source(const struct root_mount *m, struct stat *ret, struct error *err)
{
    int fd = open(m->from, O_PATH | O_CLOEXEC);
    if (fd < 0)
        fail_errno(err, errno, "volume for %s", m->to);
    if (fd >= 0 && m->below) {
        int part = tree_open_below(fd, m->below, false, err);
        if (part < 0)
            fail_in(err, "subPath %s for %s", m->below, m->to);
        close(fd);
        fd = part;
    }
    if (fd >= 0 && fstat(fd, ret)) {
        fail_errno(err, errno, "volume for %s", m->to);
        close(fd);
        return -1;
    }
    return fd;
}

static bool make_read_only(const struct builder *b, const char *path, struct error *err)
{
    char mounted[FD_PATH_BYTES];
    cleanup(close_fd) int fd = open_inside(b, path, err);
    return fd >= 0 &&
           (mount(NULL, fd_path(fd, mounted), NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) == 0 ||
               fail_errno(err, errno, "make %s read-only", path));
}

static bool mount_one(struct builder *b, const struct root_mount *m, struct error *err)
{
    char path[PATH_MAX], from[FD_PATH_BYTES], to[FD_PATH_BYTES];
    struct stat st;
    cleanup(close_fd) int source = open_source(m, &st, err);
    if (source < 0 || !real_path(m->to, path, err))
        return false;
    size_t length = strlen(path);
    for (size_t i = 1; i <= length; i++)
        if ((path[i] == '/' || !path[i]) &&
            !make_step(b, path, i, i == length && !S_ISDIR(st.st_mode), err))
            return false;
    cleanup(close_fd) int target = open_inside(b, path, err);
    if (target < 0)
        return false;
    if (mount(fd_path(source, from), fd_path(target, to), NULL, MS_BIND | MS_REC, NULL))
        return fail_errno(err, errno, "bind %s to %s", m->from, m->to);
    return !m->read_only || make_read_only(b, path, err);
}

/* Where the first `depth` components of a path end; 0: it has fewer. */
static size_t step_end(const char *path, size_t depth)
{
    size_t at = 0;
    for (; depth && path[at]; depth--)
        at += 1 + strcspn(path + at + 1, "/");
    return depth ? 0 : at;
}

static bool is_nested(const struct root_mount *mounts, size_t count, size_t i)
{
    for (size_t k = 0; k < count; k++)
        if (k != i && is_below(mounts[i].to, mounts[k].to))
            return true;
    return false;
}

/* Creates the components of that depth; *ret_more: some paths are longer. */
static bool make_steps(
    struct builder *b, size_t count, size_t depth, bool *ret_more, struct error *err)
{
    char path[PATH_MAX];
    struct stat st;
    *ret_more = false;
    for (size_t i = 0; i < count; i++) {
        const struct root_mount *m = &b->mounts[i];
        if (is_nested(b->mounts, count, i) || !real_path(m->to, path, NULL))
            continue;
        size_t end = step_end(path, depth);
        if (!end)
            continue;
        cleanup(close_fd) int source = path[end] ? -1 : open_source(m, &st, err);
        if (!path[end] && source < 0)
            return false;
        if (!make_step(b, path, end, !path[end] && !S_ISDIR(st.st_mode), err))
            return false;
        *ret_more = *ret_more || path[end];
    }
    return true;
}

/* Before anything is mounted, and top down: mirroring a directory hides what was mounted or
 * mirrored below it. Mount points inside other mounts are created once those are mounted. */
static bool make_mount_points(struct builder *b, size_t count, struct error *err)
{
    bool more = true;
    for (size_t depth = 1; more; depth++)
        if (!make_steps(b, count, depth, &more, err))
            return false;
    return true;
}

bool root_enter(const char *root, const struct root_mount *mounts, size_t count, struct error *err)
{
    struct builder b = { .root = root, .mounts = mounts };
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return fail_errno(err, errno, "a mount namespace");
    if (!mirror(&b, "/", err))
        return false;
    b.root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (b.root_fd < 0)
        return fail_errno(err, errno, "%s", root);
    if (!make_mount_points(&b, count, err))
        return false;
    for (; b.done < count; b.done++)
        if (!mount_one(&b, &mounts[b.done], err))
            return false;
    if (chdir(root) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
        return fail_errno(err, errno, "enter %s", root);
    return true;
}

/* The target's root differs from its namespace's root if we run in a chroot. */
bool root_join(int pid, struct error *err)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/root", pid);
    int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    bool ok = root >= 0 && space >= 0 && setns(space, CLONE_NEWNS) == 0 && fchdir(root) == 0 &&
              chroot(".") == 0;
    if (!ok)
        fail_errno(err, errno, "enter the file system of process %d", pid);
    if (root >= 0)
        close(root);
    if (space >= 0)
        close(space);
    return ok;
}
