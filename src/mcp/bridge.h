#pragma once

/* Clients in front of an HTTP server of the other protocol era. For the modern clients of a legacy
 * server there is a hub for each identity, with a session of its own at the server; the legacy
 * clients of a modern server share one. A hub that was not used for a while goes. */

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
    const char *authority;            /* Host; outlives it */
    struct sessions *sessions;
};

struct bridge *bridge_new(const struct bridge_options *options) must_check;
void bridge_free(struct bridge *b);
/* Takes the exchange as a backend does; path: where the server is. */
void bridge_send(struct bridge *b, struct mcp_exchange *x, const char *path);
void bridge_session_ended(struct bridge *b, struct mcp_session *s);
