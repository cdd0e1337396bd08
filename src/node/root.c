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

struct builder {
    const char *root;
    const struct root_mount *mounts;
    size_t done; /* mounts that are in place */
};

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

/* One entry of the machine's directory `path`, into its mirror. */
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
        return true; /* gone meanwhile */
    unsigned char type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISLNK(st.st_mode) ? DT_LNK : DT_REG;
    return mirror_entry(from, to, type, err);
}

/* path is the machine's; its mirror comes to lie over the same path below the new root. readdir()
 * would allocate. */
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

/* Whether path belongs to the pod already, so that making something in it harms nobody. */
static bool is_ours(const struct builder *b, const char *path)
{
    char below[PATH_MAX];
    struct stat ours, theirs;
    for (size_t i = 0; i < b->done; i++)
        if (is_below(path, b->mounts[i].to))
            return true;
    snprintf(below, sizeof(below), "%s%s", b->root, path);
    return stat(path, &theirs) || stat(below, &ours) || ours.st_dev != theirs.st_dev;
}

/* Makes one step of the way to a mount point, unless it is there. `at` is its length. */
static bool make_step(
    struct builder *b, const char *path, size_t at, bool is_file, struct error *err)
{
    char whole[PATH_MAX], step[PATH_MAX];
    struct stat st;
    snprintf(step, sizeof(step), "%.*s", (int)at, path);
    snprintf(whole, sizeof(whole), "%s%s", b->root, step);
    if (stat(whole, &st) == 0)
        return true;
    *strrchr(step, '/') = 0;
    const char *parent = *step ? step : "/";
    if (*step && !is_ours(b, parent) && !mirror(b, parent, err))
        return false;
    if (is_file ? make_file(whole) : mkdir(whole, 0755) == 0)
        return true;
    return fail_errno(err, errno, "make the mount point %s", path);
}

/* Follows the machine's symbolic links, so that none of them leads out of the new root. */
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

static bool mount_one(struct builder *b, const struct root_mount *m, struct error *err)
{
    char path[PATH_MAX], target[PATH_MAX];
    struct stat st;
    if (stat(m->from, &st))
        return fail_errno(err, errno, "volume for %s", m->to);
    if (!real_path(m->to, path, err))
        return false;
    size_t length = strlen(path);
    for (size_t i = 1; i <= length; i++)
        if ((path[i] == '/' || !path[i]) &&
            !make_step(b, path, i, i == length && !S_ISDIR(st.st_mode), err))
            return false;
    if ((size_t)snprintf(target, sizeof(target), "%s%s", b->root, path) >= sizeof(target))
        return fail(err, ERR_TOO_LARGE, "mount path %.100s…: too long", path);
    if (!bind_at(m->from, target, err))
        return false;
    if (m->read_only && mount(NULL, target, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL))
        return fail_errno(err, errno, "make %s read-only", m->to);
    return true;
}

bool root_enter(const char *root, const struct root_mount *mounts, size_t count, struct error *err)
{
    struct builder b = { .root = root, .mounts = mounts };
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return fail_errno(err, errno, "a mount namespace");
    if (!mirror(&b, "/", err))
        return false;
    for (; b.done < count; b.done++)
        if (!mount_one(&b, &mounts[b.done], err))
            return false;
    if (chdir(root) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
        return fail_errno(err, errno, "enter %s", root);
    return true;
}

/* Its root is not the root of its name space if we ourselves live in a chroot. */
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
