#pragma once

/* The head of a GGUF file: magic, version, counts and the metadata pairs, of which a few are kept.
 * Fed in pieces of any size and never more than GGUF_KEEP_BYTES held: a vocabulary of megabytes is
 * skipped as it goes by. Versions 1 (32-bit lengths), 2 and 3, little endian. */

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

/* The longest key or text value that is looked at; longer texts are skipped. */
#define GGUF_KEEP_BYTES ((size_t)4096)
#define GGUF_PAIRS_MAX ((uint64_t)65536)

struct gguf {
    uint32_t version;
    uint64_t tensor_count;
    char *architecture, *name, *license; /* NULL: not there */
    int64_t file_type;                   /* -1: not there, like the following */
    int64_t context_length, embedding_length, block_count, head_count;
};

enum gguf_state { GGUF_READING, GGUF_DONE, GGUF_BAD };

struct gguf_reader {
    struct arena *arena; /* of the texts in gguf */
    struct gguf gguf;
    enum gguf_state state;
    struct error error; /* of GGUF_BAD */
    struct buf rest;    /* what did not make a whole item yet */
    bool headed;
    uint64_t pairs_left;
    uint64_t skip;       /* bytes of a value that nobody wants */
    uint64_t array_left; /* elements of an array of texts */
};

void gguf_init(struct gguf_reader *r, struct arena *a);
void gguf_done(struct gguf_reader *r);
enum gguf_state gguf_feed(struct gguf_reader *r, struct str bytes);
/* No more bytes will come: a head that is not complete is bad. */
enum gguf_state gguf_end(struct gguf_reader *r);
/* As status.gguf of a Model has it; absent unless done. */
struct json gguf_json(struct arena *a, const struct gguf_reader *r);
