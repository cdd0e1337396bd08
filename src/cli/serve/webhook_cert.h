#pragma once

/* The certificate that admission webhooks are served with: issued here, kept in a Secret that all
 * replicas share, and made known to the API server in the webhooks' caBundle.
 *
 *   Secret ── none, or soon not valid ──> the leader issues ──> Secret
 *      └───── fine ──> the leader sets caBundle where it differs ──> changed()
 *
 * The authority outlives many certificates, so a renewal changes nothing for the API server. When
 * the authority itself is renewed, the bundle has the old one, too, as long as that is valid. */

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
    const char *configuration;    /* name of the validating and of the mutating one */
    bool (*may_write)(void *ctx); /* of several replicas one */
    /* There is a certificate, or another one than before. */
    void (*changed)(void *ctx, struct str certificate, struct str key);
    void *ctx;
};

/* Begins at once; the strings outlive it. */
struct webhook_cert *webhook_cert_new(const struct webhook_cert_options *options);
void webhook_cert_free(struct webhook_cert *w); /* takes NULL */
