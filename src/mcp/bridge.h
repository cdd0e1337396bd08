#pragma once

/* Connects clients to an HTTP server of the other protocol era. For the modern clients of a legacy
 * server there is one hub per identity, with its own session at the server. The legacy clients of a
 * modern server share one hub. Unused hubs are freed after a while. */

#include "http/message.h"

struct bridge;
struct env;
struct http_client;
struct http_origin;
struct mcp_exchange;
struct mcp_session;
struct sessions;

struct bridge_options {
    const struct env *env;
    struct http_client *http;
    const struct http_origin *origin; /* outlives it */
    const char *authority;            /* Host; must outlive the bridge */
    struct sessions *sessions;
};

struct bridge *bridge_new(const struct bridge_options *options) must_check;
void bridge_free(struct bridge *b);
/* Takes over the exchange as a backend does; path: the server's path. */
void bridge_send(struct bridge *b, struct mcp_exchange *x, const char *path);
void bridge_session_ended(struct bridge *b, struct mcp_session *s);
