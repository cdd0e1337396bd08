#pragma once

/* The middleware chain of the MCP proxy: the steps that a RunConfig lists in `middleware_configs`,
 * in that order, outermost first.
 *
 *   request head ──> serve()* ──> head()*  ──> body ──> message()*  ──> backend
 *   client       <── begun()* <── answer()* (innermost first, one call for each JSON-RPC message)
 *   end()*        once for each step, last, always: even if the client left or a step answered
 *
 * Every request passes all steps, for any path and method, except /health and requests that a
 * step's serve() answers. message() is called for a request with a body, after the core has parsed
 * it; a body that is not a JSON-RPC message is refused before. For GET and DELETE only head() and
 * end() are called.
 *
 * A hook returns
 *   MCP_NEXT    the next step decides
 *   MCP_ANSWER  the answer was set with mcp_answer(); nothing is sent to the backend
 *   MCP_LATER   the step waits for something (JWKS, Redis, webhook, PDP) and calls
 *               mcp_step_continue() once, never from inside the hook itself. If end() comes first,
 *               the client is gone: the step cancels its call and continues nothing.
 *
 * A step does I/O only through o->http, so that it can be fuzzed and simulated. Files named in its
 * parameters are read in open(). A step is a constant: its process-wide state is what open()
 * returned, and its state for one exchange is *slot (initially NULL). */

#include "base/arena.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "http/message.h"

struct env;
struct http_client;
struct loop;
struct mcp_exchange;

enum mcp_verdict { MCP_NEXT, MCP_ANSWER, MCP_LATER };

/* What open() gets. All of it outlives the step. */
struct mcp_open {
    struct arena *arena; /* lives as long as the process */
    struct loop *loop;
    const struct env *env; /* clock and random numbers */
    struct http_client *http;
    struct json config; /* the complete RunConfig */
    /* Value of an environment variable, or NULL: secrets are passed by environment. */
    const char *(*variable)(void *ctx, const char *name);
    /* All variables, "NAME=value", ended by NULL; NULL: none. */
    const char *const *variables;
    /* Writes one line (without a line end) to the audit log's default destination, standard
     * output. */
    void (*print_line)(void *ctx, struct str line);
    /* Warns at startup about settings that are accepted but have no effect; NULL: no warnings. */
    void (*warn)(void *ctx, const char *text);
    void *ctx;
};

struct mcp_step {
    const char *type; /* as in middleware_configs[].type */
    /* Dotted paths of the supported parameters, ended by NULL. A path includes everything below it;
     * "*" is any key or item. A warning names the other parameters. NULL: every parameter is
     * supported. */
    const char *const *parameters;
    /* NULL and err: the RunConfig is refused and the process does not start. A step without state
     * returns any non-NULL pointer. */
    void *(*open)(const struct mcp_open *o, struct json params, struct error *err);
    void (*close)(void *state); /* NULL: nothing to free */
    /* Serves a path that the process answers itself, outside the chain: metadata, metrics. True:
     * the answer was set with mcp_answer(), and no other hook is called. */
    bool (*serve)(void *state, struct mcp_exchange *x);
    enum mcp_verdict (*head)(void *state, struct mcp_exchange *x, void **slot);
    enum mcp_verdict (*message)(void *state, struct mcp_exchange *x, void **slot);
    /* Called once, after all message() hooks: whether answer() needs the messages of this exchange.
     * If no step does, the answer is streamed unread. */
    bool (*wants_answer)(void *state, struct mcp_exchange *x, void **slot);
    /* Handles a message from the server: the response, or a notification or request before it. May
     * change it with mcp_message_set_result(). MCP_ANSWER replaces the message by the JSON-RPC
     * error that was set with mcp_answer_error(). */
    enum mcp_verdict (*answer)(void *state, struct mcp_exchange *x, void **slot);
    /* The start of the answer is sent: mcp_status() is known. For streams that stay open. */
    void (*begun)(void *state, struct mcp_exchange *x, void **slot);
    void (*end)(void *state, struct mcp_exchange *x, void **slot);
};

/* All steps: middleware/steps.c. Ended by NULL. */
extern const struct mcp_step *const mcp_steps[];

enum mcp_kind {
    MCP_NONE,         /* no body */
    MCP_REQUEST,      /* method and id */
    MCP_NOTIFICATION, /* method, no id */
    MCP_RESPONSE,     /* result or error, and id */
};

/* A JSON-RPC message. raw is forwarded byte for byte unless a step changes it. */
struct mcp_message {
    enum mcp_kind kind;
    struct str raw;
    struct json document; /* the whole message */
    struct str id_raw;    /* the id as written, "a" with its quotes; .ptr NULL: none */
    struct json id;
    const char *method; /* NULL for a response */
    struct json params; /* absent, or a map */
    struct json result; /* of a response */
    struct json error;
    /* The target of the method: params.name of tools/call and prompts/get, params.uri of
     * resources/read and resources/(un)subscribe; NULL otherwise. */
    const char *resource;
    struct json arguments; /* params.arguments of tools/call and prompts/get; absent if none */
    bool modern;           /* 2026-07-28 or later: _meta names a protocol version */
};

