#pragma once

/* JSON-RPC 2.0 messages as MCP uses them: one object, never a batch. The text of a message is kept
 * and changed by splicing, so that all other bytes stay unchanged. */

#include "mcp/middleware.h"

struct buf;

enum rpc_result {
    RPC_OK,
    RPC_PARSE_ERROR, /* -32700: not JSON */
    RPC_INVALID,     /* -32600: JSON, but not a single message */
};

#define RPC_PARSE_ERROR_CODE (-32700)
#define RPC_INVALID_CODE (-32600)
#define RPC_METHOD_CODE (-32601)
#define RPC_PARAMS_CODE (-32602)
#define RPC_INTERNAL_CODE (-32603)
#define RPC_SESSION_CODE (-32001)
#define RPC_HEADER_CODE (-32020)
#define RPC_CAPABILITY_CODE (-32021)
#define RPC_VERSION_CODE (-32022)

#define RPC_VERSION_MODERN "2026-07-28"
#define RPC_VERSION_LEGACY "2025-11-25"
#define RPC_META_VERSION "io.modelcontextprotocol/protocolVersion"
#define RPC_META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define RPC_META_CLIENT "io.modelcontextprotocol/clientInfo"
#define RPC_META_SERVER "io.modelcontextprotocol/serverInfo"
#define RPC_META_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"
#define RPC_META_LOG_LEVEL "io.modelcontextprotocol/logLevel"

/* Everything in *ret points into raw or the arena. A byte order mark before the object is allowed.
 * If a key occurs twice, the last value counts and raw becomes a text with only that one: the
 * server must see the same message that was checked. */
enum rpc_result rpc_read(
    struct arena *a, struct str raw, struct mcp_message *ret, struct error *err) must_check;

/* Finds the text of the value at a dotted path of keys, in valid JSON. False: there is none, or one
 * of its keys is written with escapes. */
bool rpc_span(struct str raw, const char *path, struct str *ret) must_check;
/* Replaces the value at the path in raw by a text; the value must exist. */
bool rpc_splice(struct arena *a, struct str raw, const char *path, struct str value,
    struct str *ret) must_check;
/* Adds a member to the map at the path ("": the message itself). False: there is no such map. */
bool rpc_insert(struct arena *a, struct str raw, const char *path, const char *key,
    struct str value, struct str *ret) must_check;

/* A name in the form of the header Mcp-Name: plain ASCII, or =?base64?…?=. */
struct str rpc_header_value(struct arena *a, const char *name);

/* {"jsonrpc":"2.0","id":ID,"error":{…}}; id.ptr NULL: without an id; data absent: without it. */
struct str rpc_error(
    struct arena *a, struct str id, int64_t code, const char *message, struct json data);
struct str rpc_response(struct arena *a, struct str id, struct json result);
