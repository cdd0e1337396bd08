#include "base/utf8.h"
#include "tests/test.h"

TEST(utf8_is_read_as_rfc_3629_has_it)
{
    static const char *const good[] = {
        "", "a", "\u00e4", "\u20ac", "\U0001f600", "\U0010ffff", "\xed\x9f\xbf", "\xee\x80\x80"
    };
    static const char *const bad[] = { "\x80",
        "\xc3",
        "\xc0\x80",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "a\xe2\x82",
        "\xe2\x28\xa1" };
    for (size_t i = 0; i < lengthof(good); i++)
        check(utf8_valid(str_of(good[i])));
    for (size_t i = 0; i < lengthof(bad); i++)
        check(!utf8_valid(str_of(bad[i])));
    uint32_t c;
    check_int((int64_t)utf8_first(STR("\u20acx"), &c), 3);
    check_int(c, 0x20ac);
    check_int((int64_t)utf8_first(STR("\xf0\x9f\x98\x80"), &c), 4);
    check_int(c, 0x1f600);
    check_int((int64_t)utf8_first(STR(""), &c), 0);
}

TEST(characters_that_hide_or_move_text_are_not_printable)
{
    check(utf8_printable('a') && utf8_printable(' ') && utf8_printable(0xe4));
    check(!utf8_printable('\n') && !utf8_printable(0x7f) && !utf8_printable(0x9b));
    check(!utf8_printable(0x2028) && !utf8_printable(0x202e) && !utf8_printable(0xfeff));
}

TEST(characters_are_written_as_they_are_read)
{
    char out[4];
    for (uint32_t c = 0; c < 0x110000; c += c < 0x900 ? 1 : 97) {
        uint32_t back;
        size_t length = utf8_put(c, out);
        check(length == 0 ? c >= 0xd800 && c <= 0xdfff
                          : utf8_first((struct str){ out, length }, &back) == length && back == c);
    }
    check_int((int64_t)utf8_put(0x110000, out), 0);
}
