#pragma once

/* An MCP proxy in this process between a server and a client of ours, on loopback sockets.
 *
 *   cleanup(quay_close) struct quay q; quay_open(&q, "{'transport': 'streamable-http'}");
 *   struct seen got = { 0 };
 *   quay_post(&q, "", "{'jsonrpc': '2.0', …}", &got);
 *   await(&q, got.ended); */

#include "mcp/proxy.h"
#include "mcp/runconfig.h"
#include "tests/http/rig.h"

#define QUAY_SEEN_MAX 32

struct quay_request {
    char method[16], path[128], session[64], forwarded[64], version[32], custom[64],
        authorization[2048], signature[96], timestamp[24];
    char body[8192];
};

/* What a path of the service beside the proxy answers: an issuer, a webhook, … */
struct quay_service {
    const char *path;
    int status;
    const char *body; /* NULL: does not answer */
};

struct quay {
    struct loop *loop;
    struct http_server *server; /* the MCP server */
    struct http_client *client, *back;
    struct mcp_proxy *proxy;
    struct runconfig config;
    struct arena arena;
    struct http_origin origin;
    /* what came to the server */
    struct quay_request seen[QUAY_SEEN_MAX];
    size_t seen_count;
    int sessions;       /* begun */
    bool forgetful;     /* the next request of a session is answered 404 */
    const char *result; /* what calls are answered with; NULL: {"said":1.50} */
    bool holds;         /* answers to tools/call hang */
    int gone;           /* exchanges that ended without an answer of ours */
    size_t waiting;
    char lines[4096];  /* of print_line */
    char warned[1024]; /* all warnings of the start, a line each */
    /* the service, whose address is @SERVICE@ in the config */
    struct http_server *service;
    const struct quay_service *services; /* ended by an empty one */
    struct quay_request asked[QUAY_SEEN_MAX];
    size_t asked_count;
};

/* config: single quotes are fine; host, port and remote_url are added. */
void quay_open(struct quay *q, const char *config);
/* bodies_max as in mcp_proxy_options. */
void quay_open_with(struct quay *q, const char *config, size_t bodies_max);
void quay_close(struct quay *q);
/* Of the loopback address; somebody else may take it in between. */
uint16_t quay_free_port(void);
/* headers: "name: value\n…" */
void quay_send(struct quay *q, const char *method, const char *path, const char *headers,
    const char *body, struct seen *seen);
void quay_post(struct quay *q, const char *headers, const char *body, struct seen *seen);
/* Sends and waits: the body of the answer. */
const char *quay_ask(struct quay *q, const char *headers, const char *body, int *ret_status);
