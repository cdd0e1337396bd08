#include "merge/gojson.h"

#include "base/buf.h"

char *gojson_text(struct arena *a, struct json v)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    /* Only strings hold such characters. */
    for (const char *json = json_to_text(a, v); *json; json++) {
        const unsigned char *c = (const unsigned char *)json;
        if (*c == '<' || *c == '>' || *c == '&') {
            buf_printf(&b, "\\u%04x", (unsigned)*c);
        } else if (c[0] == 0xe2 && c[1] == 0x80 && (c[2] | 1) == 0xa9) {
            buf_printf(&b, "\\u20%02x", (unsigned)(c[2] & 0x2f));
            json += 2;
        } else {
            buf_add_char(&b, *json);
        }
    }
    return arena_strdup(a, buf_text(&b));
}
