#include "cli/columns.h"

#include <stdio.h>

#include "base/utf8.h"

size_t columns_width(const char *text)
{
    size_t count = 0;
    for (struct str s = str_of(text); s.len; count++) {
        uint32_t character;
        size_t bytes = utf8_first(s, &character);
        s.ptr += bytes ? bytes : 1;
        s.len -= bytes ? bytes : 1;
    }
    return count;
}

void columns_print(struct arena *a, struct json rows)
{
    size_t count = json_item(rows, 0).count;
    size_t *widths = arena_array(a, count, sizeof(size_t));
    json_each (row, rows)
        for (size_t i = 0; i < count; i++) {
            size_t w = columns_width(json_item(*row, i).string);
            widths[i] = w > widths[i] ? w : widths[i];
        }
    json_each (row, rows) {
        for (size_t i = 0; i < count; i++) {
            const char *text = json_item(*row, i).string;
            int gap = i + 1 < count ? (int)(widths[i] - columns_width(text)) + 3 : 0;
            printf("%s%*s", text, gap, "");
        }
        putchar('\n');
    }
}
