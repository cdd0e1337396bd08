#include "node/paths.h"

#include "tests/test.h"

TEST(paths_are_translated_where_they_are_whole)
{
    static const struct root_mount mounts[] = { { "/pods/1/m", "/models", true },
        { "/pods/1/c", "/models/cache", false } };
    static const char *const rows[][2] = {
        { "/models", "/pods/1/m" },
        { "/models/a.gguf", "/pods/1/m/a.gguf" },
        { "/models/cache/x", "/pods/1/c/x" },
        { "--model=/models/a", "--model=/pods/1/m/a" },
        { "a:/models:/models/cache", "a:/pods/1/m:/pods/1/c" },
        { "cp '/models/a' /models", "cp '/pods/1/m/a' /pods/1/m" },
        { "/models-old /x/models ./models /models.d", "/models-old /x/models ./models /models.d" },
        { "http://h/models", "http://h/models" },
        { "", "" },
    };
    for (size_t i = 0; i < lengthof(rows); i++)
        check_text(paths_translate(test_arena(), rows[i][0], mounts, 2), rows[i][1]);
}
