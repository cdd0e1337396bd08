#include "mcp/exchange.h"

#include "mcp/era.h"
#include "mcp/rpc.h"

static bool refuse(struct mcp_exchange *x, int64_t code, const char *text, struct json data)
{
    mcp_answer_error(x, 400, code, text, data);
    chain_send_answer(x);
    return false;
}

static bool is_modern_version(struct str version)
{
    struct str first = STR(RPC_VERSION_MODERN);
    return version.len == first.len && memcmp(version.ptr, first.ptr, first.len) >= 0 &&
           version.ptr[4] == '-' && version.ptr[7] == '-' && version.ptr[0] >= '0' &&
           version.ptr[0] <= '9';
}

bool era_check(struct mcp_exchange *x)
{
    struct arena *a = &x->arena;
    struct str header = http_header_find(x->headers, "mcp-protocol-version");
    if (x->request.kind != MCP_REQUEST && x->request.kind != MCP_NOTIFICATION)
        return true;
    struct json meta = json_member(x->request.params, "_meta");
    const char *version = json_text(json_member(meta, RPC_META_VERSION));
    if (!version && !is_modern_version(header))
        return true;
    if (!version) {
        if (x->request.kind == MCP_NOTIFICATION)
            return true;
        return refuse(x,
            RPC_PARAMS_CODE,
            "params._meta must name " RPC_META_VERSION " in this protocol version",
            json_none);
    }
    if (header.ptr && !str_eq(header, str_of(version)))
        return refuse(x,
            RPC_HEADER_CODE,
            arena_printf(a,
                "MCP-Protocol-Version header \"%.*s\" does not match _meta protocol version \"%s\"",
                (int)header.len,
                header.ptr,
                version),
            json_map(a,
                { "header", json_strn(a, header.ptr, header.len) },
                { "body", json_str(version) }));
    if (!text_eq(version, RPC_VERSION_MODERN))
        return refuse(x,
            RPC_VERSION_CODE,
            arena_printf(a,
                "unsupported MCP protocol version \"%s\" (supported: [" RPC_VERSION_MODERN "])",
                version),
            json_map(a,
                { "requested", json_str(version) },
                { "supported", json_list(a, json_str(RPC_VERSION_MODERN)) }));
    if (x->request.kind == MCP_REQUEST &&
        !json_is(json_member(meta, RPC_META_CAPABILITIES), JSON_MAP))
        return refuse(
            x, RPC_PARAMS_CODE, "params._meta must have " RPC_META_CAPABILITIES, json_none);
    return true;
}
