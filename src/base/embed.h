#pragma once

/* Embeds a file of the source tree in the program as a constant text.
 *
 *   EMBED(fetch_script, "src/kinds/llmkube/scripts/fetch.sh");      const char fetch_script[]
 *
 * The path is relative to the top of the tree, where make runs. The Makefile must list the file as
 * a dependency of the object, because the compiler does not. */

#define EMBED(symbol, path)                                                                        \
    __asm__(".pushsection .rodata\n"                                                               \
            ".type " #symbol ", @object\n" #symbol ":\n"                                           \
            ".incbin \"" path "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".size " #symbol ", . - " #symbol "\n"                                                 \
            ".popsection\n");                                                                      \
    extern const char symbol[] __attribute__((visibility("hidden")))

/* For binary files: symbol_end marks the end. */
#define EMBED_BYTES(symbol, path)                                                                  \
    __asm__(".pushsection .rodata\n" #symbol ":\n"                                                 \
            ".incbin \"" path "\"\n" #symbol "_end:\n"                                             \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char symbol[] __attribute__((visibility("hidden")));                              \
    extern const char symbol##_end[] __attribute__((visibility("hidden")))
