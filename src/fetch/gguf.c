#include "fetch/gguf.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"

#define BLOCK_BYTES ((size_t)1 << 20)
#define DIMENSIONS_MAX 8

enum gguf_type {
    TYPE_U8,
    TYPE_I8,
    TYPE_U16,
    TYPE_I16,
    TYPE_U32,
    TYPE_I32,
    TYPE_F32,
    TYPE_BOOL,
    TYPE_TEXT,
    TYPE_ARRAY,
    TYPE_U64,
    TYPE_I64,
    TYPE_F64,
    TYPE_COUNT,
};

static const uint8_t type_bytes[TYPE_COUNT] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

/* general.file_type, by its number; llama.cpp's enum llama_ftype. */
static const char *const file_types[] = {
    [0] = "F32",
    [1] = "F16",
    [2] = "Q4_0",
    [3] = "Q4_1",
    [7] = "Q8_0",
    [8] = "Q5_0",
    [9] = "Q5_1",
    [10] = "Q2_K",
    [11] = "Q3_K_S",
    [12] = "Q3_K_M",
    [13] = "Q3_K_L",
    [14] = "Q4_K_S",
    [15] = "Q4_K_M",
    [16] = "Q5_K_S",
    [17] = "Q5_K_M",
    [18] = "Q6_K",
    [19] = "IQ2_XXS",
    [20] = "IQ2_XS",
    [21] = "Q2_K_S",
    [22] = "IQ3_XS",
    [23] = "IQ3_XXS",
    [24] = "IQ1_S",
    [25] = "IQ4_NL",
    [26] = "IQ3_S",
    [27] = "IQ3_M",
    [28] = "IQ2_S",
    [29] = "IQ2_M",
    [30] = "IQ4_XS",
    [31] = "IQ1_M",
    [32] = "BF16",
    [36] = "TQ1_0",
    [37] = "TQ2_0",
};

/* ggml's tensor types by number: values per block and bytes per block. The size of a type that is
 * not listed is unknown. */
static const struct {
    uint16_t values, bytes;
} tensor_types[] = {
    [0] = { 1, 4 },      /* F32 */
    [1] = { 1, 2 },      /* F16 */
    [2] = { 32, 18 },    /* Q4_0 */
    [3] = { 32, 20 },    /* Q4_1 */
    [6] = { 32, 22 },    /* Q5_0 */
    [7] = { 32, 24 },    /* Q5_1 */
    [8] = { 32, 34 },    /* Q8_0 */
    [10] = { 256, 84 },  /* Q2_K */
    [11] = { 256, 110 }, /* Q3_K */
    [12] = { 256, 144 }, /* Q4_K */
    [13] = { 256, 176 }, /* Q5_K */
    [14] = { 256, 210 }, /* Q6_K */
    [16] = { 256, 66 },  /* IQ2_XXS */
    [17] = { 256, 74 },  /* IQ2_XS */
    [18] = { 256, 98 },  /* IQ3_XXS */
    [19] = { 256, 50 },  /* IQ1_S */
    [20] = { 32, 18 },   /* IQ4_NL */
    [21] = { 256, 110 }, /* IQ3_S */
    [22] = { 256, 82 },  /* IQ2_S */
    [23] = { 256, 136 }, /* IQ4_XS */
    [24] = { 1, 1 },     /* I8 */
    [25] = { 1, 2 },     /* I16 */
    [26] = { 1, 4 },     /* I32 */
    [27] = { 1, 8 },     /* I64 */
    [28] = { 1, 8 },     /* F64 */
    [29] = { 256, 56 },  /* IQ1_M */
    [30] = { 1, 2 },     /* BF16 */
    [34] = { 256, 54 },  /* TQ1_0 */
    [35] = { 256, 66 },  /* TQ2_0 */
    [39] = { 32, 17 },   /* MXFP4 */
};

void gguf_init(struct gguf_reader *r, struct arena *a)
{
    *r = (struct gguf_reader){ .arena = a, .alignment = 32 };
    r->gguf = (struct gguf){
        .file_type = -1,
        .context_length = -1,
        .embedding_length = -1,
        .block_count = -1,
        .head_count = -1,
    };
    buf_init(&r->rest, GGUF_KEEP_BYTES * 4);
}

void gguf_done(struct gguf_reader *r)
{
    buf_done(&r->rest);
}

static enum gguf_state bad(struct gguf_reader *r, const char *what)
{
    fail(&r->error, ERR_INVALID, "not a GGUF file: %s", what);
    return r->state = GGUF_BAD;
}

/* ---- a cursor over the buffer; `short_of` if an item is incomplete ---- */

