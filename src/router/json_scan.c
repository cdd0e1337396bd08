#include "router/json_scan.h"

#include <string.h>

/* What is expected next. */
enum state {
    S_VALUE,      /* a value */
    S_FIRST_ITEM, /* a value or ] */
    S_FIRST_KEY,  /* a key or } */
    S_KEY,
    S_COLON,
    S_AFTER, /* , or the end of the container */
    S_STRING,
    S_NUMBER,
    S_WORD,
    S_DONE,
    S_FAILED,
};
enum string_state { STR_PLAIN, STR_ESCAPE, STR_UNIT };

void json_scan_init(struct json_scan *s)
{
    memset(s, 0, sizeof(*s));
}

static enum json_scan_event broken(struct json_scan *s)
{
    s->state = S_FAILED;
    return JSON_SCAN_FAILED;
}

static bool in_array(const struct json_scan *s)
{
    uint32_t at = s->nest - 1;
    return s->is_array[at / 8] >> (at % 8) & 1;
}

static void after_value(struct json_scan *s)
{
    s->state = s->nest ? S_AFTER : S_DONE;
}

static bool open_container(struct json_scan *s, bool array)
{
    if (s->nest == JSON_SCAN_NEST_MAX)
        return false;
    uint8_t bit = (uint8_t)(1U << (s->nest % 8));
    if (array)
        s->is_array[s->nest / 8] |= bit;
    else
        s->is_array[s->nest / 8] &= (uint8_t)~bit;
    if (s->nest == 0)
        s->is_object = !array;
    s->nest++;
    s->arrays += array;
    s->state = array ? S_FIRST_ITEM : S_FIRST_KEY;
    return true;
}

static bool close_container(struct json_scan *s, bool array)
{
    if (s->nest == 0 || in_array(s) != array)
        return false;
    s->nest--;
    s->arrays -= array;
    after_value(s);
    return true;
}

/* ---- text ---- */

static void keep(struct json_scan *s, const char *bytes, size_t count)
{
    size_t limit = s->keyed ? JSON_SCAN_KEY_MAX : JSON_SCAN_TEXT_MAX;
    size_t room = limit - s->text_len;
    if (count > room) {
        s->text_cut = true;
        count = room;
    }
    memcpy(s->text + s->text_len, bytes, count);
    s->text_len += (uint32_t)count;
}

static void keep_rune(struct json_scan *s, uint32_t rune)
{
    char out[4];
    size_t n = 0;
    if (rune < 0x80) {
        out[n++] = (char)rune;
    } else if (rune < 0x800) {
        out[n++] = (char)(0xc0 | rune >> 6);
        out[n++] = (char)(0x80 | (rune & 0x3f));
    } else if (rune < 0x10000) {
        out[n++] = (char)(0xe0 | rune >> 12);
        out[n++] = (char)(0x80 | (rune >> 6 & 0x3f));
        out[n++] = (char)(0x80 | (rune & 0x3f));
    } else {
        out[n++] = (char)(0xf0 | rune >> 18);
        out[n++] = (char)(0x80 | (rune >> 12 & 0x3f));
        out[n++] = (char)(0x80 | (rune >> 6 & 0x3f));
        out[n++] = (char)(0x80 | (rune & 0x3f));
    }
    keep(s, out, n);
}

static void end_surrogate(struct json_scan *s)
{
    if (s->surrogate && (s->keyed || s->near))
        keep_rune(s, 0xfffd);
    s->surrogate = 0;
}

static void keep_unit(struct json_scan *s, uint32_t unit)
{
    if (s->surrogate && unit >= 0xdc00 && unit < 0xe000) {
        keep_rune(s, 0x10000 + ((s->surrogate - 0xd800) << 10) + (unit - 0xdc00));
        s->surrogate = 0;
        return;
    }
    end_surrogate(s);
    if (unit >= 0xd800 && unit < 0xdc00)
        s->surrogate = unit;
    else
        keep_rune(s, unit >= 0xdc00 && unit < 0xe000 ? 0xfffd : unit);
}

#define ONES 0x0101010101010101ULL
#define HIGHS 0x8080808080808080ULL

static uint64_t zero_bytes(uint64_t word)
{
    return (word - ONES) & ~word & HIGHS;
}

