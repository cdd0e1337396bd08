#include "cli/serve/apiserver_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"
#include "http/tls_cert.h"
#include "kube/file.h"

#define AUTHORITY_DAYS 3650
/* As long as the CA: a server may run for years, and certificates are renewed only at its start. */
#define CERTIFICATE_DAYS AUTHORITY_DAYS
#define TOKEN_KEY_BYTES 32
#define FILE_BYTES_MAX ((size_t)1 << 20)
#define HOSTS_MAX 64

static bool write_all(int fd, struct str text)
{
    while (text.len) {
        ssize_t n = write(fd, text.ptr, text.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        text = (struct str){ text.ptr + n, text.len - (size_t)n };
    }
    return true;
}

/* Atomic; lasting: also after a power failure. */
static bool write_file(struct arena *a, const char *path, struct str text, mode_t mode,
    bool lasting, struct error *err)
{
    const char *temporary = arena_printf(a, "%s.%ld.new", path, (long)getpid());
    unlink(temporary); /* left by a crashed process with this pid */
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (fd < 0)
        return fail_errno(err, errno, "creating %s", temporary);
    bool ok = write_all(fd, text) && (!lasting || fsync(fd) == 0);
    int number = errno;
    ok = close(fd) == 0 && ok;
    if (ok && rename(temporary, path) == 0)
        return true;
    number = ok ? errno : number;
    unlink(temporary);
    return fail_errno(err, number, "writing %s", path);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static bool load_authority(
    struct arena *a, const char *folder, struct apiserver_files *f, struct error *err)
{
    const char *crt = arena_printf(a, "%s/ca.crt", folder ? folder : "");
    const char *key = arena_printf(a, "%s/ca.key", folder ? folder : "");
    if (folder && exists(crt) && exists(key))
        return file_read(a, crt, FILE_BYTES_MAX, &f->ca, err) &&
               file_read(a, key, FILE_BYTES_MAX, &f->ca_key, err) &&
               tls_is_current(f->ca, crt, (int64_t)time(NULL), err);
    if (!tls_authority(a, "leeboard", AUTHORITY_DAYS, &f->ca, &f->ca_key, err))
        return false;
    return !folder || (write_file(a, key, f->ca_key, 0600, true, err) &&
                          write_file(a, crt, f->ca, 0644, true, err));
}

static bool load_token_key(
    struct arena *a, const char *folder, struct apiserver_files *f, struct error *err)
{
    const char *path = arena_printf(a, "%s/token.key", folder ? folder : "");
    if (folder && exists(path)) {
        if (!file_read(a, path, FILE_BYTES_MAX, &f->token_key, err))
            return false;
        return f->token_key.len >= TOKEN_KEY_BYTES ||
               fail(err, ERR_INVALID, "%s is shorter than %d bytes", path, TOKEN_KEY_BYTES);
    }
    char *bytes = arena_alloc(a, TOKEN_KEY_BYTES);
    if (getrandom(bytes, TOKEN_KEY_BYTES, 0) != TOKEN_KEY_BYTES)
        return fail_errno(err, errno, "random bytes");
    f->token_key = (struct str){ bytes, TOKEN_KEY_BYTES };
    return !folder || write_file(a, path, f->token_key, 0600, true, err);
}

static bool issue_server(
    struct arena *a, const char *const *hosts, struct apiserver_files *f, struct error *err)
{
    static const char *const usual[] = { "localhost",
        "127.0.0.1",
        "::1",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local" };
    const char *list[HOSTS_MAX + lengthof(usual) + 2] = { 0 };
    size_t count = 0;
    for (; count < lengthof(usual); count++)
        list[count] = usual[count];
    char own[256] = "";
    if (gethostname(own, sizeof(own) - 1) == 0 && *own)
        list[count++] = own;
    for (size_t i = 0; hosts && hosts[i] && i < HOSTS_MAX; i++)
        list[count++] = hosts[i];
    return tls_issue(a,
        f->ca,
        f->ca_key,
        &(struct tls_issue){
            .common_name = "leeboard-apiserver",
            .hosts = list,
            .days = CERTIFICATE_DAYS,
        },
        &f->certificate,
        &f->key,
        err);
}

bool apiserver_files_load(struct arena *a, const char *folder, const char *const *hosts,
    struct apiserver_files *ret, struct error *err)
{
    *ret = (struct apiserver_files){ 0 };
    return load_authority(a, folder, ret, err) && load_token_key(a, folder, ret, err) &&
           issue_server(a, hosts, ret, err);
}

bool apiserver_files_write_kubeconfig(struct arena *a, const struct apiserver_files *f,
    const char *url, const char *path, struct error *err)
{
    static const char *const masters[] = { "system:masters", NULL };
    struct str certificate, key;
    if (!tls_issue(a,
            f->ca,
            f->ca_key,
            &(struct tls_issue){
                .common_name = "leeboard-admin",
                .organizations = masters,
                .days = CERTIFICATE_DAYS,
            },
            &certificate,
            &key,
            err))
        return false;
    const char *text = arena_printf(a,
        "apiVersion: v1\n"
        "kind: Config\n"
        "current-context: leeboard\n"
        "clusters:\n"
        "- name: leeboard\n"
        "  cluster:\n"
        "    server: %s\n"
        "    certificate-authority-data: %s\n"
        "contexts:\n"
        "- name: leeboard\n"
        "  context:\n"
        "    cluster: leeboard\n"
        "    user: leeboard-admin\n"
        "users:\n"
        "- name: leeboard-admin\n"
        "  user:\n"
        "    client-certificate-data: %s\n"
        "    client-key-data: %s\n",
        url,
        base64_encode(a, f->ca),
        base64_encode(a, certificate),
        base64_encode(a, key));
    return write_file(a, path, str_of(text), 0600, false, err);
}