struct cursor {
    const uint8_t *at, *end;
    bool short_of;
};

static uint64_t take_number(struct cursor *c, size_t bytes)
{
    if ((size_t)(c->end - c->at) < bytes) {
        c->short_of = true;
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++)
        value |= (uint64_t)c->at[i] << (8 * i);
    c->at += bytes;
    return value;
}

static uint64_t take_length(struct cursor *c, const struct gguf_reader *r)
{
    return take_number(c, r->gguf.version == 1 ? 4 : 8);
}

static int64_t extend(uint64_t value, enum gguf_type type)
{
    switch (type) {
    case TYPE_I8:
        return (int8_t)value;
    case TYPE_I16:
        return (int16_t)value;
    case TYPE_I32:
        return (int32_t)value;
    default:
        return value > INT64_MAX ? -1 : (int64_t)value;
    }
}

/* ---- pairs ---- */

static bool is_of_architecture(const struct gguf_reader *r, struct str key, const char *suffix)
{
    struct str end = str_of(suffix);
    if (!str_ends(key, end))
        return false;
    struct str prefix = { key.ptr, key.len - end.len };
    return !r->gguf.architecture || str_eq(prefix, str_of(r->gguf.architecture));
}

static void keep_number(struct gguf_reader *r, struct str key, int64_t value)
{
    struct gguf *g = &r->gguf;
    if (str_eq(key, STR("general.file_type")))
        g->file_type = value;
    else if (str_eq(key, STR("general.alignment")))
        r->alignment = value > 0 ? (uint64_t)value : 0;
    else if (is_of_architecture(r, key, ".context_length"))
        g->context_length = value;
    else if (is_of_architecture(r, key, ".embedding_length"))
        g->embedding_length = value;
    else if (is_of_architecture(r, key, ".block_count"))
        g->block_count = value;
    else if (is_of_architecture(r, key, ".attention.head_count"))
        g->head_count = value;
}

static void keep_text(struct gguf_reader *r, struct str key, struct str value)
{
    char **to = str_eq(key, STR("general.architecture")) ? &r->gguf.architecture
                : str_eq(key, STR("general.name"))       ? &r->gguf.name
                : str_eq(key, STR("general.license"))    ? &r->gguf.license
                                                         : NULL;
    if (to && value.len && !memchr(value.ptr, '\0', value.len))
        *to = str_dup(r->arena, value);
}

/* Skips an array value: only its extent matters. */
static bool skip_array(struct gguf_reader *r, struct cursor *c)
{
    uint64_t type = take_number(c, 4), count = take_length(c, r);
    if (c->short_of)
        return true;
    if (type == TYPE_TEXT) {
        r->array_left = count;
        return true;
    }
    if (type >= TYPE_COUNT || type == TYPE_ARRAY ||
        __builtin_mul_overflow(count, (uint64_t)type_bytes[type], &r->skip)) {
        bad(r, "an array of an unknown type");
        return false;
    }
    return true;
}

/* Reads one pair of key and value; sets c->short_of if it is incomplete. */
static bool read_pair(struct gguf_reader *r, struct cursor *c)
{
    uint64_t length = take_length(c, r);
    if (!c->short_of && length > GGUF_KEEP_BYTES)
        return bad(r, "a key is too long") != GGUF_BAD;
    if (c->short_of || (uint64_t)(c->end - c->at) < length) {
        c->short_of = true;
        return true;
    }
    struct str key = { (const char *)c->at, (size_t)length };
    c->at += length;
    uint64_t type = take_number(c, 4);
    if (c->short_of)
        return true;
    if (type == TYPE_ARRAY)
        return skip_array(r, c);
    if (type == TYPE_TEXT) {
        uint64_t bytes = take_length(c, r);
        if (c->short_of)
            return true;
        if (bytes > GGUF_KEEP_BYTES) {
            r->skip = bytes;
            return true;
        }
        if ((uint64_t)(c->end - c->at) < bytes) {
            c->short_of = true;
            return true;
        }
        keep_text(r, key, (struct str){ (const char *)c->at, (size_t)bytes });
        c->at += bytes;
        return true;
    }
    if (type >= TYPE_COUNT)
        return bad(r, "a value of an unknown type") != GGUF_BAD;
    uint64_t value = take_number(c, type_bytes[type]);
    if (!c->short_of && type != TYPE_F32 && type != TYPE_F64)
        keep_number(r, key, extend(value, (enum gguf_type)type));
    return true;
}

