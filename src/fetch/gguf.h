#pragma once

/* The head of a GGUF file:
 *
 *   magic, version, counts │ metadata pairs, of which a few are kept │ offset of each tensor
 *
 * The last part gives the minimum length of the file. Accepts pieces of any size and holds at most
 * GGUF_KEEP_BYTES: a vocabulary of megabytes is skipped without being stored. Supports versions 1
 * (32-bit lengths), 2 and 3, little endian. */

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"

/* The longest key or string value that is read; longer ones are skipped. */
#define GGUF_KEEP_BYTES ((size_t)4096)
#define GGUF_PAIRS_MAX ((uint64_t)65536)
/* How much of a file to read for its head. */
#define GGUF_HEAD_BYTES_MAX ((int64_t)64 << 20)

struct gguf {
    uint32_t version;
    uint64_t tensor_count;
    char *architecture, *name, *license; /* NULL: missing */
    int64_t file_type;                   /* -1: missing, like the following */
    int64_t context_length, embedding_length, block_count, head_count;
    uint64_t file_bytes; /* minimum length, by its tensors; 0: unknown */
};

enum gguf_state { GGUF_READING, GGUF_DONE, GGUF_BAD };

struct gguf_reader {
    struct arena *arena; /* for the strings in gguf */
    struct gguf gguf;
    enum gguf_state state;
    struct error error;     /* of GGUF_BAD */
    struct buf rest;        /* an incomplete item */
    bool headed, described; /* described: all pairs are known */
    bool cut;               /* the data ended inside the head */
    char first[48];         /* the first bytes of a file that is not GGUF */
    size_t first_bytes;
    uint64_t position;  /* offset of `rest` in the file */
    uint64_t alignment; /* of tensors */
    uint64_t pairs_left, tensors_left;
    uint64_t tensors_end; /* end of the last one, relative to the first */
    uint64_t skip;        /* remaining bytes of a skipped value */
    uint64_t array_left;  /* remaining elements of an array of strings */
};

void gguf_init(struct gguf_reader *r, struct arena *a);
void gguf_done(struct gguf_reader *r);
enum gguf_state gguf_feed(struct gguf_reader *r, struct str bytes);
/* The data has ended: an incomplete head is bad. */
enum gguf_state gguf_end(struct gguf_reader *r);
/* In the form of a Model's status.gguf; absent unless all pairs are known. */
struct json gguf_json(struct arena *a, const struct gguf_reader *r);
/* After gguf_end(): false if a file of that size is certainly incomplete. Then the error is meant
 * to follow the file's name: "is cut short: …". */
bool gguf_check_size(const struct gguf_reader *r, int64_t size, struct error *err);
/* Describes a file that is clearly not GGUF: "is a web page, …". NULL: it may be a model. name: of
 * the file, NULL: unknown. Text is an error only in a file with the name of a GGUF file. */
const char *gguf_what_else(const struct gguf_reader *r, const char *name);
/* Reads the head of an open file with an initialized reader, and ends the reader. */
bool gguf_read_file(struct gguf_reader *r, int fd, struct error *err);
