#include "base/names.h"
#include "tests/test.h"

#define NINE "abcdefghi"
#define SIXTY_THREE NINE NINE NINE NINE NINE NINE NINE

TEST(names_are_valid_where_the_api_server_says_so)
{
    static const struct {
        const char *text;
        bool label, subdomain, dns1035, key, value;
    } rows[] = {
        { "a", 1, 1, 1, 1, 1 },
        { "7", 1, 1, 0, 1, 1 },
        { "", 0, 0, 0, 0, 1 },
        { "-a", 0, 0, 0, 0, 0 },
        { "a-", 0, 0, 0, 0, 0 },
        { "a--b", 1, 1, 1, 1, 1 },
        { "a.b", 0, 1, 0, 1, 1 },
        { "a..b", 0, 0, 0, 1, 1 },
        { ".a", 0, 0, 0, 0, 0 },
        { "a.", 0, 0, 0, 0, 0 },
        { "a.-b", 0, 0, 0, 1, 1 },
        { "A", 0, 0, 0, 1, 1 },
        { "a_b", 0, 0, 0, 1, 1 },
        { "_", 0, 0, 0, 0, 0 },
        { "a b", 0, 0, 0, 0, 0 },
        { "a\n", 0, 0, 0, 0, 0 },
        { "\u00e4", 0, 0, 0, 0, 0 },
        { "example.com/Name", 0, 0, 0, 1, 0 },
        { "Example.com/name", 0, 0, 0, 0, 0 },
        { "/name", 0, 0, 0, 0, 0 },
        { "name/", 0, 0, 0, 0, 0 },
        { "a/b/c", 0, 0, 0, 0, 0 },
        { SIXTY_THREE, 1, 1, 1, 1, 1 },
        { SIXTY_THREE "a", 0, 1, 0, 0, 0 },
        { SIXTY_THREE "." SIXTY_THREE "." SIXTY_THREE "." SIXTY_THREE, 0, 0, 0, 0, 0 },
        { SIXTY_THREE "." SIXTY_THREE "." SIXTY_THREE ".a/" SIXTY_THREE, 0, 0, 0, 1, 0 },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        const char *text = rows[i].text;
        if (name_is_dns1123_label(text) != rows[i].label ||
            name_is_dns1123_subdomain(text) != rows[i].subdomain ||
            name_is_dns1035(text) != rows[i].dns1035 || name_is_label_key(text) != rows[i].key ||
            name_is_label_value(text) != rows[i].value)
            test_fail(__FILE__, __LINE__, "row %zu: %s", i, text);
    }
    check(!name_is_dns1123_label(NULL));
    check(name_is_label_value(NULL));
}

TEST(bad_names_fail_with_the_words_of_the_api_server)
{
    struct error err;
    check_fails(name_check(NAME_DNS1123_LABEL, "a.b", &err), err, "must not contain dots");
    check_fails(name_check(NAME_DNS1123_LABEL, SIXTY_THREE "x", &err),
        err,
        "must be no more than 63 bytes");
    check(!name_check(NAME_DNS1123_LABEL, "A", &err));
    check_text(err.text,
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
        "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex "
        "used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')");
    check(!name_check(NAME_DNS1123_SUBDOMAIN, "a..b", &err));
    check_text(err.text,
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex "
        "used "
        "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
    check(!name_check(NAME_LABEL_VALUE, "a b", &err));
    check_text(err.text,
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
        "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
        "'my_value',  or '12345', regex used for validation is "
        "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')");
    check_fails(name_check(NAME_LABEL_KEY, "a/b/c", &err), err, "a valid label key must consist");
    check_fails(name_check(NAME_LABEL_KEY, "A.b/c", &err), err, "prefix part a lowercase RFC 1123");
    check_fails(name_check(NAME_LABEL_KEY, "a/", &err), err, "name part must be non-empty");
    check_fails(name_check(NAME_DNS1035_LABEL, "7b", &err), err, "start with an alphabetic");
}

TEST(a_name_that_fits_stays)
{
    check_text(name_shorten(test_arena(), "llama-3", 63), "llama-3");
    check_text(name_shorten(test_arena(), "7b", 63), "7b");
    check_text(name_shorten(test_arena(), SIXTY_THREE, 63), SIXTY_THREE);
    check_text(name_join(test_arena(), "llama", "-cache", 63), "llama-cache");
}

TEST(a_name_that_does_not_fit_ends_in_a_hash_of_all_of_it)
{
    struct arena *a = test_arena();
    const char *one = name_shorten(a, SIXTY_THREE "one", 63);
    const char *two = name_shorten(a, SIXTY_THREE "two", 63);
    check_int((int64_t)strlen(one), 63);
    check(name_is_dns1123_label(one) && name_is_dns1123_label(two));
    check(!text_eq(one, two));
    check(memcmp(one, two, 54) == 0);
    /* sha256("Meta/Llama 3.1!") begins with these digits. */
    check_text(name_shorten(a, "Meta/Llama 3.1!", 63), "meta-llama-3-1-9a313335");
    check(name_is_dns1035(name_shorten(a, "3.1", 63)));
    check(name_is_dns1035(name_shorten(a, "", 63)));
    check(name_is_dns1035(name_shorten(a, "///", 10)));
    check(!text_eq(name_shorten(a, "a.b", 63), name_shorten(a, "a-b", 63)));
}

TEST(a_shortened_name_is_a_label_at_every_length)
{
    struct arena *a = test_arena();
    static const char *const texts[] = {
        "a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v.w.x.y.z.a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q",
        "aaaa----------------------------------------------------------------------------------b",
        "\u00e4\u00f6\u00fc \u00e4\u00f6\u00fc",
        "1-2-3-4-5-6-7-8-9-0-1-2-3-4-5-6-7-8-9-0-1-2-3-4-5-6-7-8-9-0-1-2-3-4-5-6-7-8-9-0",
    };
    for (size_t i = 0; i < lengthof(texts); i++) {
        for (size_t max = 10; max <= 63; max++) {
            const char *name = name_shorten(a, texts[i], max);
            check(strlen(name) <= max && name_is_dns1035(name));
            check_text(name_shorten(a, name, max), name);
        }
    }
}

TEST(joining_keeps_the_suffix)
{
    struct arena *a = test_arena();
    const char *name = name_join(a, SIXTY_THREE, "-model-cache", 52);
    check_int((int64_t)strlen(name), 52);
    check(text_ends(name, "-model-cache"));
    check(name_is_dns1035(name));
    check(text_ends(name_join(a, "a.b", "-svc", 63), "-svc"));
    check(!text_eq(name_join(a, "a.b", "-svc", 63), name_join(a, "a-b", "-svc", 63)));
}

TEST(any_text_becomes_a_file_name)
{
    struct arena *a = test_arena();
    check_text(name_of_file(a, "Llama-3.1_8B.gguf"), "Llama-3.1_8B.gguf");
    check_text(name_of_file(a, "../../etc/passwd"), "etc-passwd");
    check_text(name_of_file(a, "a b//c"), "a-b-c");
    check_text(name_of_file(a, "Tiny Chat 0.1B (test)"), "Tiny-Chat-0.1B-test");
    check_text(name_of_file(a, "a -- b"), "a-b");
    check_text(name_of_file(a, "$(rm -rf /)"), "rm-rf");
    check_text(name_of_file(a, "-._x_.-"), "x");
    check_text(name_of_file(a, "\u00e4"), "");
    check_text(name_of_file(a, ""), "");
}
