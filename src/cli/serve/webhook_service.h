#pragma once

/* Admission webhooks by the operator's flags: with a certificate that the operator issues
 * (--enable-webhooks), or with an existing one in files (--webhook-cert-path). */

#include "base/error.h"
#include "cli/cli.h"

struct buf;
struct engines;
struct kube_client;
struct loop;
struct webhook_service;

extern const struct cli_flag webhook_flags[];

struct webhook_service_options {
    struct cli *cli;
    struct loop *loop;
    struct engines *engines;
    struct kube_client *client;
    const char *ns; /* of the operator */
    bool (*may_write)(void *ctx);
    void *ctx;
};

/* *ret NULL: the flags enable no webhooks. */
bool webhook_service_new(const struct webhook_service_options *options,
    struct webhook_service **ret, struct error *err) must_check;
void webhook_service_free(struct webhook_service *s); /* NULL is allowed */
void webhook_service_metrics_print(const struct webhook_service *s, struct buf *to); /* likewise */
