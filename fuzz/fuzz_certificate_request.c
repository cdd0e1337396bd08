/* Requests for certificates: PEM, or the DER in it. */

#include "apiserver/certificate_request.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str text = { (const char *)data, size }, der = text;
    bool readable;
    if (!certificate_request_der(&a, text, &der))
        der = text;
    if (certificate_request_has_group(der, "system:masters", &readable))
        assert(readable);
    return 0;
}
