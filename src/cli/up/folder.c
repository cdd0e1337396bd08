#include "cli/up/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "kube/file.h"

#define ENDPOINT_BYTES_MAX ((size_t)16 << 10)
/* A larger log is replaced by a new one when the next process starts. */
#define LOG_BYTES_MAX ((off_t)10 << 20)

const struct cli_flag up_folder_flags[] = {
    { "data",
        0,
        "DIR",
        NULL,
        "Data folder of `leeboard up`. Default: LEEBOARD_DATA, then ~/.local/share/leeboard; for "
        "root /var/lib/leeboard." },
    { 0 },
};

bool up_folder(struct cli *cli, const char **ret, struct error *err)
{
    struct arena *a = &cli->arena;
    const char *given = cli_text(cli, "data"), *home = getenv("HOME");
    const char *share = getenv("XDG_DATA_HOME");
    if (text_empty(given))
        given = getenv("LEEBOARD_DATA");
    if (!text_empty(given)) {
        char here[4096];
        if (*given != '/' && !getcwd(here, sizeof(here)))
            return fail_errno(err, errno, "the current directory");
        *ret = *given == '/' ? given : arena_printf(a, "%s/%s", here, given);
    } else if (geteuid() == 0) {
        *ret = "/var/lib/leeboard";
    } else if (share && *share == '/') {
        *ret = arena_printf(a, "%s/leeboard", share);
    } else if (home && *home == '/') {
        *ret = arena_printf(a, "%s/.local/share/leeboard", home);
    } else {
        return fail(err, ERR_INVALID, "HOME is not set; say where to keep everything: --data DIR");
    }
    return true;
}

const char *up_folder_path(struct arena *a, const char *folder, const char *name)
{
    return arena_printf(a, "%s/%s", folder, name);
}

static bool make_all(struct arena *a, const char *path, struct error *err)
{
    char *copy = arena_strdup(a, path);
    for (char *c = copy + 1; *c; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        if (mkdir(copy, 0755) && errno != EEXIST)
            return fail_errno(err, errno, "making %s", copy);
        *c = '/';
    }
    if (mkdir(path, 0755) && errno != EEXIST)
        return fail_errno(err, errno, "making %s", path);
    return true;
}

/* Protects everything below: homes of pods, Secrets, tokens, certificates, models. */
static bool make_private(const char *folder, struct error *err)
{
    struct stat st;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool ok = fd >= 0 && fstat(fd, &st) == 0;
    if (!ok)
        fail_errno(err, errno, "%s: choose another folder with --data", folder);
    else if (st.st_uid != geteuid())
        ok = fail(err,
            ERR_FORBIDDEN,
            "%s belongs to user %u, and that user could change everything in it: choose another "
            "folder with "
            "--data, or give it to user %u",
            folder,
            st.st_uid,
            geteuid());
    else if (st.st_mode & S_ISVTX)
        ok = fail(err,
            ERR_INVALID,
            "%s is a folder that all users share: choose one of its own with --data",
            folder);
    else if ((st.st_mode & 07777) != 0700 && fchmod(fd, 0700) != 0)
        ok = fail_errno(err, errno, "%s: making it private", folder);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* Detects files, such as links, that another user created before the folder was private. */
static bool is_ours(const char *path, struct error *err)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return errno == ENOENT || fail_errno(err, errno, "%s", path);
    return st.st_uid == geteuid() ||
           fail(err,
               ERR_FORBIDDEN,
               "%s belongs to user %u: remove it, or choose another folder with --data",
               path,
               st.st_uid);
}

bool up_folder_make(struct arena *a, const char *folder, struct error *err)
{
    static const char *const names[] = { "server", "node", "volumes", "models" };
    if (!make_all(a, folder, err) || !make_private(folder, err))
        return false;
    for (size_t i = 0; i < lengthof(names); i++) {
        const char *path = up_folder_path(a, folder, names[i]);
        if (!is_ours(path, err) || (i > 0 && !make_all(a, path, err)))
            return false;
    }
    return access(folder, W_OK) == 0 ||
           fail_errno(err, errno, "%s: choose another folder with --data", folder);
}

/* An open file description lock, which a check by another descriptor does not release. */
static struct flock whole(short type)
{
    return (struct flock){ .l_type = type, .l_whence = SEEK_SET };
}

