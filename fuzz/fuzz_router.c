/* The router's config and its scanner: pieces of any size give the same scalars as the whole. */

#include "fuzz/fuzz.h"
#include "router/config.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    assert(scan(text, 1) == scan(text, SIZE_MAX) && scan(text, 7) == scan(text, SIZE_MAX));
    struct error err = { 0 };
    struct router_config *c = router_config_new(text, (struct str){ 0 }, &err);
    assert(c || err.text[0]);
    router_config_unref(c);
    return 0;
}
