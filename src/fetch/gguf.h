#pragma once

/* The head of a GGUF file:
 *
 *   magic, version, counts │ metadata pairs, of which a few are kept │ where each tensor lies
 *
 * The last part tells how long the file must be. Fed in pieces of any size and never more than
 * GGUF_KEEP_BYTES held: a vocabulary of megabytes is skipped as it goes by. Versions 1 (32-bit
 * lengths), 2 and 3, little endian. */

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

/* The longest key or text value that is looked at; longer texts are skipped. */
#define GGUF_KEEP_BYTES ((size_t)4096)
#define GGUF_PAIRS_MAX ((uint64_t)65536)
/* How much of a file is read for it. */
#define GGUF_HEAD_BYTES_MAX ((int64_t)64 << 20)

struct gguf {
    uint32_t version;
    uint64_t tensor_count;
    char *architecture, *name, *license; /* NULL: not there */
    int64_t file_type;                   /* -1: not there, like the following */
    int64_t context_length, embedding_length, block_count, head_count;
    uint64_t file_bytes; /* that its tensors need; 0: not known */
};

enum gguf_state { GGUF_READING, GGUF_DONE, GGUF_BAD };

struct gguf_reader {
    struct arena *arena; /* of the texts in gguf */
    struct gguf gguf;
    enum gguf_state state;
    struct error error;     /* of GGUF_BAD */
    struct buf rest;        /* what did not make a whole item yet */
    bool headed, described; /* described: all pairs are known */
    bool cut;               /* no more bytes came where some were needed */
    char first[48];         /* bytes of a file that is none */
    size_t first_bytes;
    uint64_t position;  /* of the rest in the file */
    uint64_t alignment; /* of tensors */
    uint64_t pairs_left, tensors_left;
    uint64_t tensors_end; /* of the last one, from where they begin */
    uint64_t skip;        /* bytes of a value that nothing wants */
    uint64_t array_left;  /* elements of an array of texts */
};

void gguf_init(struct gguf_reader *r, struct arena *a);
void gguf_done(struct gguf_reader *r);
enum gguf_state gguf_feed(struct gguf_reader *r, struct str bytes);
/* No more bytes will come: a head that is not complete is bad. */
enum gguf_state gguf_end(struct gguf_reader *r);
/* As status.gguf of a Model has it; absent unless all pairs are known. */
struct json gguf_json(struct arena *a, const struct gguf_reader *r);
/* After gguf_end(): false if a file of that size lacks bytes for certain. Then the error goes
 * behind the file's name: "is cut short: …". */
bool gguf_check_size(const struct gguf_reader *r, int64_t size, struct error *err);
/* What a file that is no GGUF is, where that is plain: "is a web page, …". NULL: it may be a model.
 * name: of the file, NULL: not known. Text is a mistake only under the name of a GGUF file. */
const char *gguf_what_else(const struct gguf_reader *r, const char *name);
/* The head of an open file, fed to a reader that was initialized; ends it. */
bool gguf_read_file(struct gguf_reader *r, int fd, struct error *err);
