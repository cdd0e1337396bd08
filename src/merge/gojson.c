#include "merge/gojson.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

char *gojson_text(struct arena *a, struct json v)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    /* Only strings contain such characters. */
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

static int compare_keys(const void *x, const void *y)
{
    const struct json_member *l = x, *r = y;
    return strcmp(l->key, r->key);
}

static void show(struct buf *b, struct arena *a, struct json v)
{
    bool map = v.type == JSON_MAP;
    if (v.type == JSON_STR) {
        buf_add_text(b, v.string);
    } else if (v.type == JSON_NULL) {
        buf_add_text(b, "<nil>");
    } else if (!map && v.type != JSON_LIST) {
        json_print(b, v);
    } else {
        struct json_member *members = arena_array(a, v.count + 1, sizeof(*members));
        if (map && v.count) {
            memcpy(members, v.members, v.count * sizeof(*members));
            qsort(members, v.count, sizeof(*members), compare_keys);
        }
        buf_add_text(b, map ? "map[" : "[");
        for (uint32_t i = 0; i < v.count; i++) {
            buf_add_text(b, i ? " " : "");
            if (map)
                buf_printf(b, "%s:", members[i].key);
            show(b, a, map ? members[i].value : v.items[i]);
        }
        buf_add_char(b, ']');
    }
}

char *gojson_shown(struct arena *a, struct json v)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    show(&b, a, v);
    return arena_strdup(a, buf_text(&b));
}

static void literal(struct buf *b, struct arena *a, struct json v)
{
    const char *between = "";
    if (v.type == JSON_NULL) {
        buf_add_text(b, "interface {}(nil)");
    } else if (v.type == JSON_LIST) {
        buf_add_text(b, "[]interface {}{");
        json_each (item, v) {
            buf_add_text(b, between);
            literal(b, a, *item);
            between = ", ";
        }
        buf_add_char(b, '}');
    } else if (v.type == JSON_MAP) {
        buf_add_text(b, "map[string]interface {}{");
        json_each_member (m, v) {
            buf_printf(b, "%s%s:", between, json_to_text(a, json_str(m->key)));
            literal(b, a, m->value);
            between = ", ";
        }
        buf_add_char(b, '}');
    } else {
        json_print(b, v);
    }
}

char *gojson_literal(struct arena *a, struct json v)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    literal(&b, a, v);
    return arena_strdup(a, buf_text(&b));
}
