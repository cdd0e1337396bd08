#pragma once

/* Authentication of clients by JSON web tokens, and lists of the models that teams may use. */

#include "http/message.h"
#include "router/config.h"

struct router;

struct router_refusal {
    int status; /* 0: none */
    const char *message;
};

/* Sets the keys of the current config; keeps them if their URL is unchanged. */
void router_auth_start(struct router *r);
void router_auth_stop(struct router *r);
/* *ret_team: allocated in the arena; "" without authentication. */
struct router_refusal router_auth_check(struct router *r, const struct router_auth *auth,
    struct arena *a, struct http_headers headers, const char **ret_team);
bool router_auth_allows(const struct router_auth *auth, const char *team, const char *model);
/* With the token's team instead of the client's header. */
struct http_headers router_auth_headers(
    struct arena *a, const struct router_auth *auth, struct http_headers headers, const char *team);