/* The number of leading bytes without ", \ and control characters. */
static size_t plain_bytes(struct str bytes)
{
    size_t at = 0;
    for (; at + 8 <= bytes.len; at += 8) {
        uint64_t word;
        memcpy(&word, bytes.ptr + at, 8);
        uint64_t low = (word - ONES * 0x20) & ~word & HIGHS;
        if (low | zero_bytes(word ^ ONES * '"') | zero_bytes(word ^ ONES * '\\'))
            break;
    }
    while (at < bytes.len && bytes.ptr[at] != '"' && bytes.ptr[at] != '\\' &&
           (unsigned char)bytes.ptr[at] >= 0x20)
        at++;
    return at;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool take_escape(struct json_scan *s, char c)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (c == 'u') {
        s->string_state = STR_UNIT;
        s->unit = s->unit_digits = 0;
        return true;
    }
    const char *at = c ? strchr(names, c) : NULL;
    if (!at)
        return false;
    end_surrogate(s);
    if (s->keyed || s->near)
        keep(s, &values[at - names], 1);
    s->string_state = STR_PLAIN;
    return true;
}

static bool take_unit(struct json_scan *s, char c)
{
    int digit = hex_digit(c);
    if (digit < 0)
        return false;
    s->unit = s->unit << 4 | (uint32_t)digit;
    if (++s->unit_digits == 4) {
        s->string_state = STR_PLAIN;
        if (s->keyed || s->near)
            keep_unit(s, s->unit);
    }
    return true;
}

static void end_key(struct json_scan *s)
{
    s->state = S_COLON;
    s->has_members = true;
    if (s->arrays || s->nest > JSON_SCAN_DEPTH)
        return;
    char *key = s->keys[s->nest - 1];
    memcpy(key, s->text, s->text_len);
    key[s->text_cut ? 0 : s->text_len] = '\0';
}

static enum json_scan_event end_value(struct json_scan *s)
{
    after_value(s);
    s->text[s->text_len] = '\0';
    return s->near ? JSON_SCAN_VALUE : JSON_SCAN_MORE;
}

/* Reads to the end of the string or of the bytes. MORE: continue. */
static enum json_scan_event in_string(struct json_scan *s, struct str *bytes)
{
    while (bytes->len) {
        char c = *bytes->ptr;
        if (s->string_state == STR_PLAIN) {
            size_t count = plain_bytes(*bytes);
            if (count) {
                end_surrogate(s);
                if (s->keyed || s->near)
                    keep(s, bytes->ptr, count);
                *bytes = (struct str){ bytes->ptr + count, bytes->len - count };
                continue;
            }
            if ((unsigned char)c < 0x20)
                return broken(s);
            *bytes = (struct str){ bytes->ptr + 1, bytes->len - 1 };
            if (c == '\\') {
                s->string_state = STR_ESCAPE;
                continue;
            }
            end_surrogate(s);
            if (!s->keyed)
                return end_value(s);
            end_key(s);
            return JSON_SCAN_MORE;
        }
        bool fine = s->string_state == STR_ESCAPE ? take_escape(s, c) : take_unit(s, c);
        if (!fine)
            return broken(s);
        *bytes = (struct str){ bytes->ptr + 1, bytes->len - 1 };
    }
    return JSON_SCAN_MORE;
}

/* ---- values ---- */

static void begin_string(struct json_scan *s, bool key)
{
    s->state = S_STRING;
    s->string_state = STR_PLAIN;
    s->keyed = key;
    s->text_len = 0;
    s->text_cut = false;
    s->surrogate = 0;
}

