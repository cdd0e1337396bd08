/* Selectors: what is read becomes text that reads as the same selector. The same bytes also go to
 * the rules for names. */

#include "base/names.h"
#include "base/selector.h"
#include "fuzz/fuzz.h"

static void check_labels(struct arena *a, const char *text)
{
    struct selector s, again;
    struct error err;
    if (!selector_parse(a, text, &s, &err)) {
        assert(err.code != ERR_NONE && err.text[0]);
        return;
    }
    const char *written = selector_to_text(a, &s);
    if (strlen(written) < 60000)
        assert(selector_parse(a, written, &again, &err));
    else
        return;
    assert(s.count == again.count && text_eq(written, selector_to_text(a, &again)));
    for (size_t i = 0; i < s.count; i++) {
        struct json labels = json_map(a, { s.requirements[i].key, json_str("5") });
        assert(selector_matches(&s, labels) == selector_matches(&again, labels));
        assert(s.requirements[i].op == again.requirements[i].op);
    }
}

static void check_names(struct arena *a, const char *text)
{
    const char *name = name_shorten(a, text, 40);
    assert(name_is_dns1123_label(name) && strlen(name) <= 40);
    assert(text_eq(name, name_shorten(a, name, 40)));
    const char *joined = name_join(a, text, "-cache", 63);
    assert(name_is_dns1123_label(joined) && text_ends(joined, "-cache"));
    for (enum name_kind kind = NAME_DNS1123_LABEL; kind <= NAME_LABEL_VALUE; kind++) {
        struct error err = { 0 };
        assert(name_check(kind, text, &err) == (err.code == ERR_NONE));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *text = arena_strndup(&a, (const char *)data, size);
    check_labels(&a, text);
    check_names(&a, text);
    struct selector s;
    struct error err;
    if (selector_parse_fields(&a, text, &s, &err))
        (void)selector_matches_fields(&s, json_fields(&a, { "metadata.name", json_str("x") }));
    struct json v;
    if (json_parse(&a, str_of(text), &v, &err) && selector_from_json(&a, v, "spec", &s, &err))
        (void)selector_matches(&s, json_empty_map());
    return 0;
}
