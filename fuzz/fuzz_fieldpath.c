/* Field paths as people type them, and FieldsV1 as servers store it: what is read prints and reads
 * back the same, and sets keep the laws of sets. */

#include "base/buf.h"
#include "fuzz/fuzz.h"
#include "merge/fieldset.h"

/* Whether the text of a path leads back to it: names with its punctuation do not. */
static bool is_plain(const struct field_path *path)
{
    for (size_t i = 0; i < path->count; i++) {
        const struct path_element *e = &path->elements[i];
        if (e->kind == PATH_FIELD && (!*e->value.string || strpbrk(e->value.string, ".[]")))
            return false;
        if (e->kind == PATH_KEY)
            json_each_member (m, e->value)
                if (*m->key == '"')
                    return false;
    }
    return true;
}

static void check_path(struct arena *a, const char *text)
{
    struct field_path path, again;
    struct error err;
    if (!field_path_parse(a, text, &path, &err)) {
        assert(err.code == ERR_INVALID && err.text[0]);
        return;
    }
    const char *printed = field_path_text(a, &path);
    if (!is_plain(&path) || strchr(printed, '\\'))
        return;
    assert(field_path_parse(a, printed, &again, &err) && again.count == path.count);
    for (size_t i = 0; i < path.count; i++)
        assert(path_element_compare(&path.elements[i], &again.elements[i]) == 0);
}

static void check_set(struct arena *a, struct json v)
{
    const struct fieldset *s, *again;
    struct json back;
    struct error err;
    if (!fieldset_from_json(a, v, &s, &err)) {
        assert(err.code != ERR_NONE && err.text[0]);
        return;
    }
    assert(fieldset_from_json(a, fieldset_to_json(a, s), &again, &err));
    assert(fieldset_equal(s, again));
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    fieldset_print(&b, s);
    assert(json_parse(a, buf_str(&b), &back, &err));
    assert(fieldset_from_json(a, back, &again, &err) && fieldset_equal(s, again));
    const struct fieldset *leaves = fieldset_leaves(a, s);
    assert(fieldset_equal(fieldset_intersection(a, s, leaves), leaves));
    assert(fieldset_is_empty(fieldset_difference(a, leaves, s)));
    assert(fieldset_equal(fieldset_union(a, s, leaves), s));
    size_t count;
    const struct field_path *paths = fieldset_paths(a, s, &count);
    assert(count == fieldset_size(s));
    for (size_t i = 0; i < count && i < 50; i++)
        assert(fieldset_has(s, &paths[i]) && field_path_text(a, &paths[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json v;
    struct error err;
    check_path(&a, arena_strndup(&a, (const char *)data, size));
    if (json_parse(&a, (struct str){ (const char *)data, size }, &v, &err))
        check_set(&a, v);
    return 0;
}
