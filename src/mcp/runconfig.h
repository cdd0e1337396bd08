#pragma once

/* The RunConfig: the file that ToolHive's operator, and ours, writes for the process that runs one
 * MCP server, `runconfig.json` of schema v0.1.0. Only the fields that the proxy needs are read
 * here; the middleware steps read the rest from `document`. */

#include "base/json.h"

#define RUNCONFIG_BYTES_MAX ((size_t)4 << 20)

enum runconfig_transport { TRANSPORT_STREAMABLE_HTTP, TRANSPORT_SSE, TRANSPORT_STDIO };

struct runconfig {
    struct json document;
    const char *name, *image;
    enum runconfig_transport transport;
    bool serves_sse; /* proxy_mode: clients speak HTTP+SSE of 2024-11-05 */
    const char *host;
    int64_t port, target_port;
    const char *remote_url; /* NULL: one of our workloads */
    int64_t generation;     /* of the MCPServer; 0: unknown */
    const int64_t *backend_replicas;
    struct json args, env_vars, labels;
    struct json middleware; /* list of { type, parameters } */
    struct json allowed_origins;
    struct json header_forward;
    const char *endpoint_prefix;
    bool trust_proxy_headers, stateless;
};

/* generation_text: the value of THV_MCPSERVER_GENERATION or NULL. An invalid value is ignored, with
 * a sentence in *ret_warning. Fails with the path of an invalid field. */
bool runconfig_read(struct arena *a, struct str text, const char *generation_text,
    struct runconfig *ret, const char **ret_warning, struct error *err) must_check;

const char *runconfig_transport_name(enum runconfig_transport t);
