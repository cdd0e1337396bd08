/* YAML: never hangs or overruns; what is read prints as YAML that reads back equal, and as JSON
 * that YAML reads equal too. */

#include "base/buf.h"
#include "base/yaml.h"
#include "base/yaml_place.h"
#include "fuzz/fuzz.h"

static void check_same(struct arena *a, struct str text, struct json v)
{
    struct json list;
    struct error err;
    assert(yaml_parse_all(a, text, "again", &list, &err));
    assert(list.count == 1 && json_equal(json_item(list, 0), v));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json list;
    struct error err;
    if (!yaml_parse_all(&a, (struct str){ (const char *)data, size }, "x.yaml", &list, &err)) {
        assert(err.code != ERR_NONE && text_starts(err.text, "x.yaml:"));
        return 0;
    }
    for (size_t i = 0; i < list.count && i < 3; i++)
        yaml_line_of((struct str){ (const char *)data, size }, i, "a.b[1].c");
    json_each (document, list) {
        /* Aliases can make the text far longer than the input. */
        cleanup(buf_done) struct buf yaml = BUF_INIT((size_t)4 << 20);
        cleanup(buf_done) struct buf json = BUF_INIT((size_t)4 << 20);
        yaml_print(&yaml, *document);
        json_print(&json, *document);
        if (!buf_overflowed(&yaml))
            check_same(&a, buf_str(&yaml), *document);
        if (!buf_overflowed(&json))
            check_same(&a, buf_str(&json), *document);
    }
    return 0;
}
