#pragma once

/* The transport between the hub and an MCP server: the standard streams of a local child process
 * (wire_child.c) or of a container (wire_attach.c), or HTTP requests (wire_http.c).
 *
 *   start ──> up ──> line* ──> down ──> up …        it reconnects by itself, after a pause
 *
 * Lines that are not messages (log text that a server writes to its standard output) are passed on,
 * too; the hub drops them. */

#include "base/error.h"
#include "base/str.h"
#include "http/message.h"

struct env;
struct http_client;
struct http_origin;
struct kube_client;
struct kube_config;
struct loop;
struct mcp_exchange;
struct mcp_wire;

/* Identifies what a message and its answers belong to. */
struct wire_tag {
    void *state; /* private to the wire */
};

/* The limit of one message. A longer line ends the connection. */
#define WIRE_LINE_BYTES_MAX ((size_t)64 << 20)

struct wire_handlers {
    /* Messages can be sent. fresh: this server process has received nothing from us yet. */
    void (*up)(void *ctx, bool fresh);
    /* The line is valid during the call. tag: of the send() that it answers, if the wire knows. */
    void (*line)(void *ctx, struct wire_tag *tag, struct str line);
    /* Requests in progress are lost. up() may follow. */
    void (*down)(void *ctx, const struct error *why);
    /* The exchange of a tag has ended: no more lines follow for it. Only from wires with tags. */
    void (*ended)(void *ctx, struct wire_tag *tag, const struct error *err);
    /* The server has lost our session: repeat the handshake and this message. */
    void (*forgot)(void *ctx, struct wire_tag *tag);
};

/* How to send a message; all zero: a message of the hub itself. */
struct wire_note {
    struct mcp_exchange *x; /* over HTTP its headers are sent with the message */
    struct wire_tag *tag;
};

struct wire_ops {
    void (*start)(struct mcp_wire *w, const struct wire_handlers *on, void *ctx);
    /* Only between up() and down(). Copies the message. */
    void (*send)(struct mcp_wire *w, struct str message, const struct wire_note *note);
    /* The hub expects nothing more for this tag. NULL: the wire has no tags. */
    void (*forget)(struct mcp_wire *w, struct wire_tag *tag);
    void (*free)(struct mcp_wire *w);
};

struct mcp_wire {
    const struct wire_ops *ops;
};

struct wire_child_options {
    struct loop *loop;
    const char *const *argv;      /* argv[0] is looked up in PATH; ended by NULL */
    const char *const *variables; /* "NAME=value", added to our own environment; NULL: none */
};
/* Runs the server as a child process in its own process group, and restarts it when it ends. Copies
 * its options. */
struct mcp_wire *wire_child_new(const struct wire_child_options *options) must_check;

struct wire_attach_options {
    struct loop *loop;
    struct kube_client *client;
    const struct kube_config *config;
    const char *ns, *name; /* of the workload: its pods have the label app=NAME */
    /* Why there is no connection yet, for the log; NULL: not interested. */
    void (*said)(void *ctx, const char *what);
    void *ctx;
};
/* Attaches to the container `mcp` of the workload's running pod, and again when that ends. A
 * container that it attached to before is not fresh: its server has completed the handshake. Client
 * and config must outlive the wire. */
struct mcp_wire *wire_attach_new(const struct wire_attach_options *options) must_check;

struct wire_http_options {
    const struct env *env;
    struct http_client *http;
    const struct http_origin *origin; /* must outlive the wire */
    const char *path, *authority;
    struct http_headers headers; /* of its client: for messages of the hub itself */
};
/* Sends each message as a POST. Keeps a legacy server's session. */
struct mcp_wire *wire_http_new(const struct wire_http_options *options) must_check;
