#pragma once

/* TLS contexts: what a side trusts, and who it says it is. Made once, shared by many connections.
 *
 * A context is counted: pools and servers keep a reference of their own, so a configuration that
 * was read again simply makes a new context and lets the old one go; connections that run keep it
 * alive. TLS 1.2 is the least that is spoken. Certificates and keys are PEM. Only tls.c knows
 * OpenSSL. */

#include "base/error.h"
#include "base/str.h"

struct tls_context;

struct tls_client_options {
    struct str ca;          /* PEM bundle to trust; .ptr NULL and no ca_file: the system's roots */
    const char *ca_file;    /* instead of ca */
    struct str certificate; /* client certificate with its chain, and its key; both or none */
    struct str key;
    const char *server_name; /* to verify and send (SNI) instead of the host dialled; NULL: host */
    bool verify_off;         /* take any certificate: for insecure-skip-tls-verify only */
};

struct tls_server_options {
    struct str certificate; /* with its chain */
    struct str key;
    const char *certificate_file; /* instead, read now */
    const char *key_file;
    struct str client_ca;      /* certificates of clients are checked against this; .ptr NULL: none
                                * is asked for */
    bool client_cert_required; /* false: a client without one is let in, and the handler sees it */
};

/* NULL with err says which part cannot be used and why. */
struct tls_context *tls_client_new(
    const struct tls_client_options *options, struct error *err) must_check;
struct tls_context *tls_server_new(
    const struct tls_server_options *options, struct error *err) must_check;
struct tls_context *tls_context_ref(struct tls_context *c); /* NULL stays NULL */
void tls_context_unref(struct tls_context *c);

/* The certificate that the other side proved to have the key of. */
struct tls_peer {
    const char *common_name;          /* of the subject; "" if none */
    const char *const *organizations; /* O of the subject, in order; NULL-terminated */
    struct str der;                   /* the whole certificate */
};
