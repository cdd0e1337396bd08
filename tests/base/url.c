#include "base/url.h"
#include "tests/test.h"

static struct url parsed(const char *text)
{
    struct url u;
    struct error err;
    if (!url_parse(test_arena(), text, &u, &err))
        test_fail(__FILE__, __LINE__, "%s: %s", text, err.text);
    return u;
}

TEST(a_url_has_its_parts)
{
    struct arena *a = test_arena();
    struct url u = parsed("HTTPS://us%20er:p@[2001:DB8::1]:8443/a%20b/c?x=1&y=%2B#part");
    check_text(u.scheme, "https");
    check_text(u.userinfo, "us%20er:p");
    check_text(u.host, "2001:db8::1");
    check(u.host_is_ipv6);
    check_int(u.port, 8443);
    check_text(u.path, "/a%20b/c");
    check_text(u.query, "x=1&y=%2B");
    check_text(u.fragment, "part");
    check_text(url_to_text(a, &u), "https://us%20er:p@[2001:db8::1]:8443/a%20b/c?x=1&y=%2B#part");
    check_text(url_to_safe_text(a, &u), "https://[2001:db8::1]:8443/a%20b/c");
    check_text(url_authority(a, &u), "[2001:db8::1]:8443");
    check_text(url_target(a, &u), "/a%20b/c?x=1&y=%2B");

    u = parsed("http://Example.COM");
    check_text(u.host, "example.com");
    check_text(u.path, "");
    check_text(u.query, NULL);
    check_text(u.userinfo, NULL);
    check_int(u.port, 0);
    check_int(url_port(&u), 80);
    check_text(url_target(a, &u), "/");
    check_text(url_authority(a, &u), "example.com");

    u = parsed("https://h:443/?");
    check_text(url_authority(a, &u), "h");
    check_text(u.query, "");
    check_text(url_target(a, &u), "/?");
    u = parsed("s3://bucket/key/with:colon@sign");
    check_int(url_port(&u), 0);
    check_text(u.path, "/key/with:colon@sign");
    u = parsed("file:///models/x.gguf");
    check_text(u.host, "");
    check_text(u.path, "/models/x.gguf");
}

