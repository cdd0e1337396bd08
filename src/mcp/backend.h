#pragma once

/* Where requests go after all steps have passed them: a server that speaks HTTP (backend_http.c),
 * or a hub that shares one connection among all clients (hub.c). */

struct mcp_backend;
struct mcp_exchange;
struct mcp_session;

struct mcp_backend_ops {
    /* Takes over the exchange: exactly one answer_end() or last answer_message() follows, unless it
     * is cancelled. x->backend is set. */
    void (*send)(struct mcp_backend *b, struct mcp_exchange *x);
    /* The client has disconnected. */
    void (*cancel)(struct mcp_backend *b, struct mcp_exchange *x);
    /* Back-pressure. */
    void (*pause)(struct mcp_backend *b, struct mcp_exchange *x);
    void (*resume)(struct mcp_backend *b, struct mcp_exchange *x);
    /* NULL: it has no URL. */
    const char *(*url)(struct mcp_backend *b, const struct mcp_exchange *x);
    void (*free)(struct mcp_backend *b);
    /* Called before a session is freed; NULL: not interested. */
    void (*session_ended)(struct mcp_backend *b, struct mcp_session *s);
    /* it keeps the clients' sessions itself, not the proxy */
    bool owns_sessions;
};

struct mcp_backend {
    const struct mcp_backend_ops *ops;
};
