#pragma once

/* The sessions of MCP clients (2025-11-25 and older): who owns one, what its client said in
 * `initialize`, and which session of the backend stands behind it.
 *
 * A session is used by the identity that began it and by nobody else. Beyond the limits, of their
 * number and of the bytes that they hold, the one that was not used for the longest time goes; one
 * that is unused for the time to live goes too. A session costs a few hundred bytes beside its
 * `initialize` message. */

#include "base/str.h"
#include "base/table.h"

struct env;
struct mcp_identity;
struct sessions;

#define SESSION_ID_BYTES_MAX 256
/* A longer `initialize` is not kept, so it cannot be said again. */
#define SESSION_INITIALIZE_MAX ((size_t)64 << 10)
#define SESSION_TTL_MS ((int64_t)2 * 60 * 60 * 1000)

struct mcp_session {
    struct table_node node;
    struct mcp_session *older, *newer; /* by use */
    int64_t used_ms;
    char *id;         /* as the client knows it */
    char *backend_id; /* as the backend knows it now */
    char *subject;    /* NULL: not authenticated */
    char *issuer;
    char *initialize; /* the client's message, to say it again */
    size_t initialize_bytes;
    size_t bytes; /* all that is held for it */
    size_t users; /* exchanges that hold it */
    void *peer;   /* what the hub knows of this client; see mcp/hub.h */
};

struct sessions_options {
    const struct env *env;
    size_t count_max; /* 0: 100,000 */
    size_t bytes_max; /* 0: 64 MiB */
    int64_t ttl_ms;   /* 0: SESSION_TTL_MS */
    /* A session ends, for whatever reason; NULL: not interested. */
    void (*ended)(void *ctx, struct mcp_session *s);
    void *ctx;
};

struct sessions *sessions_new(const struct sessions_options *options) must_check;
void sessions_free(struct sessions *s);
size_t sessions_count(const struct sessions *s);
size_t sessions_bytes(const struct sessions *s);

/* Everything is copied. A session with that id is replaced. */
struct mcp_session *session_add(struct sessions *s, struct str id, struct str backend_id,
    const struct mcp_identity *owner, struct str initialize);
/* NULL: there is none, it has expired, or it belongs to another identity. Counts as use. */
struct mcp_session *session_find(
    struct sessions *s, struct str id, const struct mcp_identity *who) must_check;
/* More or less is held for a session, which is in use: others may go. */
void session_charge(struct sessions *s, struct mcp_session *session, int64_t bytes);
void session_set_backend_id(struct mcp_session *s, struct str id);
void session_remove(struct sessions *s, struct mcp_session *session);
/* A new id nobody can guess: 128 random bits as a UUID. */
void session_new_id(const struct env *env, char ret[37]);
