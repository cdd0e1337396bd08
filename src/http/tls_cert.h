#pragma once

/* A certificate of our own making, for servers that nobody gave one. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* EC P-256, signed by itself, valid from an hour ago for days; PEM in the arena. */
bool tls_self_signed(struct arena *a, const char *host, int days, struct str *ret_certificate,
    struct str *ret_key, struct error *err) must_check;

/* ---- an authority of our own ---- */

struct tls_issue {
    const char *common_name;
    const char *const *organizations; /* O of the subject; NULL, or NULL-terminated */
    /* Names and numeric addresses that a server is reached by; NULL: a client's certificate. */
    const char *const *hosts;
    int days;
};

/* A certificate that may sign others, for issuing with its key. PEM in the arena. */
bool tls_authority(struct arena *a, const char *common_name, int days, struct str *ret_certificate,
    struct str *ret_key, struct error *err) must_check;
/* Whether the first certificate of a PEM text is valid now; the error says what to do. */
bool tls_is_current(
    struct str certificate, const char *name, int64_t now_s, struct error *err) must_check;
/* One signed by the authority. */
bool tls_issue(struct arena *a, struct str authority, struct str authority_key,
    const struct tls_issue *what, struct str *ret_certificate, struct str *ret_key,
    struct error *err) must_check;
/* Whether a certificate and its key were issued by this authority (the first one of a bundle, which
 * need not be valid any more), for these hosts, and are valid at a time. */
bool tls_is_issued(struct str certificate, struct str key, struct str authority,
    const char *const *hosts, int64_t at_s);
/* Whether the first certificate of a PEM text is valid at a time. */
bool tls_is_valid_at(struct str certificate, int64_t at_s);
