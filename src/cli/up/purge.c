#include "cli/up/purge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/tree.h"
#include "cli/up/folder.h"
#include "cli/up/tasks.h"

#define MARK "up.pid"

/* The marker file is last, so that an interrupted purge can be repeated. */
static const char *const names[] = {
    "node",
    "volumes",
    "models",
    "server",
    "kubeconfig",
    "endpoint",
    "endpoint.tmp",
    UP_CHAT_HISTORY,
    "up.log",
    "up.log.1",
    MARK,
};

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

static int open_checked(const char *folder, struct error *err)
{
    struct stat st, mark;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        fail(err, ERR_INVALID, "%s is a link or a file; name the folder itself", folder);
    else if (fd < 0 || fstat(fd, &st) != 0)
        fail_errno(err, errno, "%s", folder);
    else if (st.st_uid != geteuid())
        fail(err, ERR_FORBIDDEN, "%s belongs to user %u", folder, st.st_uid);
    else if (fstatat(fd, MARK, &mark, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(mark.st_mode) ||
             mark.st_uid != geteuid())
        fail(err, ERR_INVALID, "%s is no folder of `leeboard up`: it has no " MARK, folder);
    else
        return fd;
    close_fd(&fd);
    return -1;
}

bool purge_check(const char *folder, struct error *err)
{
    cleanup(close_fd) int fd = open_checked(folder, err);
    return fd >= 0;
}

static const char *names_left(struct arena *a, int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    cleanup(close_dir) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    const char *text = NULL;
    if (dir)
        rewinddir(dir);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (!text_eq(e->d_name, ".") && !text_eq(e->d_name, ".."))
            text = arena_printf(a, "%s%s%s", text ? text : "", text ? ", " : "", e->d_name);
    return text;
}

/* Removes from the open directory, even if its path changes in the meantime. */
bool purge_folder(struct arena *a, const char *folder, const char **ret_left, struct error *err)
{
    cleanup(close_fd) int fd = open_checked(folder, err);
    *ret_left = NULL;
    if (fd < 0 || !up_folder_lock(a, folder, err))
        return false;
    const char *left = up_tasks_text(a, folder);
    if (left)
        return fail(err, ERR_CONFLICT, "nothing is removed: there still runs %s", left);
    const char *root = arena_printf(a, "/proc/self/fd/%d", fd);
    for (size_t i = 0; i < lengthof(names); i++)
        if (!tree_remove_below(root, names[i], err))
            return fail_in(err, "%s", folder);
    *ret_left = names_left(a, fd);
    if (!*ret_left)
        (void)!rmdir(folder); /* a mount point remains */
    return true;
}
