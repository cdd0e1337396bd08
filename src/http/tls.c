#include "http/tls_session.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

struct tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *method; /* of its sessions */
    int references;
    bool is_server;
    bool verify_off;
    char *server_name;
};

/* Reports the first error of OpenSSL: it is the cause, and the others are consequences. */
static bool fail_ssl(struct error *err, enum error_code code, const char *what)
{
    unsigned long number = ERR_get_error();
    const char *reason = number ? ERR_reason_error_string(number) : NULL;
    ERR_clear_error();
    return fail(err, code, "%s: %s", what, reason ?: "TLS library error");
}

/* ---- BIO of a session ---- */

struct tls_session {
    SSL *ssl;
    struct tls_context *context;
    struct str input;
    struct buf held; /* input that was held beyond its read */
    struct buf *out;
    enum tls_state state;
    bool broken; /* after a fatal error nothing more may be sent */
    char host[256];
};

static int session_bio_read(BIO *bio, char *into, int size)
{
    struct tls_session *s = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    size_t count = s->input.len < (size_t)size ? s->input.len : (size_t)size;
    if (count == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    memcpy(into, s->input.ptr, count);
    s->input = (struct str){ s->input.ptr + count, s->input.len - count };
    return (int)count;
}

static int session_bio_write(BIO *bio, const char *bytes, int count)
{
    struct tls_session *s = BIO_get_data(bio);
    buf_add(s->out, bytes, (size_t)count);
    return buf_overflowed(s->out) ? -1 : count;
}

static long session_bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *session_method_new(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK | 100, "session");
    assert(method);
    BIO_meth_set_read(method, session_bio_read);
    BIO_meth_set_write(method, session_bio_write);
    BIO_meth_set_ctrl(method, session_bio_ctrl);
    return method;
}

/* ---- contexts ---- */

static BIO *bio_of(struct str pem)
{
    assert(pem.len <= INT32_MAX);
    BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
    assert(bio);
    return bio;
}

static bool add_trust(SSL_CTX *ssl, struct str pem, bool ask_clients, struct error *err)
{
    BIO *bio = bio_of(pem);
    X509 *one;
    int count = 0;
    while ((one = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL))) {
        X509_STORE_add_cert(SSL_CTX_get_cert_store(ssl), one);
        if (ask_clients)
            SSL_CTX_add_client_CA(ssl, one);
        X509_free(one);
        count++;
    }
    BIO_free(bio);
    ERR_clear_error();
    return count > 0 || fail(err, ERR_INVALID, "the CA bundle has no certificate in PEM form");
}

/* True if the folder has the hashed names with which OpenSSL finds single certificates. */
static bool has_hashed_names(const char *folder)
{
    DIR *dir = opendir(folder);
    bool found = false;
    struct dirent *entry;
    while (dir && !found && (entry = readdir(dir)))
        found = strlen(entry->d_name) == 10 && strspn(entry->d_name, "0123456789abcdef") == 8 &&
                entry->d_name[8] == '.';
    if (dir)
        closedir(dir);
    return found;
}

/* Loading the whole bundle takes more than a megabyte permanently; the folder is read on demand. */
static void add_system_trust(SSL_CTX *ssl)
{
    const char *folder = getenv(X509_get_default_cert_dir_env()) ?: X509_get_default_cert_dir();
    if (!getenv(X509_get_default_cert_file_env()) && has_hashed_names(folder))
        SSL_CTX_load_verify_dir(ssl, folder);
    else
        SSL_CTX_set_default_verify_paths(ssl);
    ERR_clear_error();
}

static bool use_chain(SSL_CTX *ssl, struct str certificate, struct error *err)
{
    BIO *bio = bio_of(certificate);
    X509 *one = PEM_read_bio_X509_AUX(bio, NULL, NULL, NULL);
    bool ok = one && SSL_CTX_use_certificate(ssl, one) == 1;
    X509_free(one);
    while (ok && (one = PEM_read_bio_X509(bio, NULL, NULL, NULL)))
        ok = SSL_CTX_add0_chain_cert(ssl, one) == 1;
    BIO_free(bio);
    if (ok)
        ERR_clear_error(); /* reaching the end of the file is an error */
    return ok || fail_ssl(err, ERR_INVALID, "certificate");
}