static bool is_number_char(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static bool is_word_char(char c)
{
    return c >= 'a' && c <= 'z';
}

/* Consumes the byte before which a value starts. */
static enum json_scan_event begin_value(struct json_scan *s, struct str *bytes)
{
    char c = *bytes->ptr;
    bool container = c == '{' || c == '[';
    bool known = container || c == '"' || (c >= '0' && c <= '9') || c == '-' || c == 't' ||
                 c == 'f' || c == 'n';
    if (!known)
        return broken(s);
    s->near = !container && s->nest > 0 && s->arrays == 0 && s->nest <= JSON_SCAN_DEPTH;
    if (s->near && !s->begun) {
        s->begun = true;
        s->depth = s->nest;
        return JSON_SCAN_BEGIN;
    }
    s->begun = false;
    if (container) {
        *bytes = (struct str){ bytes->ptr + 1, bytes->len - 1 };
        return open_container(s, c == '[') ? JSON_SCAN_MORE : broken(s);
    }
    begin_string(s, false);
    if (c == '"') {
        s->type = JSON_SCAN_STRING;
        *bytes = (struct str){ bytes->ptr + 1, bytes->len - 1 };
    } else {
        s->state = is_word_char(c) ? S_WORD : S_NUMBER;
        s->type = is_word_char(c) ? JSON_SCAN_WORD : JSON_SCAN_NUMBER;
    }
    return JSON_SCAN_MORE;
}

static bool is_word(const struct json_scan *s)
{
    struct str word = { s->text, s->text_len };
    return str_eq(word, STR("true")) || str_eq(word, STR("false")) || str_eq(word, STR("null"));
}

static enum json_scan_event in_bare(struct json_scan *s, struct str *bytes)
{
    size_t at = 0;
    while (at < bytes->len &&
           (s->state == S_WORD ? is_word_char(bytes->ptr[at]) : is_number_char(bytes->ptr[at])))
        at++;
    keep(s, bytes->ptr, at);
    *bytes = (struct str){ bytes->ptr + at, bytes->len - at };
    if (bytes->len == 0)
        return JSON_SCAN_MORE;
    if (s->state == S_WORD && !is_word(s))
        return broken(s);
    return end_value(s);
}

/* Consumes one structural byte. */
static enum json_scan_event in_structure(struct json_scan *s, struct str *bytes)
{
    char c = *bytes->ptr;
    struct str rest = { bytes->ptr + 1, bytes->len - 1 };
    bool fine = false;
    switch ((enum state)s->state) {
    case S_FIRST_ITEM:
        if (c != ']')
            return begin_value(s, bytes);
        fine = close_container(s, true);
        break;
    case S_VALUE:
        return begin_value(s, bytes);
    case S_FIRST_KEY:
    case S_KEY:
        fine = c == '"' || (c == '}' && s->state == S_FIRST_KEY && close_container(s, false));
        if (c == '"')
            begin_string(s, true);
        break;
    case S_COLON:
        fine = c == ':';
        s->state = S_VALUE;
        break;
    case S_AFTER:
        fine = c == ',' || c == '}' || c == ']';
        if (c == ',')
            s->state = in_array(s) ? S_VALUE : S_KEY;
        else if (fine)
            fine = close_container(s, c == ']');
        break;
    case S_STRING:
    case S_NUMBER:
    case S_WORD:
    case S_DONE:
    case S_FAILED:
        break;
    }
    *bytes = rest;
    return fine ? JSON_SCAN_MORE : broken(s);
}

static bool skip_bom(struct json_scan *s, struct str *bytes)
{
    static const char bom[] = "\xef\xbb\xbf";
    while (s->bom < 3 && bytes->len) {
        if (*bytes->ptr != bom[s->bom]) {
            bool none = s->bom == 0;
            s->bom = 3;
            return none;
        }
        s->bom++;
        *bytes = (struct str){ bytes->ptr + 1, bytes->len - 1 };
    }
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

enum json_scan_event json_scan(struct json_scan *s, struct str *bytes)
{
    if (s->bom < 3 && !skip_bom(s, bytes))
        return broken(s);
    while (bytes->len && s->state != S_FAILED) {
        enum json_scan_event event = JSON_SCAN_MORE;
        if (s->state == S_STRING)
            event = in_string(s, bytes);
        else if (s->state == S_NUMBER || s->state == S_WORD)
            event = in_bare(s, bytes);
        else if (is_blank(*bytes->ptr))
            *bytes = (struct str){ bytes->ptr + 1, bytes->len - 1 };
        else
            event = in_structure(s, bytes);
        if (event != JSON_SCAN_MORE)
            return event;
    }
    return s->state == S_FAILED ? JSON_SCAN_FAILED : JSON_SCAN_MORE;
}

bool json_scan_complete(const struct json_scan *s)
{
    bool bare = s->nest == 0 && (s->state == S_NUMBER || (s->state == S_WORD && is_word(s)));
    return s->state == S_DONE || bare || json_scan_empty(s);
}

bool json_scan_empty(const struct json_scan *s)
{
    return s->state == S_VALUE && s->nest == 0 && (s->bom == 0 || s->bom == 3);
}

bool json_scan_is(const struct json_scan *s, const char *path)
{
    for (uint32_t i = 0; i < s->depth; i++) {
        size_t length = strlen(s->keys[i]);
        if (length == 0 || strncmp(path, s->keys[i], length) != 0 ||
            path[length] != (i + 1 < s->depth ? '.' : '\0'))
            return false;
        path += length + 1;
    }
    return true;
}
