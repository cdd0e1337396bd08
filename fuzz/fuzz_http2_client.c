#include "fuzz/fuzz.h"
#include "fuzz/http.h"

/* What a server sends to our client, as HTTP/2. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_world w;
    if (size == 0)
        return 0;
    fuzz_open(&w, false, true, data[0]);
    if (data[0] & 128)
        wire_ping(w.wire);
    fuzz_feed(&w, data + 1, size - 1);
    fuzz_close(&w);
    return 0;
}
