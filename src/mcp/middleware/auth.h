#pragma once

/* The step `auth`: authenticates the client. With oidc_config the bearer token must be a JWT of the
 * issuer, or one that its introspection endpoint accepts (RFC 7662); without it every client is the
 * local user. The step also serves the metadata of the protected resource (RFC 9728). */

#include "mcp/middleware.h"

extern const struct mcp_step mcp_step_auth;

struct introspection;
/* done(): the claims in the response, or err. */
struct introspection *introspection_new(
    const struct mcp_open *o, struct json oidc_config, struct error *err) must_check;
void introspection_free(struct introspection *i); /* NULL is allowed */
/* How long a result may be cached; 0: not at all. */
int64_t introspection_keep_ms(const struct introspection *i);
struct introspection_call;
struct introspection_call *introspection_ask(struct introspection *i, const char *token,
    void (*done)(void *ctx, struct json claims, const struct error *err), void *ctx) must_check;
void introspection_cancel(struct introspection_call *c); /* NULL is allowed */
