#include "node/paths.h"

#include <ctype.h>

#include "base/buf.h"
#include "base/str.h"

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

const struct root_mount *paths_mount_at(
    const char *text, const struct root_mount *mounts, size_t count)
{
    const struct root_mount *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(mounts[i].to);
        if (length > 1 && strncmp(text, mounts[i].to, length) == 0 && !is_name_char(text[length]) &&
            (!best || length > strlen(best->to)))
            best = &mounts[i];
    }
    return best;
}

const char *paths_translate(
    struct arena *a, const char *text, const struct root_mount *mounts, size_t count)
{
    struct buf b = BUF_INIT(1 << 20);
    bool changed = false;
    for (const char *at = text; *at;) {
        bool begins = *at == '/' && (at == text || (!is_name_char(at[-1]) && at[-1] != '/'));
        const struct root_mount *m = begins ? paths_mount_at(at, mounts, count) : NULL;
        if (!m) {
            buf_add_char(&b, *at++);
            continue;
        }
        buf_add_text(&b, m->from);
        if (m->below)
            buf_printf(&b, "/%s", m->below);
        at += strlen(m->to);
        changed = true;
    }
    const char *result = changed && !buf_overflowed(&b) ? arena_strdup(a, buf_text(&b)) : text;
    buf_done(&b);
    return result;
}