static bool read_head(struct gguf_reader *r, struct cursor *c)
{
    const uint8_t *first = c->at;
    uint64_t magic = take_number(c, 4);
    if (!c->short_of && magic != 0x46554747) { /* "GGUF" */
        size_t there = (size_t)(c->end - first);
        r->first_bytes = there < sizeof(r->first) ? there : sizeof(r->first);
        memcpy(r->first, first, r->first_bytes);
        return bad(r, "it does not begin with GGUF") != GGUF_BAD;
    }
    uint64_t version = take_number(c, 4);
    if (!c->short_of && (version < 1 || version > 3))
        return bad(r, "its version is not 1, 2 or 3") != GGUF_BAD;
    r->gguf.version = (uint32_t)version;
    r->gguf.tensor_count = take_length(c, r);
    r->pairs_left = take_length(c, r);
    if (!c->short_of && r->pairs_left > GGUF_PAIRS_MAX)
        return bad(r, "too many metadata pairs") != GGUF_BAD;
    r->headed = !c->short_of;
    return true;
}

/* ---- tensors ---- */

/* Bytes of a tensor; 0: unknown. */
static uint64_t tensor_bytes(uint64_t type, const uint64_t *lengths, uint64_t count)
{
    uint64_t values = 1, bytes;
    if (type >= lengthof(tensor_types) || !tensor_types[type].values)
        return 0;
    for (uint64_t i = 0; i < count; i++)
        if (__builtin_mul_overflow(values, lengths[i], &values))
            return 0;
    values /= tensor_types[type].values;
    return __builtin_mul_overflow(values, (uint64_t)tensor_types[type].bytes, &bytes) ? 0 : bytes;
}

/* The rest is not needed: the length of the file stays unknown. */
static void give_up_tensors(struct gguf_reader *r)
{
    r->tensors_end = r->alignment = r->tensors_left = 0;
}

