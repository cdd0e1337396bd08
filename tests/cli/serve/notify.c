#include "cli/serve/notify.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"
#include "tests/test.h"

/* A service manager's end, at a path or, with @ in front, at a name. */
static int listen_at(const char *name)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    memcpy(at.sun_path, name, strlen(name));
    if (*name == '@')
        at.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
    check(fd >= 0 && bind(fd, (struct sockaddr *)&at, size) == 0);
    return fd;
}

static void check_heard(const char *name)
{
    char heard[64] = "";
    int fd = listen_at(name);
    check(setenv("NOTIFY_SOCKET", name, 1) == 0);
    notify("READY=1");
    check_int(recv(fd, heard, sizeof(heard) - 1, 0), 7);
    check_text(heard, "READY=1");
    check(unsetenv("NOTIFY_SOCKET") == 0);
    notify("STOPPING=1");
    check(recv(fd, heard, sizeof(heard) - 1, 0) < 0);
    close(fd);
}

TEST(a_service_manager_is_told_where_it_asked)
{
    char *folder = arena_strdup(test_arena(), "/tmp/leeboard-notify-XXXXXX");
    check(mkdtemp(folder));
    const char *path = arena_printf(test_arena(), "%s/socket", folder);
    check_heard(path);
    check(unlink(path) == 0 && rmdir(folder) == 0);
    check_heard(arena_printf(test_arena(), "@leeboard-notify-%d", (int)getpid()));
}

TEST(a_service_manager_that_is_gone_harms_nobody)
{
    check(setenv("NOTIFY_SOCKET", "/tmp/leeboard-no-such-socket", 1) == 0);
    notify("READY=1");
    check(unsetenv("NOTIFY_SOCKET") == 0);
}
