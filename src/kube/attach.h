#pragma once

/* The standard streams of a running container, through pods/attach over a WebSocket (v5 and v4 of
 * channel.k8s.io), or over SPDY if the WebSocket is refused: old API servers check a separate right
 * for each, and some proxies support only one.
 *
 *   start ──> opened ──> output* ──> ended          or, when it fails early,    start ──> ended
 *
 * After ended() or kube_attach_free() there are no more callbacks. ended() does not free the
 * object. No callback runs inside kube_attach_new() itself. */

#include "base/error.h"
#include "base/str.h"

struct kube_attach;
struct kube_config;
struct loop;

struct kube_attach_options {
    struct loop *loop;
    const struct kube_config *config;
    const char *ns, *pod, *container;
};

enum kube_attach_stream { KUBE_STDOUT = 1, KUBE_STDERR = 2 };

struct kube_attach_handlers {
    void (*opened)(void *ctx);
    void (*output)(void *ctx, enum kube_attach_stream stream, struct str bytes);
    void (*ended)(void *ctx, const struct error *err);
};

/* config must outlive it; the names are copied. */
struct kube_attach *kube_attach_new(const struct kube_attach_options *options,
    const struct kube_attach_handlers *handlers, void *ctx) must_check;
/* Writes to the container's standard input. Takes all bytes; call only after opened(). */
void kube_attach_write(struct kube_attach *k, struct str bytes);
/* Bytes that are not sent yet. */
size_t kube_attach_pending(const struct kube_attach *k);
void kube_attach_free(struct kube_attach *k);
