#pragma once

/* HTTPS_PROXY, HTTP_PROXY and NO_PROXY, by the rules of Go's net/http, as in kubectl. */

struct arena;
struct kube_config_options;

/* The proxy for this server, or NULL: none is set, or the server is a loopback address or matches
 * NO_PROXY. */
const char *config_proxy_of(
    struct arena *a, const char *server, const struct kube_config_options *options);
