#pragma once

/* A fuzz target is one function that takes any bytes and aborts if a promise is broken. With
 * libFuzzer (make fuzz) bytes come from its search; in every other build from the files that are
 * given to the program (replay.c), which is how `make test` replays the corpus. */

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
