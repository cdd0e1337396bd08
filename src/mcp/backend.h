#pragma once

/* Where requests go once every step agreed: a server that speaks HTTP (backend_http.c), or a hub
 * that shares one connection among all clients (hub.c). */

struct mcp_backend;
struct mcp_exchange;
struct mcp_session;

struct mcp_backend_ops {
    /* Takes the exchange: exactly one answer_end() or last answer_message() follows, unless
     * cancelled. x->backend is set. */
    void (*send)(struct mcp_backend *b, struct mcp_exchange *x);
    /* The client left. */
    void (*cancel)(struct mcp_backend *b, struct mcp_exchange *x);
    /* Back-pressure. */
    void (*pause)(struct mcp_backend *b, struct mcp_exchange *x);
    void (*resume)(struct mcp_backend *b, struct mcp_exchange *x);
    /* NULL: it has none. */
    const char *(*url)(struct mcp_backend *b, const struct mcp_exchange *x);
    void (*free)(struct mcp_backend *b);
    /* Before it goes; NULL: not interested. */
    void (*session_ended)(struct mcp_backend *b, struct mcp_session *s);
    /* It keeps the clients' sessions itself: the proxy knows none. */
    bool owns_sessions;
};

struct mcp_backend {
    const struct mcp_backend_ops *ops;
};
