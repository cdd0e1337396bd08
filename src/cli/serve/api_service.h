#pragma once

/* The built-in API server as a service of this process, with its storage, its files and its
 * port. */

#include "base/arena.h"
#include "base/error.h"

struct apiserver;
struct apiserver_http;
struct api_service;
struct loop;
struct pod_log_source;
struct pod_session_source;

struct api_service_options {
    struct loop *loop;
    const char *folder; /* NULL: in memory only */
    bool no_fsync;
    const char *listen; /* "127.0.0.1:6443", ":6443", "[::1]:6443"; port 0: any free one */
    const char *names;  /* additional comma-separated names of the server; NULL: none */
    const char *service_cidr;
    /* As in struct apiserver_options. */
    bool loopback_endpoints;
    const struct pod_log_source *logs;
    /* The runner of pods; borrowed. NULL: none. */
    const struct pod_session_source *sessions;
};

/* Whether it is ADDRESS:PORT or :PORT. */
bool api_service_check_listen(const char *text, struct error *err) must_check;

/* Serves from the first turn of the loop. The arena must outlive it. */
struct api_service *api_service_new(
    struct arena *a, const struct api_service_options *options, struct error *err) must_check;
/* Disconnects all clients and ends their requests. */
void api_service_close(struct api_service *s);
/* NULL is allowed. */
void api_service_free(struct api_service *s);
struct apiserver *api_service_server(const struct api_service *s);
struct apiserver_http *api_service_http(const struct api_service *s);
/* The server's URL for clients on this machine: "https://127.0.0.1:6443". */
const char *api_service_url(const struct api_service *s);
/* Writes a kubeconfig for the administrator. */
bool api_service_write_kubeconfig(
    const struct api_service *s, const char *path, struct error *err) must_check;

/* For a process that is mainly a server: one heap, which keeps the memory of bursts. */
void api_service_tune_heap(void);
