#pragma once

/* Checks names and labels as Kubernetes does, and derives names from other names. */

#include "base/arena.h"
#include "base/base.h"
#include "base/error.h"

enum name_kind {
    NAME_DNS1123_LABEL,     /* a-z 0-9 -, ends alphanumeric, ≤ 63: namespaces, containers */
    NAME_DNS1123_SUBDOMAIN, /* labels joined by dots, ≤ 253: most objects */
    NAME_DNS1035_LABEL,     /* begins with a letter, ≤ 63: Services before 1.34 */
    NAME_LABEL_KEY,         /* [subdomain/]name */
    NAME_LABEL_VALUE,       /* ≤ 63, may be empty */
};
#define NAME_LABEL_MAX 63
#define NAME_SUBDOMAIN_MAX 253

/* Fails with the API server's message. text NULL counts as "". */
bool name_check(enum name_kind kind, const char *text, struct error *err) must_check;

static inline bool name_is_dns1123_label(const char *text)
{
    return name_check(NAME_DNS1123_LABEL, text, NULL);
}
static inline bool name_is_dns1123_subdomain(const char *text)
{
    return name_check(NAME_DNS1123_SUBDOMAIN, text, NULL);
}
static inline bool name_is_dns1035(const char *text)
{
    return name_check(NAME_DNS1035_LABEL, text, NULL);
}
static inline bool name_is_label_key(const char *text)
{
    return name_check(NAME_LABEL_KEY, text, NULL);
}
static inline bool name_is_label_value(const char *text)
{
    return name_check(NAME_LABEL_VALUE, text, NULL);
}

/* text itself if it is a DNS-1123 label of at most max bytes (10 to 63). Otherwise its letters and
 * digits in lower case, with a `-` for everything between them, truncated, then `-` and eight hex
 * digits of the SHA-256 of the whole text, so that two texts give two names. A derived name begins
 * with a letter (an n is put before a digit), so it is a DNS-1035 label, too. */
const char *name_shorten(struct arena *a, const char *text, size_t max);
/* base and suffix ("-cache", a valid end of a name). If the two together are too long or not a
 * label, base is shortened as above. */
const char *name_join(struct arena *a, const char *base, const char *suffix, size_t max);
/* A file name for any text: keeps A-Za-z0-9._-, replaces each run of other characters with one
 * dash, and removes these from both ends. May be empty. */
const char *name_of_file(struct arena *a, const char *text);
