#include "fuzz/fuzz.h"
#include "mcp/lines.h"
#include "mcp/rpc.h"
#include "mcp/runconfig.h"

/* Lines of a server, each of them a message perhaps, or a RunConfig. What is changed in a message
 * leaves a message of the same kind. */

static void check_splice(struct arena *a, const struct mcp_message *m)
{
    struct mcp_message again;
    struct str raw, span;
    struct error err;
    if (m->id_raw.ptr && rpc_splice(a, m->raw, "id", STR("\"new\""), &raw)) {
        assert(rpc_read(a, raw, &again, &err) == RPC_OK && again.kind == m->kind);
        assert(str_eq(again.id_raw, STR("\"new\"")));
    }
    if (json_is(m->result, JSON_MAP) && rpc_insert(a, m->raw, "result", "k", STR("1"), &raw))
        assert(rpc_read(a, raw, &again, &err) == RPC_OK &&
               json_present(json_member(again.result, "k")));
    if (rpc_span(m->raw, "params._meta.progressToken", &span))
        assert(span.ptr >= m->raw.ptr && span.ptr + span.len <= m->raw.ptr + m->raw.len);
}

static void on_line(void *ctx, struct str line)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct mcp_message m;
    struct error err;
    size_t *count = ctx;
    assert(!memchr(line.ptr, '\n', line.len));
    ++*count;
    if (rpc_read(&a, line, &m, &err) == RPC_OK)
        check_splice(&a, &m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str all = { (const char *)data, size };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct runconfig config;
    const char *warning;
    struct error err;
    size_t counts[2] = { 0 };
    for (int i = 0; i < 2; i++) {
        struct lines l;
        size_t piece = i ? 3 : size + 1;
        lines_init(&l, 4096);
        for (size_t at = 0; at < size; at += piece) {
            size_t count = size - at < piece ? size - at : piece;
            if (!lines_feed(&l, (struct str){ all.ptr + at, count }, on_line, &counts[i]))
                break;
        }
        lines_done(&l);
    }
    if (runconfig_read(&a, all, "7", &config, &warning, &err))
        assert(config.generation == 7);
    return 0;
}
