#pragma once

/* What carries messages between the hub and an MCP server: the standard streams of a local child
 * (wire_child.c) or of a container (wire_attach.c), or HTTP requests (wire_http.c).
 *
 *   start ──> up ──> line* ──> down ──> up …        it comes back by itself, with a pause between
 *
 * Lines that are no messages (log text that a server writes to its standard output) come as well;
 * the hub drops them. */

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

/* Marks what a message and its answers belong to. */
struct wire_tag {
    void *state; /* the wire's own */
};

/* One message. More than this in one line ends the connection. */
#define WIRE_LINE_BYTES_MAX ((size_t)64 << 20)

struct wire_handlers {
    /* Messages can be sent. fresh: this server process has heard nothing from us yet. */
    void (*up)(void *ctx, bool fresh);
    /* Valid during the call. tag: of the send() that it answers, on wires that can tell. */
    void (*line)(void *ctx, struct wire_tag *tag, struct str line);
    /* What was under way is lost. up() may follow. */
    void (*down)(void *ctx, const struct error *why);
    /* The exchange of a tag is over: nothing more comes for it. Only from wires that tag. */
    void (*ended)(void *ctx, struct wire_tag *tag, const struct error *err);
    /* The server has forgotten our session: the handshake is due, and this is to be said again. */
    void (*forgot)(void *ctx, struct wire_tag *tag);
};

/* What a message is sent with; all zero: a message of the hub's own. */
struct wire_note {
    struct mcp_exchange *x; /* its headers go with the message over HTTP */
    struct wire_tag *tag;
};

struct wire_ops {
    void (*start)(struct mcp_wire *w, const struct wire_handlers *on, void *ctx);
    /* Only between up() and down(). Copies. */
    void (*send)(struct mcp_wire *w, struct str message, const struct wire_note *note);
    /* The hub wants nothing more for this tag. NULL: the wire does not tag. */
    void (*forget)(struct mcp_wire *w, struct wire_tag *tag);
    void (*free)(struct mcp_wire *w);
};

struct mcp_wire {
    const struct wire_ops *ops;
};

struct wire_child_options {
    struct loop *loop;
    const char *const *argv;      /* argv[0] is looked up in PATH; ended by NULL */
    const char *const *variables; /* "NAME=value", over our own environment; NULL: none */
};
/* Runs the server as a child of this process, in a process group of its own, and again when it
 * ends. Copies its options. */
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
 * container that was attached to before is not fresh: its server has had the handshake. Client and
 * config outlive it. */
struct mcp_wire *wire_attach_new(const struct wire_attach_options *options) must_check;

struct wire_http_options {
    const struct env *env;
    struct http_client *http;
    const struct http_origin *origin; /* outlives it */
    const char *path, *authority;
    struct http_headers headers; /* of the client that it is for: with messages of the hub's own */
};
/* Each message is a POST. A legacy server's session is kept. */
struct mcp_wire *wire_http_new(const struct wire_http_options *options) must_check;
