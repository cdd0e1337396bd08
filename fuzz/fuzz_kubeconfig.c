/* A kubeconfig of any bytes is either refused with a reason or gives a configuration that may go
 * into requests: a server's URL, and header values without line ends. The same bytes as what a
 * credential plugin prints. */

#include "kube/config.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "fuzz/fuzz.h"
#include "kube/credentials.h"

static void check_plain(const char *text)
{
    for (; text && *text; text++)
        assert((unsigned char)*text >= ' ' && *text != 0x7f);
}

static void check_config(struct arena *a, const char *path)
{
    struct kube_config c;
    struct error err = { 0 };
    struct kube_config_options options = {
        .kubeconfig = path, .https_proxy = "proxy:1", .no_proxy = "a,.b,10.0.0.0/8,[::1]:5"
    };
    if (!kube_config_load(a, &options, &c, &err)) {
        assert(err.code != ERR_NONE && *err.text);
        return;
    }
    assert(text_starts(c.server, "http://") || text_starts(c.server, "https://"));
    assert(c.ns && c.origin);
    check_plain(c.server);
    check_plain(c.token);
    for (const char *const *h = c.impersonate; h && *h; h++)
        check_plain(*h);
    assert(!c.token_file || *c.token_file == '/');
    assert(!c.ca_file || *c.ca_file == '/');
    if (c.exec) {
        assert(c.exec->command && *c.exec->command && c.exec->args && c.exec->env);
        assert(credentials_exec_info(a, c.exec));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    char path[64];
    int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
    assert(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    check_config(&a, path);
    close(fd);

    struct kube_exec exec = { .api_version = "client.authentication.k8s.io/v1" };
    struct credentials_exec_result result;
    struct error err = { 0 };
    struct str output = { (const char *)data, size };
    if (!credentials_exec_parse(&a, &exec, output, &result, &err)) {
        assert(err.code != ERR_NONE && *err.text);
    } else {
        assert((result.token && *result.token) || (result.certificate && result.key));
        check_plain(result.token);
    }
    return 0;
}
