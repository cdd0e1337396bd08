#pragma once

/* TLS contexts: the CA that a side trusts, and its own certificate. Created once and shared by many
 * connections.
 *
 * A context has a reference count: pools and servers keep their own reference. When a configuration
 * is read again, create a new context and unref the old one; active connections keep it alive. The
 * minimum version is TLS 1.2. Certificates and keys are PEM. Only tls.c uses OpenSSL. */

#include "base/error.h"
#include "base/str.h"

struct tls_context;

struct tls_client_options {
    struct str ca;          /* PEM bundle to trust; .ptr NULL and no ca_file: the system's roots */
    const char *ca_file;    /* instead of ca */
    struct str certificate; /* client certificate with its chain, and its key; both or none */
    struct str key;
    const char *server_name; /* to verify and send as SNI; NULL: the dialled host */
    bool verify_off;         /* accept any certificate: for insecure-skip-tls-verify only */
};

struct tls_server_options {
    struct str certificate; /* with its chain */
    struct str key;
    const char *certificate_file; /* instead of certificate; read at once */
    const char *key_file;
    struct str client_ca;      /* CA of the clients' certificates; .ptr NULL: none are requested */
    bool client_cert_required; /* false: a client may have no certificate */
};

/* Returns NULL on failure; err says which part cannot be used and why. */
struct tls_context *tls_client_new(
    const struct tls_client_options *options, struct error *err) must_check;
struct tls_context *tls_server_new(
    const struct tls_server_options *options, struct error *err) must_check;
struct tls_context *tls_context_ref(struct tls_context *c); /* NULL stays NULL */
void tls_context_unref(struct tls_context *c);

/* The certificate of the peer, which has proved that it has the key. */
struct tls_peer {
    const char *common_name;          /* of the subject; "" if none */
    const char *const *organizations; /* O of the subject, in order; NULL-terminated */
    struct str der;                   /* the whole certificate */
};
