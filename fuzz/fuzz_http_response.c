#include "fuzz/fuzz.h"
#include "fuzz/http.h"

/* What a server answers to our client, as HTTP/1.1. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_world w;
    if (size == 0)
        return 0;
    fuzz_open(&w, false, false, data[0]);
    fuzz_feed(&w, data + 1, size - 1);
    fuzz_close(&w);
    return 0;
}
