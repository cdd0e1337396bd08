#pragma once

/* The serving certificate of admission webhooks: issued here, kept in a Secret that all replicas
 * share, and published to the API server in the webhooks' caBundle.
 *
 *   Secret ── missing or expiring ──> the leader issues ──> Secret
 *      └───── valid ──> the leader updates caBundle if needed ──> changed()
 *
 * The CA is valid for much longer than the certificates, so a renewal changes nothing for the API
 * server. When the CA itself is renewed, the bundle keeps the old one while it is valid. */

#include "base/str.h"

struct env;
struct kube_client;
struct webhook_cert;

struct webhook_cert_options {
    const struct env *env;
    struct kube_client *client;
    const char *ns;     /* of the Secret and the Service */
    const char *secret; /* its name */
    const char *service;
    const char *configuration;    /* name of the validating and of the mutating configuration */
    bool (*may_write)(void *ctx); /* true in one of several replicas */
    /* There is a new certificate. */
    void (*changed)(void *ctx, struct str certificate, struct str key);
    void *ctx;
};

/* Starts at once; the strings must outlive it. */
struct webhook_cert *webhook_cert_new(const struct webhook_cert_options *options);
void webhook_cert_free(struct webhook_cert *w); /* NULL is allowed */
