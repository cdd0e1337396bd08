/* A Kubernetes object in protobuf on standard input, the same as JSON on standard output. */

#include <stdio.h>

#include "apiserver/core/protobuf.h"
#include "base/buf.h"

int main(void)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    cleanup(buf_done) struct buf body = BUF_INIT((size_t)16 << 20);
    char piece[65536];
    size_t got;
    while ((got = fread(piece, 1, sizeof(piece), stdin)))
        buf_add(&body, piece, got);
    struct json object;
    struct error err;
    if (!protobuf_decode(&a, buf_str(&body), NULL, &object, &err)) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    puts(json_to_text(&a, object));
    return 0;
}
