/* The head of a GGUF file, which anybody may serve: read whole or in pieces, it says the same. */

#include "fetch/gguf.h"
#include "fuzz/fuzz.h"

static const char *read_in_pieces(struct arena *a, struct str bytes, size_t piece)
{
    struct gguf_reader r;
    gguf_init(&r, a);
    for (size_t at = 0; at < bytes.len; at += piece) {
        size_t size = bytes.len - at < piece ? bytes.len - at : piece;
        gguf_feed(&r, (struct str){ bytes.ptr + at, size });
    }
    gguf_end(&r);
    struct error err = { 0 };
    bool whole = gguf_check_size(&r, (int64_t)bytes.len, &err);
    assert(whole == !err.code);
    const char *text = arena_printf(a, "%s %s", json_to_text(a, gguf_json(a, &r)), err.text);
    gguf_done(&r);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str bytes = { (const char *)data, size };
    const char *whole = read_in_pieces(&a, bytes, size ? size : 1);
    const char *bitten = read_in_pieces(&a, bytes, 7);
    assert(strcmp(whole, bitten) == 0);
    return 0;
}
