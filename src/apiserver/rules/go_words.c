#include "apiserver/rules/go_words.h"

#include <string.h>

#include "base/str.h"

/* ---- times ---- */

static const struct element {
    const char *layout;
    int least, most; /* digits; 0: the layout itself */
    const char *name;
    int from, to;
} elements[] = {
    { "2006", 4, 4, NULL, 0, 0 },
    { "-", 0, 0, NULL, 0, 0 },
    { "01", 2, 2, "month", 1, 12 },
    { "-", 0, 0, NULL, 0, 0 },
    { "02", 2, 2, NULL, 0, 0 }, /* looked at when the month is known: at the end */
    { "T", 0, 0, NULL, 0, 0 },
    { "15", 1, 2, "hour", 0, 23 },
    { ":", 0, 0, NULL, 0, 0 },
    { "04", 2, 2, "minute", 0, 59 },
    { ":", 0, 0, NULL, 0, 0 },
    { "05", 2, 2, "second", 0, 59 },
};

static size_t digits_of(const char *text)
{
    return strspn(text, "0123456789");
}

/* Of digits, few. */
static int64_t number(const char *text, size_t length)
{
    int64_t value;
    return str_to_int((struct str){ text, length }, &value) ? value : 0;
}

/* How long the element is there; 0: it is not. */
static size_t fit(const struct element *e, const char *text)
{
    size_t digits = digits_of(text);
    if (!e->most)
        return *text == *e->layout;
    if (digits < (size_t)e->least)
        return 0;
    return digits < (size_t)e->most ? digits : (size_t)e->most;
}

static size_t fit_zone(const char *text)
{
    bool offset = *text == '+' || *text == '-';
    if (*text == 'Z')
        return 1;
    return offset && digits_of(text + 1) == 2 && text[3] == ':' && digits_of(text + 4) >= 2 ? 6 : 0;
}

static const char *cannot(
    struct arena *a, const char *text, bool micro, const char *rest, const char *layout)
{
    return arena_printf(a,
        "parsing time \"%s\" as \"2006-01-02T15:04:05%sZ07:00\": cannot parse \"%s\" as \"%s\"",
        text,
        micro ? ".000000" : "",
        rest,
        layout);
}

static const char *out_of_range(struct arena *a, const char *text, const char *what)
{
    return arena_printf(a, "parsing time \"%s\": %s out of range", text, what);
}

const char *go_time_trouble(struct arena *a, const char *text, bool micro)
{
    const char *rest = text;
    for (const struct element *e = elements; e < elements + lengthof(elements); e++) {
        size_t length = fit(e, rest);
        if (!length)
            return cannot(a, text, micro, rest, e->layout);
        int64_t value = number(rest, length);
        if (e->name && (value < e->from || value > e->to))
            return out_of_range(a, text, e->name);
        rest += length;
    }
    bool fraction = (*rest == '.' || *rest == ',') && digits_of(rest + 1) > 0;
    if (micro && !(fraction && digits_of(rest + 1) >= 6))
        return cannot(a, text, micro, rest, ".000000");
    if (micro)
        rest += strlen(".000000");
    else if (fraction)
        rest += 1 + digits_of(rest + 1);
    size_t zone = fit_zone(rest);
    if (!zone)
        return cannot(a, text, micro, rest, "Z07:00");
    if (zone > 1 && number(rest + 1, 2) > 24)
        return out_of_range(a, text, "time zone offset hour");
    if (zone > 1 && number(rest + 4, 2) > 60)
        return out_of_range(a, text, "time zone offset minute");
    if (rest[zone])
        return arena_printf(a, "parsing time \"%s\": extra text: \"%s\"", text, rest + zone);
    return out_of_range(a, text, "day");
}

/* ---- bytes ---- */

static const char *after_line_ends(const char *text)
{
    return text + strspn(text, "\r\n");
}

/* The character that is none, or where the group of four begins that is not whole. */
static size_t base64_fault(const char *text)
{
    const char *at = text;
    size_t filled = 0; /* of the group */
    for (;; at++) {
        if (!*at)
            return (size_t)(at - text) - filled;
        if (*at == '\n' || *at == '\r')
            continue;
        if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", *at))
            break;
        filled = (filled + 1) % 4;
    }
    if (*at != '=' || filled < 2)
        return (size_t)(at - text);
    at++;
    if (filled == 2) {
        at = after_line_ends(at);
        if (*at != '=')
            return (size_t)(at - text) - (*at != '\0');
        at++;
    }
    return (size_t)(after_line_ends(at) - text);
}

const char *go_base64_trouble(struct arena *a, const char *text)
{
    return arena_printf(a, "illegal base64 data at input byte %zu", base64_fault(text));
}
