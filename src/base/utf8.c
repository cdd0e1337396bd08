#include "base/utf8.h"

size_t utf8_first(struct str s, uint32_t *ret)
{
    if (s.len == 0)
        return 0;
    uint8_t lead = (uint8_t)s.ptr[0];
    size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (length == 0 || lead > 0xf4 || s.len < length)
        return 0;
    uint32_t c = length == 1 ? lead : lead & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (((uint8_t)s.ptr[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | ((uint8_t)s.ptr[i] & 0x3f);
    }
    if ((length == 3 && (c < 0x800 || (c >= 0xd800 && c <= 0xdfff))) ||
        (length == 4 && (c < 0x10000 || c > 0x10ffff)))
        return 0;
    *ret = c;
    return length;
}

bool utf8_valid(struct str s)
{
    uint32_t c;
    for (size_t length; s.len; s = (struct str){ s.ptr + length, s.len - length })
        if ((length = utf8_first(s, &c)) == 0)
            return false;
    return true;
}

size_t utf8_put(uint32_t c, char out[4])
{
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return 0;
    size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t leads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t i = length; i-- > 1; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)(leads[length] | c);
    return length;
}

bool utf8_printable(uint32_t c)
{
    static const uint32_t hidden[][2] = {
        { 0x00, 0x1f },
        { 0x7f, 0x9f },
        { 0x200e, 0x200f },
        { 0x2028, 0x202e },
        { 0x2066, 0x2069 },
        { 0xd800, 0xdfff },
        { 0xfeff, 0xfeff },
        { 0xfffe, 0xffff },
    };
    for (size_t i = 0; i < lengthof(hidden); i++)
        if (c >= hidden[i][0] && c <= hidden[i][1])
            return false;
    return true;
}
