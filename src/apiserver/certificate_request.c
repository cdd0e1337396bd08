#include "apiserver/certificate_request.h"

#include <string.h>

#include "base/base64.h"

/* ---- PEM ---- */

#define PEM_BEGIN "-----BEGIN CERTIFICATE REQUEST-----"
#define PEM_END "-----END CERTIFICATE REQUEST-----"

static struct str cut_before(struct str text, struct str mark, bool *ret_found)
{
    const char *at = text.len ? memmem(text.ptr, text.len, mark.ptr, mark.len) : NULL;
    *ret_found = at;
    return (struct str){ text.ptr, at ? (size_t)(at - text.ptr) : text.len };
}

bool certificate_request_der(struct arena *a, struct str pem, struct str *ret)
{
    struct str text = str_trim(pem), inside;
    bool ended;
    if (!str_starts(text, STR(PEM_BEGIN)))
        return false;
    text.ptr += strlen(PEM_BEGIN);
    text.len -= strlen(PEM_BEGIN);
    inside = cut_before(text, STR(PEM_END), &ended);
    if (!ended || inside.len + strlen(PEM_END) != text.len)
        return false;
    char *digits = arena_alloc(a, inside.len + 1);
    size_t count = 0;
    for (size_t i = 0; i < inside.len; i++)
        if (!strchr(" \t\r\n", inside.ptr[i]))
            digits[count++] = inside.ptr[i];
    return base64_decode(a, (struct str){ digits, count }, ret);
}

/* ---- DER ---- */

enum tag {
    TAG_INTEGER = 0x02,
    TAG_OID = 0x06,
    TAG_BMP = 0x1e,
    TAG_SEQUENCE = 0x30,
    TAG_SET = 0x31
};

/* The next element: its tag, and what is in it. */
static bool der_take(struct str *in, uint8_t *ret_tag, struct str *ret)
{
    if (in->len < 2)
        return false;
    const uint8_t *bytes = (const uint8_t *)in->ptr;
    size_t head = 2, length = bytes[1];
    *ret_tag = bytes[0];
    if (length & 0x80) {
        size_t more = length & 0x7f;
        if (more == 0 || more > 4 || in->len < head + more)
            return false;
        for (length = 0; more--; head++)
            length = length << 8 | bytes[head];
    }
    if (length > in->len - head)
        return false;
    *ret = (struct str){ in->ptr + head, length };
    in->ptr += head + length;
    in->len -= head + length;
    return true;
}

static bool der_take_a(struct str *in, enum tag tag, struct str *ret)
{
    uint8_t found;
    return der_take(in, &found, ret) && found == tag;
}

/* A BMPString has two bytes a character. */
static bool says(uint8_t tag, struct str value, const char *text)
{
    size_t length = strlen(text);
    if (tag != TAG_BMP)
        return str_eq(value, str_of(text));
    if (value.len != 2 * length)
        return false;
    for (size_t i = 0; i < length; i++)
        if (value.ptr[2 * i] || value.ptr[2 * i + 1] != text[i])
            return false;
    return true;
}

/* A name is a list of sets of pairs. */
static bool name_has(struct str name, const char *group, bool *ret_readable)
{
    static const struct str organization = { "\x55\x04\x0a", 3 }; /* 2.5.4.10 */
    struct str set, pair, oid, value;
    uint8_t tag;
    bool found = false;
    while (name.len) {
        if (!der_take_a(&name, TAG_SET, &set))
            return *ret_readable = false;
        while (set.len) {
            if (!der_take_a(&set, TAG_SEQUENCE, &pair) || !der_take_a(&pair, TAG_OID, &oid) ||
                !der_take(&pair, &tag, &value))
                return *ret_readable = false;
            found = found || (str_eq(oid, organization) && says(tag, value, group));
        }
    }
    return found;
}

bool certificate_request_has_group(struct str der, const char *group, bool *ret_readable)
{
    struct str request, info, version, name;
    *ret_readable =
        der_take_a(&der, TAG_SEQUENCE, &request) && der_take_a(&request, TAG_SEQUENCE, &info) &&
        der_take_a(&info, TAG_INTEGER, &version) && der_take_a(&info, TAG_SEQUENCE, &name);
    return *ret_readable && name_has(name, group, ret_readable);
}
