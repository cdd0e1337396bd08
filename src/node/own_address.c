#include "node/own_address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/str.h"
#include "kube/file.h"

#define BYTES_MAX ((size_t)1 << 20)

EMBED_BYTES(own_address_library, ADDRESS_SO); /* named in the Makefile */

/* Running programs have the file mapped, so a new version gets another file name. */
const char *own_address_install(struct arena *a, const char *folder, struct error *err)
{
    struct str library = { own_address_library,
        (size_t)(own_address_library_end - own_address_library) },
               there;
    const char *path = arena_printf(a, "%s/address.so", folder);
    const char *fresh = arena_printf(a, "%s.new", path);
    if (file_read(a, path, BYTES_MAX, &there, NULL) && str_eq(there, library))
        return path;
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    bool ok = fd >= 0 && write(fd, library.ptr, library.len) == (ssize_t)library.len;
    int number = errno;
    if (fd >= 0)
        close(fd);
    if (!ok || rename(fresh, path)) {
        fail_errno(err, ok ? errno : number, "%s", path);
        return NULL;
    }
    return path;
}
