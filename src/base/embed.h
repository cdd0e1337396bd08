#pragma once

/* A file of the source tree as a constant text in the program.
 *
 *   EMBED(fetch_script, "src/kinds/llmkube/scripts/fetch.sh");      const char fetch_script[]
 *
 * The path is seen from the top of the tree, where make runs. The object must depend on the file in
 * the Makefile: the compiler's dependency list does not know it. */

#define EMBED(symbol, path)                                                                        \
    __asm__(".pushsection .rodata\n"                                                               \
            ".type " #symbol ", @object\n" #symbol ":\n"                                           \
            ".incbin \"" path "\"\n"                                                               \
            ".byte 0\n"                                                                            \
            ".size " #symbol ", . - " #symbol "\n"                                                 \
            ".popsection\n");                                                                      \
    extern const char symbol[] __attribute__((visibility("hidden")))

/* For what is no text: symbol_end is where it ends. */
#define EMBED_BYTES(symbol, path)                                                                  \
    __asm__(".pushsection .rodata\n" #symbol ":\n"                                                 \
            ".incbin \"" path "\"\n" #symbol "_end:\n"                                             \
            ".byte 0\n"                                                                            \
            ".popsection\n");                                                                      \
    extern const char symbol[] __attribute__((visibility("hidden")));                              \
    extern const char symbol##_end[] __attribute__((visibility("hidden")))