struct mcp_identity {
    const char *subject; /* NULL: not authenticated (yet) */
    const char *name;    /* claim "name", else NULL */
    const char *email;
    const char *issuer;
    struct json claims;
    const char *token;      /* as the client sent it; never logged */
    const char *token_type; /* "Bearer" */
};

/* ---- the request ---- */

/* Lives as long as the exchange; while answer() runs on a stream, only as long as the current
 * message. After the message *slot has its previous value again. */
struct arena *mcp_arena(struct mcp_exchange *x);
struct str mcp_method(const struct mcp_exchange *x);
struct str mcp_path(const struct mcp_exchange *x);  /* without the query, still encoded */
struct str mcp_query(const struct mcp_exchange *x); /* .ptr NULL: none */
struct str mcp_authority(const struct mcp_exchange *x);
struct http_headers mcp_headers(const struct mcp_exchange *x); /* as the client sent them */
bool mcp_is_tls(const struct mcp_exchange *x);
const char *mcp_remote_address(const struct mcp_exchange *x); /* "10.0.0.7", without port */
uint16_t mcp_remote_port(const struct mcp_exchange *x);
const char *mcp_session_id(const struct mcp_exchange *x); /* as the client sees it; NULL: none */
int64_t mcp_started_ms(const struct mcp_exchange *x);     /* on env's monotonic clock */
int64_t mcp_started_wall_ms(const struct mcp_exchange *x);
/* Content-Length; -1: unknown. */
int64_t mcp_body_bytes(const struct mcp_exchange *x);
/* The maximum size of the body; the core answers 413 for larger ones. For the step `bodylimit`. */
void mcp_set_body_limit(struct mcp_exchange *x, int64_t bytes);
/* Keeps a body of at most that many bytes for end(), even for a request that is refused before its
 * body is complete: the answer is delayed until then. Call it in head(). */
void mcp_capture_request(struct mcp_exchange *x, int64_t bytes_max);
/* The body as received; .ptr NULL: not kept. For end(). */
struct str mcp_captured_request(const struct mcp_exchange *x);

/* Never NULL; kind MCP_NONE until the body is complete. */
const struct mcp_message *mcp_request(const struct mcp_exchange *x);
/* The authenticated client. The step `auth` sets it; strings must live in mcp_arena() or longer. */
const struct mcp_identity *mcp_identity(const struct mcp_exchange *x);
void mcp_set_identity(struct mcp_exchange *x, const struct mcp_identity *identity);

/* ---- the backend request; in head() and message() ---- */

/* Replaces the value at a dotted path below the message ("params.name") and keeps every other byte.
 * False: there is no such value. mcp_request() is parsed again. */
bool mcp_request_splice(struct mcp_exchange *x, const char *path, struct json value) must_check;
/* Replaces the whole message, for mutating webhooks. False: it is not a JSON-RPC message of the
 * same kind. */
bool mcp_request_replace(struct mcp_exchange *x, struct json message, struct error *err) must_check;
/* Sets a header of the backend request, replacing the client's; value NULL removes it. Copies
 * both. */
void mcp_backend_header(struct mcp_exchange *x, const char *name, const char *value);
/* The headers contain a signature of the request, so the core adds none of its own. A session that
 * the server has lost ends, and requests are not translated for a server of another era. */
void mcp_set_signed(struct mcp_exchange *x);
/* The URL of the backend request, "http://host:port/path?query"; NULL on stdio. */
const char *mcp_backend_url(const struct mcp_exchange *x);
/* The client's headers with all changes so far: for signatures. */
struct http_headers mcp_backend_headers(struct mcp_exchange *x);

/* ---- answering instead of the backend ---- */

/* Sets the answer; copies everything. content_type NULL: none. Then return MCP_ANSWER. */
void mcp_answer(struct mcp_exchange *x, int status, const char *content_type, struct str body);
void mcp_answer_header(struct mcp_exchange *x, const char *name, const char *value);
/* A JSON-RPC error with the id of the request (without an id if it has none). data may be absent.
 */
void mcp_answer_error(
    struct mcp_exchange *x, int status, int64_t code, const char *message, struct json data);

/* The step denies the request, for any status: for the audit log. */
void mcp_set_denied(struct mcp_exchange *x);
bool mcp_is_denied(const struct mcp_exchange *x);

/* ---- the backend's answer; in answer() and end() ---- */

int mcp_status(const struct mcp_exchange *x); /* 0: there was no answer */
int64_t mcp_answer_bytes(const struct mcp_exchange *x);
/* The message for which answer() is called. */
const struct mcp_message *mcp_reply(const struct mcp_exchange *x);
void mcp_message_set_result(struct mcp_exchange *x, struct json result);
/* Keeps the first `max` bytes of the answer's body for end(); call it in head() or message(). */
void mcp_capture_answer(struct mcp_exchange *x, size_t max);
struct str mcp_captured(const struct mcp_exchange *x);
/* Whether the answer is an event stream: then captured bytes are events. */
bool mcp_is_stream(const struct mcp_exchange *x);

/* After MCP_LATER: continues as if the hook had returned this verdict. */
void mcp_step_continue(struct mcp_exchange *x, enum mcp_verdict verdict);
