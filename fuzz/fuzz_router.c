/* The router's config and its two scanners: pieces of any size give the same scalars as the whole.
 */

#include "fuzz/fuzz.h"
#include "router/config.h"
#include "router/form_scan.h"
#include "router/json_scan.h"

static uint64_t scan(struct str text, size_t piece)
{
    struct json_scan s;
    json_scan_init(&s);
    uint64_t sum = 7;
    while (text.len) {
        struct str part = { text.ptr, text.len < piece ? text.len : piece };
        text = (struct str){ text.ptr + part.len, text.len - part.len };
        enum json_scan_event event;
        while ((event = json_scan(&s, &part)) != JSON_SCAN_MORE) {
            if (event == JSON_SCAN_FAILED)
                return 0;
            assert(s.depth >= 1 && s.depth <= JSON_SCAN_DEPTH);
            sum = sum * 31 + event;
            for (const char *c = s.text; event == JSON_SCAN_VALUE && *c; c++)
                sum = sum * 31 + (unsigned char)*c;
        }
    }
    return json_scan_complete(&s) ? sum : 1;
}

static void scan_form(struct str text, size_t piece, struct form_scan *ret)
{
    assert(form_scan_init(ret, STR("multipart/form-data; boundary=b")));
    while (text.len) {
        struct str part = { text.ptr, text.len < piece ? text.len : piece };
        text = (struct str){ text.ptr + part.len, text.len - part.len };
        form_scan(ret, part);
    }
}

static void check_form(struct str text)
{
    struct form_scan whole, parts;
    scan_form(text, SIZE_MAX, &whole);
    scan_form(text, 3, &parts);
    assert(whole.found == parts.found && whole.start == parts.start && whole.end == parts.end);
    assert(whole.cut == parts.cut && whole.twice == parts.twice);
    assert(!whole.found || strcmp(whole.model, parts.model) == 0);
    assert(!whole.found || (whole.start <= whole.end && whole.end <= (int64_t)text.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    assert(scan(text, 1) == scan(text, SIZE_MAX) && scan(text, 7) == scan(text, SIZE_MAX));
    check_form(text);
    struct error err = { 0 };
    struct router_config *c = router_config_new(text, (struct str){ 0 }, &err);
    assert(c || err.text[0]);
    router_config_unref(c);
    return 0;
}
