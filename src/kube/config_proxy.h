#pragma once

/* HTTPS_PROXY, HTTP_PROXY and NO_PROXY, by the rules of Go's net/http, which kubectl follows. */

struct arena;
struct kube_config_options;

/* The proxy for this server, or NULL: none is named, or NO_PROXY or loopback excepts it. */
const char *config_proxy_of(
    struct arena *a, const char *server, const struct kube_config_options *options);
