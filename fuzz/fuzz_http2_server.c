#include "fuzz/fuzz.h"
#include "fuzz/http.h"

/* What a client sends to our server, as HTTP/2, after the preface. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_world w;
    if (size == 0)
        return 0;
    fuzz_open(&w, true, true, data[0]);
    wire_feed(w.wire, STR("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    fuzz_feed(&w, data + 1, size - 1);
    if (data[0] & 128)
        wire_drain(w.wire);
    fuzz_close(&w);
    return 0;
}
