#include "merge/fieldset.h"

#include "base/buf.h"
#include "tests/test.h"

static const struct fieldset *set_of(const char *texts)
{
    const struct fieldset *s = fieldset_empty();
    struct str rest = str_of(texts);
    while (rest.ptr && *texts) {
        const char *text = str_dup(test_arena(), str_cut(&rest, ' '));
        s = fieldset_union(test_arena(), s, fieldset_of_texts(test_arena(), &text, 1));
    }
    return s;
}

static const char *text_of(const struct fieldset *s)
{
    size_t count;
    const struct field_path *paths = fieldset_paths(test_arena(), s, &count);
    const char *text = "";
    for (size_t i = 0; i < count; i++)
        text = arena_printf(
            test_arena(), "%s%s%s", text, i ? " " : "", field_path_text(test_arena(), &paths[i]));
    return text;
}

TEST(fieldsets_unite_and_keep_parents_apart_from_children)
{
    const struct fieldset *s = set_of(".b.c .a .b .a[k=1].x");
    check_text(text_of(s), ".a .b .a[k=1].x .b.c");
    check_int((int64_t)fieldset_size(s), 4);
    struct field_path path;
    struct error err;
    check(field_path_parse(test_arena(), ".a[k=1]", &path, &err));
    check(!fieldset_has(s, &path));
    check(field_path_parse(test_arena(), ".a[k=1].x", &path, &err));
    check(fieldset_has(s, &path));
}

TEST(fieldsets_subtract_members_but_not_what_lies_below_them)
{
    struct arena *a = test_arena();
    const struct fieldset *s = set_of(".a .a.b .a.b.c .d");
    check_text(text_of(fieldset_difference(a, s, set_of(".a .d"))), ".a.b .a.b.c");
    check_text(text_of(fieldset_difference(a, s, set_of(".a.b"))), ".a .d .a.b.c");
    check_text(text_of(fieldset_difference_below(a, s, set_of(".a.b"))), ".a .d");
    check_text(text_of(fieldset_difference_below(a, s, set_of(".a"))), ".d");
    check(fieldset_is_empty(fieldset_difference(a, s, s)));
    check(fieldset_is_empty(fieldset_difference_below(a, s, set_of(".a .d"))));
}

TEST(fieldsets_intersect_member_by_member)
{
    struct arena *a = test_arena();
    const struct fieldset *s = set_of(".a .a.b .c.d");
    check_text(text_of(fieldset_intersection(a, s, set_of(".a.b .c"))), ".a.b");
    check(fieldset_is_empty(fieldset_intersection(a, s, set_of(".c"))));
    check_text(text_of(fieldset_leaves(a, s)), ".a.b .c.d");
}

TEST(fieldset_laws_hold)
{
    struct arena *a = test_arena();
    static const char *const sets[] = { "", ".a", ".a.b", ".a .a.b .c", ".c.d[=1] .c.d", ".a.b.c" };
    for (size_t i = 0; i < lengthof(sets); i++)
        for (size_t j = 0; j < lengthof(sets); j++) {
            const struct fieldset *x = set_of(sets[i]), *y = set_of(sets[j]);
            const struct fieldset *both = fieldset_intersection(a, x, y);
            const struct fieldset *all = fieldset_union(a, x, y);
            check(fieldset_equal(both, fieldset_intersection(a, y, x)));
            check(fieldset_equal(all, fieldset_union(a, y, x)));
            check(fieldset_equal(fieldset_union(a, both, fieldset_difference(a, x, y)), x));
            check_int((int64_t)(fieldset_size(all) + fieldset_size(both)),
                (int64_t)(fieldset_size(x) + fieldset_size(y)));
            check(fieldset_equal(x, y) == (i == j));
        }
}

TEST(fields_v1_is_read_and_written_in_the_order_of_the_server)
{
    static const char text[] =
        "{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:a\":{}}},\"f:spec\":{\"f:items\":{"
        "\"k:{\\\"name\\\":\\\"b\\\"}\":{\".\":{},\"f:name\":{}},"
        "\"k:{\\\"name\\\":\\\"\\\\u003c\\\"}\":{},"
        "\"k:{\\\"port\\\":9,\\\"protocol\\\":\\\"TCP\\\"}\":{},"
        "\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{},"
        "\"v:1\":{},\"v:\\\"x\\\"\":{},\"v:true\":{},\"i:2\":{}}}}";
    struct json v;
    struct error err;
    const struct fieldset *s, *t;
    check(json_parse(test_arena(), str_of(text), &v, &err));
    check(fieldset_from_json(test_arena(), v, &s, &err));
    check(fieldset_from_json(test_arena(), fieldset_to_json(test_arena(), s), &t, &err));
    check(fieldset_equal(s, t));
    cleanup(buf_done) struct buf b = BUF_INIT(4096);
    fieldset_print(&b, s);
    /* Names in front of keys, 9 before 80, < before letters. */
    check_text(buf_text(&b),
        "{\"f:metadata\":{\"f:labels\":{\".\":{},\"f:a\":{}}},\"f:spec\":{\"f:items\":{"
        "\"k:{\\\"name\\\":\\\"\\\\u003c\\\"}\":{},"
        "\"k:{\\\"name\\\":\\\"b\\\"}\":{\".\":{},\"f:name\":{}},"
        "\"k:{\\\"port\\\":9,\\\"protocol\\\":\\\"TCP\\\"}\":{},"
        "\"k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}\":{},"
        "\"v:1\":{},\"v:\\\"x\\\"\":{},\"v:true\":{},\"i:2\":{}}}}");
}

TEST(fields_v1_of_a_later_server_is_read_as_far_as_it_is_known)
{
    const struct fieldset *s;
    struct error err;
    check(fieldset_from_json(test_arena(), test_json("{'z:new': {}, 'f:a': {}}"), &s, &err));
    check_text(text_of(s), ".a");
    check(fieldset_from_json(test_arena(), json_none, &s, &err));
    check(fieldset_is_empty(s));
}

TEST(fields_v1_that_is_none_is_refused)
{
    struct arena *a = test_arena();
    const struct fieldset *s;
    struct error err;
    check_fails(fieldset_from_json(a, test_json("{'a': {}}"), &s, &err), err, "a is no element");
    check_fails(fieldset_from_json(a, test_json("{'f:a': 1}"), &s, &err), err, "got integer");
    check_fails(fieldset_from_json(a, test_json("{'k:{': {}}"), &s, &err), err, "the key {");
    check_fails(fieldset_from_json(a, test_json("{'k:[]': {}}"), &s, &err), err, "no object");
    check_fails(fieldset_from_json(a, test_json("{'i:x': {}}"), &s, &err), err, "no number");
    check_fails(fieldset_from_json(a, test_json("[]"), &s, &err), err, "expected an object");
}
