#pragma once

/* Creates certificates, for servers without a configured one. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* EC P-256, self-signed, valid from an hour ago for `days`; PEM in the arena. */
bool tls_self_signed(struct arena *a, const char *host, int days, struct str *ret_certificate,
    struct str *ret_key, struct error *err) must_check;

/* ---- our own certificate authority ---- */

struct tls_issue {
    const char *common_name;
    const char *const *organizations; /* O of the subject; NULL, or NULL-terminated */
    /* Names and numeric addresses of a server; NULL: a client's certificate. */
    const char *const *hosts;
    int days;
};

/* A CA certificate and its key, for tls_issue(). PEM in the arena. */
bool tls_authority(struct arena *a, const char *common_name, int days, struct str *ret_certificate,
    struct str *ret_key, struct error *err) must_check;
/* Whether the first certificate of a PEM text is valid now; the error says what to do. */
bool tls_is_current(
    struct str certificate, const char *name, int64_t now_s, struct error *err) must_check;
/* Issues a certificate signed by the CA. */
bool tls_issue(struct arena *a, struct str authority, struct str authority_key,
    const struct tls_issue *what, struct str *ret_certificate, struct str *ret_key,
    struct error *err) must_check;
/* Whether a certificate and its key were issued by this CA (the first one of a bundle, which may
 * have expired) for these hosts, and are valid at the given time. */
bool tls_is_issued(struct str certificate, struct str key, struct str authority,
    const char *const *hosts, int64_t at_s);
/* Whether the first certificate of a PEM text is valid at the given time. */
bool tls_is_valid_at(struct str certificate, int64_t at_s);
