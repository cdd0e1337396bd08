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

static void tensor(struct buf *b, const char *name, uint64_t values, uint32_t type, uint64_t offset)
{
    text(b, name);
    u32(b, 2);
    u64(b, values);
    u64(b, 3);
    u32(b, type);
    u64(b, offset);
}

/* A head like a real one: with a vocabulary to be skipped in the middle, and a huge text. */
static void build(struct buf *b, int vocabulary)
{
    buf_add_text(b, "GGUF");
    u32(b, 3);
    u64(b, 2);
    u64(b, 11);
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
    u32_pair(b, "general.alignment", 64);
    tensor(b, "output.weight", 512, 12, 14656); /* Q4_K: two blocks a row */
    tensor(b, "token_embd.weight", 128, 0, 0);
}

/* Where the tensors of a file with this head begin. */
static uint64_t data_start(const struct buf *head)
{
    return (head->len + 63) / 64 * 64;
}

/* Feeds a file of which `there` bytes are there, and its head whole or cut; "" if nothing is wrong.
 */
static const char *verdict(const struct buf *head, uint64_t there)
{
    struct gguf_reader r;
    struct error err = { 0 };
    gguf_init(&r, test_arena());
    gguf_feed(&r, (struct str){ head->ptr, there < head->len ? (size_t)there : head->len });
    gguf_end(&r);
    check(gguf_check_size(&r, (int64_t)there, &err) == !err.code);
    gguf_done(&r);
    return arena_strdup(test_arena(), err.text);
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
            "'Q4_K_M', 'contextLength': 4096, 'layerCount': 3, 'headCount': 4, 'tensorCount': 2,"
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

TEST(a_gguf_file_that_is_cut_short_is_known_by_its_head)
{
    struct buf file = BUF_INIT((size_t)16 << 20);
    build(&file, 10);
    uint64_t whole = data_start(&file) + 14656 + 2 * 144 * 3;
    check_text(verdict(&file, whole), "");
    check_text(verdict(&file, whole + 100), "");
    check_text(verdict(&file, whole - 1),
        arena_printf(test_arena(),
            "is cut short: it has %llu of the %llu bytes that its header tells",
            (unsigned long long)whole - 1,
            (unsigned long long)whole));
    check(strstr(verdict(&file, file.len), " bytes that its header tells"));
    check(strstr(verdict(&file, file.len - 1), "ends inside its header"));
    check(strstr(verdict(&file, file.len / 2), "ends inside its header"));
    check_text(verdict(&file, 0), "is cut short: it is empty");
    buf_done(&file);
}

TEST(a_gguf_file_whose_tensors_are_of_no_known_type_or_shape_is_not_called_cut_short)
{
    static const struct {
        uint32_t alignment, dimensions, type;
        uint64_t values;
    } odd[] = {
        { 32, 2, 200, 512 },             /* a type of tomorrow */
        { 32, 2, 4, 512 },               /* one that was taken back */
        { 32, 90, 0, 512 },              /* more dimensions than are read */
        { 48, 2, 0, 512 },               /* no power of two */
        { 0, 2, 0, 512 },                /* none at all */
        { 32, 2, 0, (uint64_t)1 << 62 }, /* more than can be counted */
        { 32, 2, 0, ((uint64_t)-1) / 4 },
    };
    for (size_t i = 0; i < lengthof(odd); i++) {
        struct buf file = BUF_INIT(1 << 20);
        buf_add_text(&file, "GGUF");
        u32(&file, 3);
        u64(&file, 1);
        u64(&file, 1);
        u32_pair(&file, "general.alignment", odd[i].alignment);
        text(&file, "output.weight");
        u32(&file, odd[i].dimensions);
        for (uint32_t d = 0; d < odd[i].dimensions; d++)
            u64(&file, odd[i].values);
        u32(&file, odd[i].type);
        u64(&file, 0);
        check_text(verdict(&file, file.len), "");
        buf_done(&file);
    }
}
