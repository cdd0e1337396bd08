#include "fetch/gguf.h"
#include "tests/test.h"

static void u32(struct buf *b, uint32_t v)
{
    buf_add(b, &v, 4);
}
static void u64(struct buf *b, uint64_t v)
{
    buf_add(b, &v, 8);
}
static void text(struct buf *b, const char *s)
{
    u64(b, strlen(s));
    buf_add_text(b, s);
}
static void text_pair(struct buf *b, const char *key, const char *value)
{
    text(b, key);
    u32(b, 8);
    text(b, value);
}
static void u32_pair(struct buf *b, const char *key, uint32_t value)
{
    text(b, key);
    u32(b, 4);
    u32(b, value);
}

/* A head like a real one: with a vocabulary to be skipped in the middle, and a huge text. */
static void build(struct buf *b, int vocabulary)
{
    buf_add_text(b, "GGUF");
    u32(b, 3);
    u64(b, 291);
    u64(b, 10);
    text_pair(b, "general.architecture", "llama");
    text_pair(b, "general.name", "Tiny Chat 0.1B (test)");
    text(b, "tokenizer.ggml.tokens");
    u32(b, 9);
    u32(b, 8);
    u64(b, (uint64_t)vocabulary);
    for (int i = 0; i < vocabulary; i++)
        text(b, "token");
    text(b, "tokenizer.ggml.scores");
    u32(b, 9);
    u32(b, 6);
    u64(b, 1000);
    for (int i = 0; i < 1000; i++)
        u32(b, 0);
    char *long_text = arena_alloc(test_arena(), 100001);
    memset(long_text, 'x', 100000);
    text_pair(b, "tokenizer.chat_template", long_text);
    u32_pair(b, "general.file_type", 15);
    u32_pair(b, "llama.context_length", 4096);
    u32_pair(b, "other.context_length", 1);
    u32_pair(b, "llama.block_count", 3);
    u32_pair(b, "llama.attention.head_count", 4);
}

TEST(a_gguf_head_is_read_in_pieces_of_any_size)
{
    struct buf file = BUF_INIT((size_t)16 << 20);
    build(&file, 5000);
    static const size_t pieces[] = { 1, 3, 7, 4096, 1 << 20 };
    for (size_t p = 0; p < lengthof(pieces); p++) {
        struct gguf_reader r;
        gguf_init(&r, test_arena());
        for (size_t at = 0; at < file.len; at += pieces[p]) {
            size_t size = file.len - at < pieces[p] ? file.len - at : pieces[p];
            gguf_feed(&r, (struct str){ file.ptr + at, size });
            check(r.rest.size <= 4 * GGUF_KEEP_BYTES + 64 || r.rest.size <= 65536);
        }
        check_int(gguf_end(&r), GGUF_DONE);
        check_json(gguf_json(test_arena(), &r),
            "{'architecture': 'llama', 'modelName': 'Tiny Chat 0.1B (test)', 'quantization': "
            "'Q4_K_M', 'contextLength': 4096, 'layerCount': 3, 'headCount': 4, 'tensorCount': 291,"
            " 'fileVersion': 3}");
        gguf_done(&r);
    }
    buf_done(&file);
}

TEST(what_is_not_gguf_says_so)
{
    struct gguf_reader r;
    gguf_init(&r, test_arena());
    gguf_feed(&r, STR("this is not a model file"));
    check_int(r.state, GGUF_BAD);
    check_text(r.error.text, "not a GGUF file: it does not begin with GGUF");
    gguf_done(&r);
    struct buf file = BUF_INIT((size_t)16 << 20);
    build(&file, 10);
    gguf_init(&r, test_arena());
    gguf_feed(&r, (struct str){ file.ptr, file.len / 2 });
    check_int(gguf_end(&r), GGUF_BAD);
    check_text(r.error.text, "not a GGUF file: it ends inside its head");
    gguf_done(&r);
    buf_done(&file);
}
