#pragma once

/* The built-in API server as a service of this process: its disk, its files, its port. */

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
    const char *folder; /* NULL: nothing is kept */
    bool no_fsync;
    const char *listen; /* "127.0.0.1:6443", ":6443", "[::1]:6443"; port 0: any free one */
    const char *names;  /* further ones of the server, with commas; NULL: none */
    const char *service_cidr;
    /* As in struct apiserver_options. */
    bool loopback_endpoints;
    const struct pod_log_source *logs;
    /* Who runs pods; borrowed. NULL: nobody. */
    const struct pod_session_source *sessions;
};

/* Whether it is ADDRESS:PORT or :PORT. */
bool api_service_check_listen(const char *text, struct error *err) must_check;

/* Serves from the loop's first turn on. The arena outlives it. */
struct api_service *api_service_new(
    struct arena *a, const struct api_service_options *options, struct error *err) must_check;
/* Cuts off all clients; what they had open is closed. */
void api_service_close(struct api_service *s);
/* NULL is fine. */
void api_service_free(struct api_service *s);
struct apiserver *api_service_server(const struct api_service *s);
struct apiserver_http *api_service_http(const struct api_service *s);
/* What clients on this machine call it by: "https://127.0.0.1:6443". */
const char *api_service_url(const struct api_service *s);
/* An administrator's. */
bool api_service_write_kubeconfig(
    const struct api_service *s, const char *path, struct error *err) must_check;

/* For a process that mainly serves: one heap, which keeps what a burst used. */
void api_service_tune_heap(void);
