#include "http/listen.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN_BACKLOG 512

static int listen_on(const struct addrinfo *at)
{
    int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
    if (at->ai_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &(int){ 0 }, sizeof(int));
    if (bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, LISTEN_BACKLOG) == 0)
        return fd;
    int number = errno;
    close(fd);
    errno = number;
    return -1;
}

int listen_tcp(const char *address, uint16_t port, struct error *err)
{
    struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
    };
    /* The IPv6 wildcard accepts IPv4, too; a machine without IPv6 has only the IPv4 one. */
    const char *const tries[] = { address ?: "::", address ? NULL : "0.0.0.0" };
    char service[8];
    int fd = -1;
    snprintf(service, sizeof(service), "%u", port);
    for (size_t i = 0; i < lengthof(tries) && tries[i] && fd < 0; i++) {
        struct addrinfo *list = NULL;
        int rc = getaddrinfo(tries[i], service, &hints, &list);
        if (rc)
            fail(err, ERR_INVALID, "listen on %s: %s", tries[i], gai_strerror(rc));
        else if ((fd = listen_on(list)) < 0)
            fail_errno(err, errno, "listen on %s port %u", tries[i], port);
        freeaddrinfo(list);
    }
    return fd;
}

uint16_t listen_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &size) < 0)
        return 0;
    return ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                               : ((struct sockaddr_in *)&address)->sin_port);
}

void listen_raise_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == files.rlim_max)
        return;
    files.rlim_cur = files.rlim_max;
    (void)!setrlimit(RLIMIT_NOFILE, &files);
}
