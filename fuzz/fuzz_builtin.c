/* The API server with the kinds of Kubernetes: their defaults and checks, admission, what is done
 * to pods, definitions of custom kinds and objects of those. */

#include "fuzz/apiserver.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_requests(data, size, NULL);
}