static void read_tensor(struct gguf_reader *r, struct cursor *c)
{
    uint64_t lengths[DIMENSIONS_MAX], name = take_length(c, r), end;
    if (!c->short_of && name > GGUF_KEEP_BYTES) {
        give_up_tensors(r);
        return;
    }
    if (c->short_of || (uint64_t)(c->end - c->at) < name) {
        c->short_of = true;
        return;
    }
    c->at += name;
    uint64_t count = take_number(c, 4);
    if (!c->short_of && count > DIMENSIONS_MAX) {
        give_up_tensors(r);
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        lengths[i] = take_length(c, r);
    uint64_t type = take_number(c, 4), offset = take_number(c, 8);
    if (c->short_of)
        return;
    r->tensors_left--;
    if (__builtin_add_overflow(offset, tensor_bytes(type, lengths, count), &end))
        give_up_tensors(r);
    else if (end > r->tensors_end)
        r->tensors_end = end;
}

/* The head ends at `position`, and the tensors follow. */
static void finish(struct gguf_reader *r, uint64_t position)
{
    uint64_t start;
    r->state = GGUF_DONE;
    if (!r->alignment || (r->alignment & (r->alignment - 1)) || !r->tensors_end ||
        __builtin_add_overflow(position, r->alignment - 1, &start) ||
        __builtin_add_overflow(start & ~(r->alignment - 1), r->tensors_end, &r->gguf.file_bytes))
        r->gguf.file_bytes = 0;
}

/* ---- the reader ---- */

/* One step through the buffer; false if it is bad. c->short_of: more bytes are needed. */
static bool step(struct gguf_reader *r, struct cursor *c)
{
    if (r->skip) {
        uint64_t there = (uint64_t)(c->end - c->at);
        uint64_t over = r->skip < there ? r->skip : there;
        c->at += over;
        r->skip -= over;
        c->short_of = r->skip > 0;
        return true;
    }
    if (r->array_left) {
        uint64_t bytes = take_length(c, r);
        if (!c->short_of) {
            r->skip = bytes;
            r->array_left--;
        }
        return true;
    }
    if (!r->headed)
        return read_head(r, c);
    if (r->described) {
        read_tensor(r, c);
        return true;
    }
    if (!read_pair(r, c))
        return false;
    if (!c->short_of)
        r->pairs_left--;
    return true;
}

/* Whether no item is incomplete. */
static bool is_between(const struct gguf_reader *r)
{
    return r->headed && !r->pairs_left && !r->skip && !r->array_left;
}

enum gguf_state gguf_feed(struct gguf_reader *r, struct str bytes)
{
    while (r->state == GGUF_READING) {
        /* Completes the pending item from the new bytes; at most one item is pending. */
        size_t room = r->rest.limit - r->rest.len;
        size_t part = bytes.len < room ? bytes.len : room;
        buf_add(&r->rest, bytes.ptr, part);
        bytes = (struct str){ bytes.ptr ? bytes.ptr + part : NULL, bytes.len - part };
        struct cursor c = {
            .at = (const uint8_t *)r->rest.ptr,
            .end = (const uint8_t *)r->rest.ptr + r->rest.len,
        };
        const uint8_t *done = c.at;
        while (r->state == GGUF_READING && !c.short_of) {
            if (is_between(r) && !r->described) {
                r->described = true;
                r->tensors_left = r->gguf.tensor_count;
            }
            if (r->described && !r->tensors_left) {
                finish(r, r->position + (uint64_t)(c.at - (const uint8_t *)r->rest.ptr));
                break;
            }
            if (step(r, &c) && (!c.short_of || r->skip))
                done = c.at;
        }
        r->position += (uint64_t)(done - (const uint8_t *)r->rest.ptr);
        buf_eat(&r->rest, (size_t)(done - (const uint8_t *)r->rest.ptr));
        if (part == 0)
            break;
    }
    return r->state;
}

enum gguf_state gguf_end(struct gguf_reader *r)
{
    gguf_feed(r, (struct str){ 0 });
    r->cut = r->state == GGUF_READING;
    return r->cut ? bad(r, "it ends inside its head") : r->state;
}

bool gguf_read_file(struct gguf_reader *r, int fd, struct error *err)
{
    char *block = mem_new(BLOCK_BYTES);
    int64_t at = 0;
    ssize_t got = 1;
    while (r->state == GGUF_READING && at < GGUF_HEAD_BYTES_MAX && got > 0) {
        got = pread(fd, block, BLOCK_BYTES, (off_t)at);
        if (got > 0)
            gguf_feed(r, (struct str){ block, (size_t)got });
        at += got > 0 ? got : 0;
    }
    int number = errno;
    gguf_end(r);
    free(block);
    return got >= 0 || fail_errno(err, number, "reading");
}

static bool begins(struct str text, const char *with)
{
    size_t length = strlen(with);
    return text.len >= length && strncasecmp(text.ptr, with, length) == 0;
}

static bool is_text(struct str bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        if ((unsigned char)bytes.ptr[i] < ' ' && !memchr("\t\r\n", bytes.ptr[i], 3))
            return false;
    return bytes.len > 0;
}

const char *gguf_what_else(const struct gguf_reader *r, const char *name)
{
    struct str head = str_trim((struct str){ r->first, r->first_bytes });
    if (begins(head, "version https://git-lfs"))
        return "is a pointer of Git LFS, not the model: fetch the model itself with `git lfs pull`";
    if (name && !text_ends(name, ".gguf"))
        return NULL;
    if (begins(head, "<!doctype html") || begins(head, "<html"))
        return "is a web page, not a model: name the address of the file itself, which pages of a "
               "hub call \"download\"";
    return name && is_text(head) ? "is text, not a model" : NULL;
}

bool gguf_check_size(const struct gguf_reader *r, int64_t size, struct error *err)
{
    uint64_t there = (uint64_t)size;
    if (!there)
        return fail(err, ERR_INVALID, "is cut short: it is empty");
    if (r->cut && r->headed && r->position + r->rest.len >= there)
        return fail(err,
            ERR_INVALID,
            "is cut short: it has %llu bytes and ends inside its header",
            (unsigned long long)there);
    return r->gguf.file_bytes <= there || fail(err,
                                              ERR_INVALID,
                                              "is cut short: it has %llu of the %llu bytes that "
                                              "its header tells",
                                              (unsigned long long)there,
                                              (unsigned long long)r->gguf.file_bytes);
}

static struct json number(int64_t value)
{
    return json_if(value > 0, json_int(value));
}

struct json gguf_json(struct arena *a, const struct gguf_reader *r)
{
    const struct gguf *g = &r->gguf;
    if (!r->described)
        return json_none;
    const char *quantization = NULL;
    if (g->file_type >= 0 && (size_t)g->file_type < lengthof(file_types))
        quantization = file_types[g->file_type];
    return json_fields(a,
        { "architecture", json_str_or_absent(arena_strdup(a, g->architecture)) },
        { "modelName", json_str_or_absent(arena_strdup(a, g->name)) },
        { "license", json_str_or_absent(arena_strdup(a, g->license)) },
        { "quantization", json_str_or_absent(quantization) },
        { "contextLength", number(g->context_length) },
        { "embeddingSize", number(g->embedding_length) },
        { "layerCount", number(g->block_count) },
        { "headCount", number(g->head_count) },
        { "tensorCount",
            number(g->tensor_count > INT64_MAX ? INT64_MAX : (int64_t)g->tensor_count) },
        { "fileVersion", number(g->version) });
}
