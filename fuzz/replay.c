/* Feeds files to a fuzz target. Left out of libFuzzer's own builds, which have a main(). */

#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"

#define FILE_BYTES_MAX ((long)16 << 20)

static bool replay(const char *path)
{
    FILE *f = fopen(path, "rb");
    long size = f && fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
    if (size < 0 || size > FILE_BYTES_MAX || fseek(f, 0, SEEK_SET) != 0) {
        printf("%s: cannot be read\n", path);
        if (f)
            fclose(f);
        return false;
    }
    /* Exactly as large as the file, so that a sanitizer sees a read behind it. */
    uint8_t *data = mem_new((size_t)size);
    bool ok = fread(data, 1, (size_t)size, f) == (size_t)size;
    fclose(f);
    if (ok)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return ok;
}

int main(int argc, char **argv)
{
    int passed = 0, failed = 0;
    for (int i = 1; i < argc; i++) {
        /* Said first, because a broken promise aborts. */
        fprintf(stderr, "%s\n", argv[i]);
        if (replay(argv[i]))
            passed++;
        else
            failed++;
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}
