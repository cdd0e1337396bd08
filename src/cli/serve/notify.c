#include "cli/serve/notify.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"

/* The socket is a path, or an abstract name that begins with @. */
void notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof(to.sun_path))
        return;
    memcpy(to.sun_path, path, length);
    if (*path == '@')
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    /* Does not block if the service manager does not read. */
    (void)sendto(
        fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&to, size);
    close(fd);
}