static bool use_identity(SSL_CTX *ssl, struct str certificate, struct str key, struct error *err)
{
    if (!certificate.ptr || !key.ptr)
        return fail(err, ERR_INVALID, "a certificate and its key are needed, and only one is set");
    if (!use_chain(ssl, certificate, err))
        return false;
    BIO *bio = bio_of(key);
    EVP_PKEY *pkey = PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)(uintptr_t) "");
    BIO_free(bio);
    bool ok = pkey && SSL_CTX_use_PrivateKey(ssl, pkey) == 1 && SSL_CTX_check_private_key(ssl) == 1;
    EVP_PKEY_free(pkey);
    return ok || fail_ssl(err, ERR_INVALID, "key");
}

static struct tls_context *context_new(const SSL_METHOD *method)
{
    struct tls_context *c = mem_new_of(struct tls_context);
    c->references = 1;
    c->ssl = SSL_CTX_new(method);
    c->method = session_method_new();
    assert(c->ssl);
    SSL_CTX_set_min_proto_version(c->ssl, TLS1_2_VERSION);
    /* No auto chain: the CAs that we trust are not part of our chain. */
    SSL_CTX_set_mode(c->ssl, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
    SSL_CTX_set_options(c->ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(c->ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(c->ssl, 0);
    return c;
}

struct tls_context *tls_client_new(const struct tls_client_options *options, struct error *err)
{
    struct tls_context *c = context_new(TLS_client_method());
    c->server_name = options->server_name ? mem_strdup(options->server_name) : NULL;
    c->verify_off = options->verify_off;
    bool ok = true;
    if (options->ca.ptr)
        ok = add_trust(c->ssl, options->ca, false, err);
    else if (options->ca_file)
        ok = SSL_CTX_load_verify_file(c->ssl, options->ca_file) == 1 ||
             fail_ssl(err, ERR_INVALID, options->ca_file);
    else if (!options->verify_off)
        add_system_trust(c->ssl);
    if (ok && (options->certificate.ptr || options->key.ptr))
        ok = use_identity(c->ssl, options->certificate, options->key, err);
    SSL_CTX_set_verify(c->ssl, options->verify_off ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (ok)
        return c;
    tls_context_unref(c);
    return NULL;
}

static int choose_alpn(SSL *ssl, const unsigned char **chosen, unsigned char *length,
    const unsigned char *offered, unsigned offered_length, void *ctx)
{
    (void)ssl, (void)ctx;
    static const unsigned char ours[] = "\x02h2\x08http/1.1";
    int rc = SSL_select_next_proto((unsigned char **)(uintptr_t)chosen,
        length,
        ours,
        sizeof(ours) - 1,
        offered,
        offered_length);
    return rc == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
}

static bool use_identity_files(SSL_CTX *ssl, const struct tls_server_options *o, struct error *err)
{
    if (!o->certificate_file || !o->key_file)
        return use_identity(ssl, o->certificate, o->key, err);
    if (SSL_CTX_use_certificate_chain_file(ssl, o->certificate_file) != 1)
        return fail_ssl(err, ERR_INVALID, o->certificate_file);
    if (SSL_CTX_use_PrivateKey_file(ssl, o->key_file, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(ssl) != 1)
        return fail_ssl(err, ERR_INVALID, o->key_file);
    return true;
}

struct tls_context *tls_server_new(const struct tls_server_options *options, struct error *err)
{
    struct tls_context *c = context_new(TLS_server_method());
    c->is_server = true;
    SSL_CTX_set_alpn_select_cb(c->ssl, choose_alpn, NULL);
    bool ok = use_identity_files(c->ssl, options, err);
    if (ok && options->client_ca.ptr) {
        ok = add_trust(c->ssl, options->client_ca, true, err);
        SSL_CTX_set_verify(c->ssl,
            SSL_VERIFY_PEER | (options->client_cert_required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
            NULL);
    }
    if (ok)
        return c;
    tls_context_unref(c);
    return NULL;
}

struct tls_context *tls_context_ref(struct tls_context *c)
{
    if (c)
        c->references++;
    return c;
}

void tls_context_unref(struct tls_context *c)
{
    if (!c || --c->references > 0)
        return;
    SSL_CTX_free(c->ssl);
    BIO_meth_free(c->method);
    free(c->server_name);
    free(c);
}

/* ---- sessions ---- */

static bool is_address(const char *host)
{
    unsigned char bytes[16];
    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

static void expect_host(struct tls_session *s)
{
    const char *name = s->host;
    X509_VERIFY_PARAM *param = SSL_get0_param(s->ssl);
    if (is_address(name)) {
        X509_VERIFY_PARAM_set1_ip_asc(param, name);
        return;
    }
    SSL_set_tlsext_host_name(s->ssl, name);
    X509_VERIFY_PARAM_set1_host(param, name, 0);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
}

struct tls_session *tls_session_new(
    struct tls_context *context, const char *host, const char *alpn, struct buf *out)
{
    struct tls_session *s = mem_new_of(struct tls_session);
    s->context = tls_context_ref(context);
    s->out = out;
    buf_init(&s->held, SIZE_MAX / 2); /* limited by the reads of the owner */
    s->ssl = SSL_new(context->ssl);
    BIO *bio = BIO_new(context->method);
    assert(s->ssl && bio);
    BIO_set_data(bio, s);
    BIO_set_init(bio, 1);
    SSL_set_bio(s->ssl, bio, bio);
    if (context->is_server) {
        SSL_set_accept_state(s->ssl);
        return s;
    }
    SSL_set_connect_state(s->ssl);
    snprintf(s->host, sizeof(s->host), "%s", context->server_name ?: host);
    expect_host(s);
    if (alpn)
        SSL_set_alpn_protos(s->ssl, (const unsigned char *)alpn, (unsigned)strlen(alpn));
    return s;
}

void tls_session_free(struct tls_session *s)
{
    if (!s)
        return;
    SSL_free(s->ssl);
    tls_context_unref(s->context);
    buf_done(&s->held);
    free(s);
}

enum tls_state tls_session_state(const struct tls_session *s)
{
    return s->state;
}

/* Common mistakes, with messages that help to fix them. */
static const struct {
    int reason;
    enum error_code code;
    const char *text;
} known_failures[] = {
    { SSL_R_WRONG_VERSION_NUMBER, ERR_INVALID, "the other side does not speak TLS here" },
    { SSL_R_HTTP_REQUEST, ERR_INVALID, "the client does not speak TLS" },
    { SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL,
        ERR_UNSUPPORTED,
        "the other side does not speak HTTP/2" },
    { SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, ERR_UNAUTHORIZED, "a client certificate is needed" },
    { SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, ERR_UNAUTHORIZED, "our certificate was refused" },
    { SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, ERR_UNAUTHORIZED, "our certificate has expired" },
    { SSL_R_TLSV1_ALERT_UNKNOWN_CA, ERR_UNAUTHORIZED, "our certificate's CA is not trusted" },
};

static bool fail_session(struct tls_session *s, struct error *err)
{
    s->broken = true;
    long verified = SSL_get_verify_result(s->ssl);
    if (!s->context->is_server && !s->context->verify_off && verified != X509_V_OK) {
        ERR_clear_error();
        return fail(err,
            ERR_INVALID,
            "certificate of %s: %s",
            s->host,
            X509_verify_cert_error_string(verified));
    }
    int reason = ERR_GET_REASON(ERR_peek_error());
    for (size_t i = 0; i < lengthof(known_failures); i++)
        if (reason == known_failures[i].reason) {
            ERR_clear_error();
            return fail(err, known_failures[i].code, "TLS: %s", known_failures[i].text);
        }
    return fail_ssl(err, ERR_UNAVAILABLE, "TLS");
}

bool tls_session_handshake(struct tls_session *s, struct error *err)
{
    if (s->state != TLS_HANDSHAKE)
        return true;
    ERR_clear_error();
    int rc = SSL_do_handshake(s->ssl);
    if (rc == 1)
        s->state = TLS_OPEN;
    return rc == 1 || SSL_get_error(s->ssl, rc) == SSL_ERROR_WANT_READ || fail_session(s, err);
}

void tls_session_input(struct tls_session *s, struct str ciphertext)
{
    if (s->input.len) {
        tls_session_hold(s);
        buf_add(&s->held, ciphertext.ptr, ciphertext.len);
        ciphertext = buf_str(&s->held);
    }
    s->input = ciphertext;
}

void tls_session_hold(struct tls_session *s)
{
    if (s->input.len == 0) {
        buf_done(&s->held);
    } else if (s->held.len && s->input.ptr >= s->held.ptr &&
               s->input.ptr < s->held.ptr + s->held.len) {
        buf_eat(&s->held, s->held.len - s->input.len);
    } else {
        buf_done(&s->held);
        buf_add(&s->held, s->input.ptr, s->input.len);
    }
    s->input = buf_str(&s->held);
}

bool tls_session_read(
    struct tls_session *s, char *into, size_t size, size_t *ret, struct error *err)
{
    *ret = 0;
    if (s->state != TLS_OPEN)
        return true;
    ERR_clear_error();
    int rc = SSL_read_ex(s->ssl, into, size, ret);
    if (rc == 1)
        return true;
    switch (SSL_get_error(s->ssl, rc)) {
    case SSL_ERROR_WANT_READ:
        return true;
    case SSL_ERROR_ZERO_RETURN:
        s->state = TLS_CLOSED;
        return true;
    default:
        return fail_session(s, err);
    }
}

bool tls_session_write(struct tls_session *s, struct str plain, struct error *err)
{
    assert(s->state != TLS_HANDSHAKE);
    size_t written = 0;
    ERR_clear_error();
    /* The buffer below takes everything, so this writes all bytes or fails. */
    if (plain.len && SSL_write_ex(s->ssl, plain.ptr, plain.len, &written) != 1)
        return fail_session(s, err);
    return true;
}

void tls_session_shutdown(struct tls_session *s)
{
    if (s->state != TLS_HANDSHAKE && !s->broken)
        SSL_shutdown(s->ssl);
    ERR_clear_error();
}

bool tls_session_is_h2(const struct tls_session *s)
{
    const unsigned char *name;
    unsigned length;
    SSL_get0_alpn_selected(s->ssl, &name, &length);
    return length == 2 && memcmp(name, "h2", 2) == 0;
}

static const char *entry_text(struct arena *a, X509_NAME *subject, int at)
{
    unsigned char *utf8 = NULL;
    int length =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    /* A NUL inside would make two different names equal. */
    bool usable = length >= 0 && !memchr(utf8, 0, (size_t)length);
    const char *text = usable ? arena_strndup(a, (char *)utf8, (size_t)length) : "";
    OPENSSL_free(utf8);
    return text;
}

const struct tls_peer *tls_session_peer(const struct tls_session *s, struct arena *a)
{
    X509 *certificate = SSL_get0_peer_certificate(s->ssl);
    if (!certificate || SSL_get_verify_result(s->ssl) != X509_V_OK)
        return NULL;
    struct tls_peer *peer = arena_new(a, struct tls_peer);
    X509_NAME *subject = X509_get_subject_name(certificate);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    peer->common_name = at >= 0 ? entry_text(a, subject, at) : "";
    size_t entries = (size_t)X509_NAME_entry_count(subject), count = 0;
    const char **organizations = arena_array(a, entries + 1, sizeof(*organizations));
    at = -1;
    while ((at = X509_NAME_get_index_by_NID(subject, NID_organizationName, at)) >= 0)
        organizations[count++] = entry_text(a, subject, at);
    peer->organizations = organizations;
    unsigned char *der = NULL;
    int length = i2d_X509(certificate, &der);
    assert(length > 0);
    char *copy = arena_alloc(a, (size_t)length);
    memcpy(copy, der, (size_t)length);
    peer->der = (struct str){ copy, (size_t)length };
    OPENSSL_free(der);
    return peer;
}