TEST(bad_urls_say_what_is_wrong)
{
    static const char *const rows[][2] = {
        { "", "a URL begins like https://host" },
        { "example.com/x", "a URL begins like https://host" },
        { "/x", "a URL begins like https://host" },
        { "mailto:x", "a URL begins like https://host" },
        { "1http://x", "a URL begins like https://host" },
        { "http://h/a b",
            "the path of the URL holds a character (0x20) that must be written as %20" },
        { "http://h/\u00e4", "the path of the URL holds a character (0xc3)" },
        { "http://h/a\n", "the path of the URL holds a character (0x0a)" },
        { "http://h/%", "the path of the URL holds a bad % escape" },
        { "http://h/%2", "the path of the URL holds a bad % escape" },
        { "http://h/%zz", "the path of the URL holds a bad % escape" },
        { "http://h/?a b", "the query of the URL holds a character" },
        { "http://h/#<", "the fragment of the URL holds a character" },
        { "http://h:0/", "the port of the URL is not a number from 1 to 65535" },
        { "http://h:65536/", "the port of the URL" },
        { "http://h:-1/", "the port of the URL" },
        { "http://h:8x/", "the port of the URL" },
        { "http://h:80:90/", "the port of the URL" },
        { "http://[::1/", "has no closing ]" },
        { "http://[::1]x/", "the port of the URL" },
        { "http://[1.2.3.4]/", "is not an IPv6 address" },
        { "http://[fe80::1%25eth0]/", "is not an IPv6 address" },
        { "http://[x]/", "is not an IPv6 address" },
        { "http://h%00/", "holds a NUL character" },
        { "http://h%2f/", "holds a character (0x2f) that no host has" },
        { "http://a,b/", "holds a character (0x2c) that no host has" },
        { "http://a\\b/", "the host of the URL holds a character (0x5c)" },
        { "http://a@b@c/", "the user of the URL holds a character (0x40)" },
        { "http://u<@h/", "the user of the URL holds a character" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        struct url u;
        struct error err = { 0 };
        check_fails(url_parse(test_arena(), rows[i][0], &u, &err), err, rows[i][1]);
    }
    struct url u;
    struct error err;
    char *large = arena_alloc(test_arena(), URL_BYTES_MAX + 2);
    memset(large, 'a', URL_BYTES_MAX + 1);
    memcpy(large, "http://h/", 9);
    check_fails(url_parse(test_arena(), large, &u, &err), err, "more than 8192 bytes");
    check_fails(url_parse(test_arena(), NULL, &u, &err), err, "a URL begins");
}

TEST(references_are_resolved_as_rfc_3986_section_5_4_shows)
{
    static const char *const rows[][2] = {
        { "g", "http://a/b/c/g" },
        { "./g", "http://a/b/c/g" },
        { "g/", "http://a/b/c/g/" },
        { "/g", "http://a/g" },
        { "//g", "http://g" },
        { "?y", "http://a/b/c/d;p?y" },
        { "g?y", "http://a/b/c/g?y" },
        { "#s", "http://a/b/c/d;p?q#s" },
        { "g#s", "http://a/b/c/g#s" },
        { "g?y#s", "http://a/b/c/g?y#s" },
        { ";x", "http://a/b/c/;x" },
        { "g;x?y#s", "http://a/b/c/g;x?y#s" },
        { "", "http://a/b/c/d;p?q" },
        { ".", "http://a/b/c/" },
        { "./", "http://a/b/c/" },
        { "..", "http://a/b/" },
        { "../", "http://a/b/" },
        { "../g", "http://a/b/g" },
        { "../..", "http://a/" },
        { "../../", "http://a/" },
        { "../../g", "http://a/g" },
        { "../../../g", "http://a/g" },
        { "../../../../g", "http://a/g" },
        { "/./g", "http://a/g" },
        { "/../g", "http://a/g" },
        { "g.", "http://a/b/c/g." },
        { ".g", "http://a/b/c/.g" },
        { "g..", "http://a/b/c/g.." },
        { "..g", "http://a/b/c/..g" },
        { "./../g", "http://a/b/g" },
        { "./g/.", "http://a/b/c/g/" },
        { "g/./h", "http://a/b/c/g/h" },
        { "g/../h", "http://a/b/c/h" },
        { "g;x=1/./y", "http://a/b/c/g;x=1/y" },
        { "g;x=1/../y", "http://a/b/c/y" },
        { "g?y/./x", "http://a/b/c/g?y/./x" },
        { "g#s/../x", "http://a/b/c/g#s/../x" },
        { "https://x:1/a/../b", "https://x:1/b" },
        { "//u@h:2/..", "http://u@h:2/" },
    };
    struct url base = parsed("http://a/b/c/d;p?q#f"), u;
    struct error err;
    for (size_t i = 0; i < lengthof(rows); i++) {
        check(url_resolve(test_arena(), &base, rows[i][0], &u, &err));
        check_text(url_to_text(test_arena(), &u), rows[i][1]);
    }
    base = parsed("http://a");
    check(url_resolve(test_arena(), &base, "x", &u, &err));
    check_text(url_to_text(test_arena(), &u), "http://a/x");
    check_fails(url_resolve(test_arena(), &base, "g:h", &u, &err), err, "a URL begins");
    check_fails(url_resolve(test_arena(), &base, "a b", &u, &err), err, "the path of the URL");
    check_fails(url_resolve(test_arena(), &base, "//h:x/", &u, &err), err, "the port of the URL");
}

TEST(origins_are_compared_with_their_ports)
{
    struct url a = parsed("https://h/x"), b = parsed("https://H:443/y"),
               c = parsed("http://h:443/"), d = parsed("https://h:444/"), e = parsed("https://g/");
    check(url_same_origin(&a, &b));
    check(!url_same_origin(&a, &c) && !url_same_origin(&a, &d) && !url_same_origin(&a, &e));
}

TEST(text_is_encoded_and_decoded)
{
    struct arena *a = test_arena();
    check_text(url_encode(a, STR("a b/\u00e4+~")), "a%20b%2F%C3%A4%2B~");
    check_text(url_encode_path(a, STR("/a b/c")), "/a%20b/c");
    const char *text;
    check(url_decode(a, STR("a%20b%2f+"), &text));
    check_text(text, "a b/+");
    check(!url_decode(a, STR("%"), &text) && !url_decode(a, STR("%0"), &text));
    check(!url_decode(a, STR("%00"), &text) && !url_decode(a, STR("%gg"), &text));
}

TEST(queries_are_built_and_read)
{
    cleanup(buf_done) struct buf b = BUF_INIT(1000);
    buf_add_text(&b, "/api/v1/pods");
    url_add_query(&b, "labelSelector", "a in (b,c)");
    url_add_query(&b, "absent", NULL);
    url_add_query(&b, "watch", "true");
    check_text(buf_text(&b), "/api/v1/pods?labelSelector=a%20in%20%28b%2Cc%29&watch=true");
    struct arena *a = test_arena();
    const char *query = "a=1&b=x+y%20z&&c&a=2&bad=%";
    check_text(url_query_value(a, query, "a"), "1");
    check_text(url_query_value(a, query, "b"), "x y z");
    check_text(url_query_value(a, query, "c"), "");
    check_text(url_query_value(a, query, "d"), NULL);
    check_text(url_query_value(a, query, "bad"), NULL);
    check_text(url_query_value(a, NULL, "a"), NULL);
}
