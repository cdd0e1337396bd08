#include "kube/stream.h"

#include "tests/test.h"

static bool collect(void *ctx, struct str text, bool cut)
{
    struct buf *b = ctx;
    buf_add_char(b, cut ? '!' : '|');
    buf_add(b, text.ptr, text.len);
    return true;
}

static struct str chunk(const char *text, size_t at, size_t size)
{
    size_t left = strlen(text) - at;
    return (struct str){ text + at, size < left ? size : left };
}

TEST(lines_are_found_however_they_are_cut)
{
    const char *text = "one\n \t\ntwo {\"\\n\"}\r\n\nthree\n";
    for (size_t size = 1; size <= strlen(text); size++) {
        cleanup(buf_done) struct buf got = BUF_INIT(1000);
        cleanup(stream_lines_done) struct stream_lines l;
        stream_lines_init(&l, 100);
        for (size_t at = 0; at < strlen(text); at += size)
            stream_lines_feed(&l, chunk(text, at, size), (struct stream_target){ collect, &got });
        check_text(buf_text(&got), "|one|two {\"\\n\"}\r|three");
    }
}

TEST(a_line_above_the_limit_is_cut_and_the_next_one_is_whole)
{
    const char *text = "0123456789abcdef\nshort\n0123456789\n0123456789x\n";
    for (size_t size = 1; size <= strlen(text); size++) {
        cleanup(buf_done) struct buf got = BUF_INIT(1000);
        cleanup(stream_lines_done) struct stream_lines l;
        stream_lines_init(&l, 10);
        for (size_t at = 0; at < strlen(text); at += size)
            stream_lines_feed(&l, chunk(text, at, size), (struct stream_target){ collect, &got });
        check_text(buf_text(&got), "!0123456789|short|0123456789!0123456789");
    }
}

TEST(items_are_found_however_they_are_cut)
{
    const char *text =
        "{\"apiVersion\":\"v1\",\"x\":[{\"items\":[7]}], \"items\" : [ {\"a\":\"}],\\\"\"} ,\n"
        "{\"b\":{\"items\":[1,{}]}}, {} ],\"metadata\":{\"continue\":\"[{\"}}";
    for (size_t size = 1; size <= strlen(text); size++) {
        cleanup(buf_done) struct buf got = BUF_INIT(1000);
        cleanup(stream_items_done) struct stream_items s;
        stream_items_init(&s, 100);
        for (size_t at = 0; at < strlen(text); at += size)
            stream_items_feed(&s, chunk(text, at, size), (struct stream_target){ collect, &got });
        check_text(buf_text(&got), "|{\"a\":\"}],\\\"\"}|{\"b\":{\"items\":[1,{}]}}|{}");
        struct json envelope;
        struct error err;
        check(json_parse(test_arena(), buf_str(&s.envelope), &envelope, &err));
        check_json(envelope,
            "{'apiVersion': 'v1', 'x': [{'items': [7]}], 'items': [],"
            " 'metadata': {'continue': '[{'}}");
    }
}

TEST(an_item_above_the_limit_is_cut_and_the_next_one_is_whole)
{
    const char *text = "{\"items\":[{\"a\":\"0123456789\"},{\"b\":1}]}";
    for (size_t size = 1; size <= strlen(text); size++) {
        cleanup(buf_done) struct buf got = BUF_INIT(1000);
        cleanup(stream_items_done) struct stream_items s;
        stream_items_init(&s, 10);
        for (size_t at = 0; at < strlen(text); at += size)
            stream_items_feed(&s, chunk(text, at, size), (struct stream_target){ collect, &got });
        check_text(buf_text(&got), "!{\"a\":\"0123|{\"b\":1}");
    }
}

TEST(an_object_is_identified_in_text_that_breaks_off)
{
    struct arena *a = test_arena();
    struct stream_identity id = stream_identify(a,
        STR("{\"type\":\"DELETED\",\"object\":{\"spec\":{\"metadata\":{\"name\":\"wrong\"}},"
            "\"list\":[\"x\",{\"name\":\"wrong\"}],\"metadata\":{\"annotations\":{\"name\":"
            "\"wrong\"},"
            "\"name\":\"a\",\"namespace\":\"b\",\"uid\":\"c\",\"resourceVersion\":\"5\"},"
            "\"status\":{\"x\":\"br"),
        true);
    check_text(id.event, "DELETED");
    check_text(id.name, "a");
    check_text(id.ns, "b");
    check_text(id.uid, "c");
    check_text(id.version, "5");
    id = stream_identify(a, STR("{\"name\":\"wrong\",\"metadata\":{\"name\":\"a\\"), false);
    check_text(id.name, NULL);
    id = stream_identify(a, STR("{\"metadata\":{\"name\":\"a\"}}}}}]]"), false);
    check_text(id.name, "a");
}

TEST(what_lies_too_deep_is_cut_out_of_a_text)
{
    static const char *const rows[][2] = {
        { "{\"a\":{\"b\":[1]}}", "{\"a\":{}}" },
        { "[[1,[2]],3]", "[[],3]" },
        { "{\"a\":\"}]{[\\\"{\",\"b\":[\"]\"]}", "{\"a\":\"}]{[\\\"{\",\"b\":[]}" },
        { "{\"a\":\"not whole", "{\"a\":\"not whole" },
        { "}}}{\"a\":[[[", "}}}{\"a\":[[[" },
        { "", "" },
    };
    for (size_t i = 0; i < lengthof(rows); i++)
        check_text(
            str_dup(test_arena(), stream_flatten(test_arena(), str_of(rows[i][0]), 1)), rows[i][1]);
}
