#pragma once

/* Parts of the gateway data plane of a ModelRouter, see router_gateway.c. */

#include "kinds/llmkube/router.h"

/* The key under which the gateway counts the tokens of a request. */
#define GATEWAY_TOKENS "llm_total_token"

struct gateway_route {
    struct router *router;
    struct json_builder ejected; /* names of back ends that some rule leaves out */
};

/* Why nothing is exposed. */
struct gateway_refusal {
    const char *reason;
    const char *message;
};

/* Returns false. */
bool gateway_refuse(struct router *r, struct gateway_refusal *ret, const char *reason,
    const char *format, ...) printf_like(4, 5);

/* router_gateway_policy.c */
bool gateway_check_budgets(struct router *r, struct gateway_refusal *ret);
bool gateway_check_auth(struct router *r, struct gateway_refusal *ret);
struct json gateway_traffic_policy(const struct router *r);
struct json gateway_security_policy(const struct router *r);
