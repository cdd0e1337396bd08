#pragma once

/* The sessions of MCP clients (2025-11-25 and older): the owner of a session, its client's
 * `initialize`, and the corresponding session of the backend.
 *
 * Only the identity that started a session may use it. When the number of sessions or their total
 * size exceeds its limit, the least recently used one is removed; one that is unused for the time
 * to live is removed, too. A session needs a few hundred bytes plus its `initialize` message. */

#include "base/str.h"
#include "base/table.h"

struct env;
struct mcp_identity;
struct sessions;

#define SESSION_ID_BYTES_MAX 256
/* A longer `initialize` is not kept, so it cannot be repeated. */
#define SESSION_INITIALIZE_MAX ((size_t)64 << 10)
#define SESSION_TTL_MS ((int64_t)2 * 60 * 60 * 1000)

struct mcp_session {
    struct table_node node;
    struct mcp_session *older, *newer; /* by last use */
    int64_t used_ms;
    char *id;         /* as the client sees it */
    char *backend_id; /* the backend's current id for it */
    char *subject;    /* NULL: not authenticated */
    char *issuer;
    char *initialize; /* the client's message, to repeat it */
    size_t initialize_bytes;
    size_t bytes; /* all memory held for it */
    size_t users; /* exchanges that use it */
    void *peer;   /* the hub's state of this client; see mcp/hub.h */
};

struct sessions_options {
    const struct env *env;
    size_t count_max; /* 0: 100,000 */
    size_t bytes_max; /* 0: 64 MiB */
    int64_t ttl_ms;   /* 0: SESSION_TTL_MS */
    /* A session ends, for any reason; NULL: not interested. */
    void (*ended)(void *ctx, struct mcp_session *s);
    void *ctx;
};

struct sessions *sessions_new(const struct sessions_options *options) must_check;
void sessions_free(struct sessions *s);
size_t sessions_count(const struct sessions *s);
size_t sessions_bytes(const struct sessions *s);

/* Copies everything. Replaces a session with the same id. */
struct mcp_session *session_add(struct sessions *s, struct str id, struct str backend_id,
    const struct mcp_identity *owner, struct str initialize);
/* NULL: unknown, expired, or owned by another identity. Counts as use. */
struct mcp_session *session_find(
    struct sessions *s, struct str id, const struct mcp_identity *who) must_check;
/* Changes the memory counted for a session, which is in use: others may be removed. */
void session_charge(struct sessions *s, struct mcp_session *session, int64_t bytes);
void session_set_backend_id(struct mcp_session *s, struct str id);
void session_remove(struct sessions *s, struct mcp_session *session);
/* A new unguessable id: 128 random bits as a UUID. */
void session_new_id(const struct env *env, char ret[37]);
