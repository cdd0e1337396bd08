#include "cli/up/folder.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/tree.h"
#include "tests/test.h"

#define OTHER_USER 65534

static const char *open_folder(void)
{
    char *path = arena_strdup(test_arena(), "/tmp/leeboard-folder-XXXXXX");
    check(mkdtemp(path) && chmod(path, 0777) == 0);
    return path;
}

/* Runs it as another user of the machine; what it returns. */
static int as_other_user(int (*work)(const char *path), const char *path)
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(setgid(OTHER_USER) == 0 && setuid(OTHER_USER) == 0 ? work(path) : 99);
    check(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int plants_a_file(const char *path)
{
    char file[200];
    snprintf(file, sizeof(file), "%s/node/socketserver.py", path);
    return open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644) >= 0;
}

static int reads(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC) >= 0;
}

TEST(a_folder_that_was_open_to_everybody_becomes_private)
{
    struct error err;
    struct stat st;
    const char *path = open_folder();
    check(up_folder_make(test_arena(), path, &err));
    check(chmod(up_folder_path(test_arena(), path, "node"), 0777) == 0);
    check(stat(path, &st) == 0);
    check_int(st.st_mode & 07777, 0700);
    if (geteuid() == 0) {
        check_int(as_other_user(plants_a_file, path), 0);
        check_int(as_other_user(reads, path), 0);
        check_int(as_other_user(reads, "/tmp"), 1); /* the user can read, where it may */
        check(chmod(path, 0755) == 0);
        check_int(as_other_user(plants_a_file, path), 1);
    }
    check(tree_remove(path, &err));
}

TEST(a_part_of_the_folder_that_another_user_planted_is_refused)
{
    struct error err;
    const char *path = open_folder();
    const char *planted = up_folder_path(test_arena(), path, "volumes");
    check(symlink("/tmp", planted) == 0);
    check(up_folder_make(test_arena(), path, &err)); /* of our own: another disk, say */
    if (geteuid() == 0) {
        check(lchown(planted, OTHER_USER, OTHER_USER) == 0);
        check(!up_folder_make(test_arena(), path, &err));
        check(strstr(err.text, "volumes belongs to user 65534"));
    }
    check(tree_remove(path, &err));
}

TEST(a_folder_of_another_user_is_refused)
{
    struct error err;
    const char *path = open_folder();
    if (geteuid() == 0) {
        check(chown(path, OTHER_USER, OTHER_USER) == 0);
        check_fails(up_folder_make(test_arena(), path, &err), err, "belongs to user 65534");
    }
    check(tree_remove(path, &err));
}

/* Locks the file for reading, says so, and waits to be ended. */
static pid_t lock_as_other_user(const char *path)
{
    int said[2];
    char byte;
    check(pipe2(said, O_CLOEXEC) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
        bool ok = setgid(OTHER_USER) == 0 && setuid(OTHER_USER) == 0;
        int fd = ok ? open(path, O_RDONLY | O_CLOEXEC) : -1;
        if (fd >= 0 && fcntl(fd, F_OFD_SETLK, &lock) == 0 && write(said[1], "x", 1) == 1)
            pause();
        _exit(1);
    }
    close(said[1]);
    check_int(read(said[0], &byte, 1), 1);
    close(said[0]);
    return pid;
}

TEST(a_lock_of_another_user_does_not_keep_up_from_starting)
{
    struct error err;
    const char *path = open_folder();
    if (geteuid() == 0) {
        check(up_folder_make(test_arena(), path, &err) && chmod(path, 0755) == 0);
        const char *file = up_folder_path(test_arena(), path, "up.pid");
        close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
        check(chmod(file, 0644) == 0);
        pid_t other = lock_as_other_user(file);
        check_int(up_folder_pid(test_arena(), path), 0);
        check(up_folder_lock(test_arena(), path, &err));
        check_fails(up_folder_lock(test_arena(), path, &err), err, "it runs already");
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
    check(tree_remove(path, &err));
}
