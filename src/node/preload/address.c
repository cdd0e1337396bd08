/* Loaded into programs of pods by LD_PRELOAD: a server that would listen on all addresses of the
 * machine listens only on its pod's address, from LEEBOARD_POD_ADDRESS. Uses only three libc
 * functions of the program. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* "127.64.0.1"; inet_pton() would be one more function. */
static uint32_t read_address(const char *text)
{
    uint32_t all = 0, part = 0;
    for (; *text; text++)
        if (*text == '.') {
            all = all << 8 | part;
            part = 0;
        } else {
            part = part * 10 + (uint32_t)(*text - '0');
        }
    return htonl(all << 8 | part);
}

static int is_listener(int fd)
{
    int type = 0;
    socklen_t size = sizeof(type);
    return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_STREAM;
}

/* For both families: an IPv6 socket also accepts IPv4 addresses unless IPV6_V6ONLY is set. */
static int only_ipv6(int fd)
{
    int only = 1;
    socklen_t size = sizeof(only);
    return syscall(SYS_getsockopt, fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &size) != 0 || only;
}

__attribute__((visibility("default"))) int bind(
    int fd, const struct sockaddr *address, socklen_t length)
{
    static const struct in6_addr any;
    const char *text = getenv("LEEBOARD_POD_ADDRESS");
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    if (text && address && address->sa_family == AF_INET && length >= sizeof(four)) {
        four = *(const struct sockaddr_in *)(const void *)address;
        if (four.sin_addr.s_addr == INADDR_ANY && four.sin_port && is_listener(fd)) {
            four.sin_addr.s_addr = read_address(text);
            return (int)syscall(SYS_bind, fd, &four, sizeof(four));
        }
    }
    if (text && address && address->sa_family == AF_INET6 && length >= sizeof(six)) {
        six = *(const struct sockaddr_in6 *)(const void *)address;
        if (__builtin_memcmp(&six.sin6_addr, &any, sizeof(any)) == 0 && six.sin6_port &&
            is_listener(fd) && !only_ipv6(fd)) {
            six.sin6_addr.s6_addr32[2] = htonl(0xFFFF);
            six.sin6_addr.s6_addr32[3] = read_address(text);
            return (int)syscall(SYS_bind, fd, &six, sizeof(six));
        }
    }
    return (int)syscall(SYS_bind, fd, address, length);
}
