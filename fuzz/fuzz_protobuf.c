/* The body of a request in protobuf, from anybody who may write: what is read prints and parses. */

#include "apiserver/core/protobuf.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json object, again;
    struct error err;
    if (!protobuf_decode(&a, (struct str){ (const char *)data, size }, NULL, &object, &err))
        return 0;
    char *text = json_to_text(&a, object);
    assert(json_parse(&a, str_of(text), &again, &err));
    assert(json_get_text(again, "kind"));
    return 0;
}
