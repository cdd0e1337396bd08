#include "router/form_scan.h"

#include "tests/test.h"

#define FORM(name, value)                                                                          \
    "--b1\r\nContent-Disposition: form-data; filename=\"model\"; "                                 \
    "name=\"file\"\r\n\r\n\r\n--b\r\r\n"                                                           \
    "--b1\r\ncontent-disposition: form-data; name=\"" name "\"\r\nX: y\r\n\r\n" value              \
    "\r\n--b1--\r\n"                                                                               \
    "--b1\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nlate\r\n--b1--"

static struct form_scan scan(const char *text, size_t piece)
{
    struct form_scan s;
    check(form_scan_init(&s, STR("Multipart/Form-Data; charset=x; boundary=\"b1\"")));
    for (size_t at = 0, all = strlen(text); at < all; at += piece)
        form_scan(&s, (struct str){ text + at, all - at < piece ? all - at : piece });
    return s;
}

TEST(form_scan_finds_the_model_in_pieces_of_any_size)
{
    static const char text[] = FORM("model", "whisper-1");
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        struct form_scan s = scan(text, piece);
        check(s.found && !s.twice && !s.cut);
        check_text(s.model, "whisper-1");
        check_int(s.start, strstr(text, "whisper-1") - text);
        check_int(s.end - s.start, 9);
    }
}

TEST(form_scan_takes_nothing_else_for_the_model)
{
    check(!scan(FORM("models", "m"), 7).found);
    check(!scan("--b1\r\nContent-Disposition: form-data; name=model\r\n\r\nnot ended", 3).found);
    check(!scan("no form at all", 3).found);
    struct form_scan s =
        scan("--b1\r\nContent-Disposition: form-data; name=model\r\n\r\n\r\n\r\n--bx\r\n--b1--", 2);
    check_text(s.model, "\r\n\r\n--bx");
    s = scan("--b1\r\ncontent-disposition: form-data; name=model\r\n\r\na\r\n"
             "--b1\r\ncontent-disposition: form-data; name=model\r\n\r\nb\r\n--b1--",
        5);
    check(s.twice);
}

TEST(form_scan_wants_a_boundary)
{
    static const char *const bad[] = { "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/mixed; boundary=b1",
        "multipart/form-data; "
        "boundary=0123456789012345678901234567890123456789012345678901234567890123"
        "4567890" };
    struct form_scan s;
    for (size_t i = 0; i < lengthof(bad); i++)
        check(!form_scan_init(&s, str_of(bad[i])));
}
