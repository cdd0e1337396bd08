#include "base/base64.h"

#include <string.h>

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char for_urls[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static const char *encode(struct arena *a, struct str bytes, const char *digits, bool pad)
{
    assert(bytes.len < SIZE_MAX / 2);
    char *text = arena_alloc(a, (bytes.len + 2) / 3 * 4 + 1), *out = text;
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t have = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t bits = 0;
        for (size_t k = 0; k < 3; k++)
            bits = bits << 8 | (k < have ? (uint8_t)bytes.ptr[i + k] : 0);
        for (size_t k = 0; k < 4; k++) {
            if (k <= have)
                *out++ = digits[bits >> (18 - 6 * k) & 63];
            else if (pad)
                *out++ = '=';
        }
    }
    return text;
}

const char *base64_encode(struct arena *a, struct str bytes)
{
    return encode(a, bytes, standard, true);
}

const char *base64_encode_url(struct arena *a, struct str bytes)
{
    return encode(a, bytes, for_urls, false);
}

static int digit_value(char c, const char *extra)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == extra[0] ? 62 : c == extra[1] ? 63 : -1;
}

/* text without padding. */
static bool decode(struct arena *a, struct str text, const char *extra, struct str *ret)
{
    if (text.len % 4 == 1)
        return false;
    char *bytes = arena_alloc(a, text.len / 4 * 3 + 3), *out = bytes;
    uint32_t bits = 0;
    unsigned have = 0;
    for (size_t i = 0; i < text.len; i++) {
        int value = digit_value(text.ptr[i], extra);
        if (value < 0)
            return false;
        bits = bits << 6 | (uint32_t)value;
        have += 6;
        if (have >= 8) {
            have -= 8;
            *out++ = (char)(bits >> have & 0xff);
        }
    }
    if (bits & ((1u << have) - 1))
        return false;
    *ret = (struct str){ bytes, (size_t)(out - bytes) };
    return true;
}

bool base64_decode(struct arena *a, struct str text, struct str *ret)
{
    if (text.len % 4 != 0)
        return false;
    for (int padding = 0; padding < 2 && str_ends(text, STR("=")); padding++)
        text.len--;
    return decode(a, text, "+/", ret);
}

bool base64_decode_url(struct arena *a, struct str text, struct str *ret)
{
    return decode(a, text, "-_", ret);
}