static int read_pid(int fd)
{
    char text[24] = "";
    int64_t pid;
    bool read = pread(fd, text, sizeof(text) - 1, 0) > 0;
    return read && str_to_int(str_trim(str_of(text)), &pid) ? (int)pid : 0;
}

/* A running process holds a write lock, which requires write permission. A read lock is another
 * user's, from before the folder was private: the file is replaced. */
static bool is_held(int fd)
{
    struct flock lock = whole(F_RDLCK);
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static int open_pid(const char *path, struct error *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fchmod(fd, 0600) != 0) {
        fail_errno(err, errno, "%s", path);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    return fd;
}

bool up_folder_lock(struct arena *a, const char *folder, struct error *err)
{
    const char *path = up_folder_path(a, folder, "up.pid");
    int fd = open_pid(path, err);
    if (fd < 0)
        return false;
    struct flock lock = whole(F_WRLCK);
    bool locked = fcntl(fd, F_OFD_SETLK, &lock) == 0;
    if (!locked && !is_held(fd)) {
        close(fd);
        fd = unlink(path) == 0 || errno == ENOENT ? open_pid(path, err) : -1;
        if (fd < 0)
            return fail_errno(err, errno, "replacing %s", path);
        locked = fcntl(fd, F_OFD_SETLK, &lock) == 0;
    }
    if (!locked) {
        int pid = read_pid(fd);
        close(fd);
        return fail(err,
            ERR_EXISTS,
            "it runs already on %s, as process %d: `leeboard apply` changes what it runs, "
            "`leeboard down` ends it",
            folder,
            pid);
    }
    const char *text = arena_printf(a, "%d\n", (int)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
        return fail_errno(err, errno, "writing %s", path);
    return true; /* the end of the process unlocks it */
}

int up_folder_pid(struct arena *a, const char *folder)
{
    int fd = open(up_folder_path(a, folder, "up.pid"), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    int pid = is_held(fd) ? read_pid(fd) : 0;
    close(fd);
    return pid;
}

bool up_folder_runs(const char *folder)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    return up_folder_pid(&a, folder) != 0;
}

const char *up_folder_kubeconfig(struct arena *a, const char *folder)
{
    return up_folder_pid(a, folder) ? up_folder_path(a, folder, "kubeconfig") : NULL;
}

bool up_folder_log(struct arena *a, const char *folder, bool out, int *ret, struct error *err)
{
    const char *path = up_folder_path(a, folder, "up.log");
    struct stat st;
    if (stat(path, &st) == 0 && st.st_size > LOG_BYTES_MAX)
        rename(path, arena_printf(a, "%s.1", path));
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return fail_errno(err, errno, "%s", path);
    *ret = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    bool ok = dup2(fd, STDERR_FILENO) >= 0 && (!out || dup2(fd, STDOUT_FILENO) >= 0);
    close(fd);
    return ok || fail_errno(err, errno, "%s", path);
}

bool up_folder_write_endpoint(
    struct arena *a, const char *folder, const char *url, const char *key_file, struct error *err)
{
    const char *path = up_folder_path(a, folder, "endpoint"),
               *fresh = arena_printf(a, "%s.tmp", path);
    if (!url)
        return unlink(path) == 0 || errno == ENOENT || fail_errno(err, errno, "%s", path);
    char *key_path = key_file ? realpath(key_file, NULL) : NULL;
    const char *text = arena_printf(a, "%s\n%s\n", url, key_path ? key_path : "");
    free(key_path);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    ok = (fd < 0 || close(fd) == 0) && ok && rename(fresh, path) == 0;
    return ok || fail_errno(err, errno, "%s", path);
}

bool up_folder_read_endpoint(
    struct arena *a, const char *folder, const char **ret_url, const char **ret_key_file)
{
    struct str text;
    const char *path = up_folder_path(a, folder, "endpoint");
    if (!up_folder_pid(a, folder) || !file_read(a, path, ENDPOINT_BYTES_MAX, &text, NULL))
        return false;
    *ret_url = str_dup(a, str_cut(&text, '\n'));
    *ret_key_file = text.ptr ? str_dup(a, str_cut(&text, '\n')) : NULL;
    if (text_empty(*ret_key_file))
        *ret_key_file = NULL;
    return **ret_url;
}
