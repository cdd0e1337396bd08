#pragma once

/* Authentication of callers by JSON web tokens, and lists of models that teams may ask for. */

#include "http/message.h"
#include "router/config.h"

struct router;

struct router_refusal {
    int status; /* 0: none */
    const char *message;
};

/* The keys of the config of the moment; kept if their address stays. */
void router_auth_start(struct router *r);
void router_auth_stop(struct router *r);
/* ret_team: in the arena; "" without authentication. */
struct router_refusal router_auth_check(struct router *r, const struct router_auth *auth,
    struct arena *a, struct http_headers headers, const char **ret_team);
bool router_auth_allows(const struct router_auth *auth, const char *team, const char *model);
/* With the token's team in place of what the caller wrote. */
struct http_headers router_auth_headers(
    struct arena *a, const struct router_auth *auth, struct http_headers headers, const char *team);
