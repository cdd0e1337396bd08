#pragma once

/* Selects the back end of a request: the first matching rule, the back end of that name, or the
 * default. */

#include "http/message.h"
#include "router/config.h"

#define ROUTE_CLASSES_MAX 16

struct route_features {
    const char *model;      /* "" if none */
    const char *data_class; /* the header's first value in lower case, for logs; "" if none */
    const char *classes[ROUTE_CLASSES_MAX]; /* all values of all such headers */
    size_t class_count;
    bool sensitive;
    const char *complexity;
    struct http_headers headers;
};

enum route_refusal {
    ROUTE_FOUND,
    ROUTE_NONE,
    ROUTE_UNKNOWN, /* by name: no model of that name, or no name */
    ROUTE_FAIL_CLOSED,
};

struct route {
    const struct router_rule *rule;         /* NULL: the default */
    const struct router_backend **backends; /* in the order of attempts */
    size_t count;
    enum route_refusal refusal;
};

/* headers must outlive the features. */
void router_route_features_read(struct arena *a, const struct router_config *c,
    struct http_headers headers, struct route_features *ret);
/* A sensitive request never gets a back end that is not local, even if the rule says so. */
struct route router_route_find(
    struct arena *a, const struct router_config *c, const struct route_features *f);
/* Go's path.Match: `*` and `?` do not match `/`; a bad pattern matches nothing. */
bool router_route_glob(const char *pattern, const char *text);
/* The name of a back end in /v1/models. */
const char *router_route_model_id(const struct router_backend *b);
