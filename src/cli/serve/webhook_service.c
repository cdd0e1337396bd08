#include "cli/serve/webhook_service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"
#include "base/timer.h"
#include "cli/cli.h"
#include "cli/serve/webhook_cert.h"
#include "cli/serve/webhooks.h"
#include "http/loop.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)
/* The time that a kubelet takes to update a changed Secret in a pod. */
#define FILES_LOOK_MS 60000

struct webhook_service {
    struct webhook_service_options o;
    struct webhooks *webhooks;
    struct webhook_cert *cert; /* NULL: from files */
    const char *certificate_file, *key_file;
    uint8_t read[SHA256_BYTES]; /* digest of the certificate in the file */
    struct timer timer;
};

static void on_changed(void *ctx, struct str certificate, struct str key)
{
    struct webhook_service *s = ctx;
    struct error err;
    if (!webhooks_set_certificate(s->webhooks, certificate, key, &err))
        log_error("%s", err.text);
}

/* ---- files ---- */

static bool read_file(const char *path, struct buf *to, struct error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_errno(err, errno, "%s", path);
    char bytes[8192];
    ssize_t count;
    while ((count = read(fd, bytes, sizeof(bytes))) > 0)
        buf_add(to, bytes, (size_t)count);
    int number = errno;
    close(fd);
    return count == 0 ? !buf_overflowed(to) || fail(err, ERR_INVALID, "%s is too large", path)
                      : fail_errno(err, number, "%s", path);
}

static bool read_files(struct webhook_service *s, struct error *err)
{
    cleanup(buf_done) struct buf certificate = BUF_INIT(FILE_BYTES_MAX);
    cleanup(buf_done) struct buf key = BUF_INIT(FILE_BYTES_MAX);
    if (!read_file(s->certificate_file, &certificate, err) || !read_file(s->key_file, &key, err))
        return false;
    uint8_t digest[SHA256_BYTES];
    sha256_of(buf_str(&certificate), digest);
    if (memcmp(digest, s->read, sizeof(digest)) == 0)
        return true;
    memcpy(s->read, digest, sizeof(digest));
    return webhooks_set_certificate(s->webhooks, buf_str(&certificate), buf_str(&key), err);
}

static void look_at_files(void *ctx)
{
    struct webhook_service *s = ctx;
    struct error err;
    if (!read_files(s, &err))
        log_warn("webhooks: %s; the certificate stays as it is", err.text);
    timer_set(loop_env(s->o.loop), &s->timer, FILES_LOOK_MS);
}

static bool use_files(struct webhook_service *s, const char *folder, struct error *err)
{
    struct cli *cli = s->o.cli;
    s->certificate_file =
        arena_printf(&cli->arena, "%s/%s", folder, cli_text(cli, "webhook-cert-name"));
    s->key_file = arena_printf(&cli->arena, "%s/%s", folder, cli_text(cli, "webhook-cert-key"));
    timer_set(loop_env(s->o.loop), &s->timer, FILES_LOOK_MS);
    return read_files(s, err);
}

/* ---- interface ---- */

static bool may_write(void *ctx)
{
    struct webhook_service *s = ctx;
    return s->o.may_write(s->o.ctx);
}

static void use_secret(struct webhook_service *s)
{
    struct arena *a = &s->o.cli->arena;
    const char *name = cli_text(s->o.cli, "webhook-name");
    s->cert = webhook_cert_new(&(struct webhook_cert_options){
        .env = loop_env(s->o.loop),
        .client = s->o.client,
        .ns = s->o.ns,
        .secret = arena_printf(a, "%s-webhook", name),
        .service = arena_printf(a, "%s-webhook", name),
        .configuration = name,
        .may_write = may_write,
        .changed = on_changed,
        .ctx = s,
    });
}

bool webhook_service_new(
    const struct webhook_service_options *o, struct webhook_service **ret, struct error *err)
{
    const char *folder = cli_text(o->cli, "webhook-cert-path");
    int64_t port;
    *ret = NULL;
    if (text_empty(folder) && !cli_on(o->cli, "enable-webhooks"))
        return true;
    if (!str_to_int(str_of(cli_text(o->cli, "webhook-port")), &port) || port < 1 || port > 65535)
        return fail(err, ERR_INVALID, "--webhook-port: a number from 1 to 65535");
    struct webhook_service *s = mem_new_of(struct webhook_service);
    *s = (struct webhook_service){ .o = *o };
    timer_init(&s->timer, look_at_files, s);
    s->webhooks = webhooks_new(&(struct webhooks_options){
        .loop = o->loop, .engines = o->engines, .port = (uint16_t)port });
    *ret = s;
    if (!text_empty(folder))
        return use_files(s, folder, err);
    use_secret(s);
    return true;
}

void webhook_service_free(struct webhook_service *s)
{
    if (!s)
        return;
    timer_stop(loop_env(s->o.loop), &s->timer);
    webhook_cert_free(s->cert);
    webhooks_free(s->webhooks);
    free(s);
}

void webhook_service_metrics_print(const struct webhook_service *s, struct buf *to)
{
    if (s)
        webhooks_metrics_print(s->webhooks, to);
}

const struct cli_flag webhook_flags[] = {
    { "enable-webhooks",
        0,
        NULL,
        "false",
        "Serve LLMKube's admission webhooks, with a certificate that is issued and renewed here." },
    { "webhook-name",
        0,
        "NAME",
        "leeboard",
        "Name of the webhook configurations; with -webhook behind it, of Service and Secret." },
    { "webhook-cert-path",
        0,
        "DIR",
        NULL,
        "Serve the webhooks with the certificate in this directory instead." },
    { "webhook-cert-name", 0, "FILE", "tls.crt", "Certificate in --webhook-cert-path." },
    { "webhook-cert-key", 0, "FILE", "tls.key", "Key in --webhook-cert-path." },
    { "webhook-port", 0, "PORT", "9443", "Port of the webhooks." },
    { 0 },
};
