#include "http/tls_cert.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/buf.h"

static bool fail_openssl(struct error *err, const char *what)
{
    char text[200];
    ERR_error_string_n(ERR_get_error(), text, sizeof(text));
    return fail(err, ERR_INTERNAL, "making a certificate: %s: %s", what, text);
}

static struct str take_bio(struct arena *a, BIO *bio)
{
    char *bytes;
    long count = BIO_get_mem_data(bio, &bytes);
    return (struct str){ arena_strndup(a, bytes, (size_t)count), (size_t)count };
}

static bool add_entry(X509_NAME *name, const char *field, const char *text)
{
    return X509_NAME_add_entry_by_txt(
        name, field, MBSTRING_UTF8, (const unsigned char *)text, -1, -1, 0);
}

static bool add_extension(X509 *x, X509 *issuer, int nid, const char *text)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &context, nid, text);
    bool ok = e && X509_add_ext(x, e, -1);
    X509_EXTENSION_free(e);
    return ok;
}

/* A serial of 63 random bits, so that two certificates of one CA never have the same. */
static bool set_serial(X509 *x)
{
    uint64_t serial;
    return RAND_bytes((unsigned char *)&serial, sizeof(serial)) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(x), serial >> 1 | 1);
}

static bool set_basics(X509 *x, EVP_PKEY *key, const char *common_name, int days)
{
    return X509_set_version(x, 2) && set_serial(x) &&
           X509_gmtime_adj(X509_getm_notBefore(x), -3600) &&
           X509_gmtime_adj(X509_getm_notAfter(x), (long)days * 86400) && X509_set_pubkey(x, key) &&
           add_entry(X509_get_subject_name(x), "CN", common_name);
}

/* "DNS:a,IP:10.0.0.1" */
static void print_hosts(struct buf *b, const char *const *hosts)
{
    struct in6_addr address;
    for (; *hosts; hosts++) {
        bool numeric =
            inet_pton(AF_INET, *hosts, &address) == 1 || inet_pton(AF_INET6, *hosts, &address) == 1;
        buf_printf(b, "%s%s:%s", b->len ? "," : "", numeric ? "IP" : "DNS", *hosts);
    }
}

static bool print_pem(
    struct arena *a, X509 *x, EVP_PKEY *key, struct str *ret_certificate, struct str *ret_key)
{
    BIO *certificate = BIO_new(BIO_s_mem()), *key_text = BIO_new(BIO_s_mem());
    bool ok = certificate && key_text && PEM_write_bio_X509(certificate, x) &&
              PEM_write_bio_PrivateKey(key_text, key, NULL, NULL, 0, NULL, NULL);
    if (ok) {
        *ret_certificate = take_bio(a, certificate);
        *ret_key = take_bio(a, key_text);
    }
    BIO_free(certificate);
    BIO_free(key_text);
    return ok;
}

static bool fill_self_signed(X509 *x, EVP_PKEY *key, const char *name, int days, bool authority)
{
    const char *hosts[] = { name, NULL };
    cleanup(buf_done) struct buf san = BUF_INIT(1024);
    print_hosts(&san, hosts);
    return set_basics(x, key, name, days) && X509_set_issuer_name(x, X509_get_subject_name(x)) &&
           (authority ? add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE") &&
                            add_extension(x,
                                x,
                                NID_key_usage,
                                "critical,keyCertSign,cRLSign,digitalSignature") &&
                            add_extension(x, x, NID_subject_key_identifier, "hash")
                      : add_extension(x, x, NID_subject_alt_name, buf_text(&san))) &&
           X509_sign(x, key, EVP_sha256());
}

static bool make_self_signed(struct arena *a, const char *name, int days, bool authority,
    struct str *ret_certificate, struct str *ret_key, struct error *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    bool ok = key && x && fill_self_signed(x, key, name, days, authority) &&
              print_pem(a, x, key, ret_certificate, ret_key);
    if (!ok)
        fail_openssl(err, name);
    X509_free(x);
    EVP_PKEY_free(key);
    return ok;
}

bool tls_self_signed(struct arena *a, const char *host, int days, struct str *ret_certificate,
    struct str *ret_key, struct error *err)
{
    return make_self_signed(a, host, days, false, ret_certificate, ret_key, err);
}

bool tls_authority(struct arena *a, const char *common_name, int days, struct str *ret_certificate,
    struct str *ret_key, struct error *err)
{
    return make_self_signed(a, common_name, days, true, ret_certificate, ret_key, err);
}

/* ---- issuing ---- */

static bool fill_issued(
    X509 *x, EVP_PKEY *key, X509 *authority, EVP_PKEY *signer, const struct tls_issue *what)
{
    bool ok =
        set_basics(x, key, what->common_name, what->days) &&
        X509_set_issuer_name(x, X509_get_subject_name(authority)) &&
        add_extension(x, authority, NID_basic_constraints, "critical,CA:FALSE") &&
        add_extension(x, authority, NID_key_usage, "critical,digitalSignature") &&
        add_extension(x, authority, NID_ext_key_usage, what->hosts ? "serverAuth" : "clientAuth") &&
        add_extension(x, authority, NID_authority_key_identifier, "keyid");
    for (const char *const *o = what->organizations; ok && o && *o; o++)
        ok = add_entry(X509_get_subject_name(x), "O", *o);
    if (ok && what->hosts) {
        cleanup(buf_done) struct buf san = BUF_INIT(16384);
        print_hosts(&san, what->hosts);
        ok = add_extension(x, authority, NID_subject_alt_name, buf_text(&san));
    }
    return ok && X509_sign(x, signer, EVP_sha256());
}

bool tls_issue(struct arena *a, struct str authority, struct str authority_key,
    const struct tls_issue *what, struct str *ret_certificate, struct str *ret_key,
    struct error *err)
{
    BIO *in = BIO_new_mem_buf(authority.ptr, (int)authority.len);
    BIO *in_key = BIO_new_mem_buf(authority_key.ptr, (int)authority_key.len);
    X509 *ca = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL, *x = X509_new();
    EVP_PKEY *signer = in_key ? PEM_read_bio_PrivateKey(in_key, NULL, NULL, NULL) : NULL;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    bool ok = ca && signer && key && x && fill_issued(x, key, ca, signer, what) &&
              print_pem(a, x, key, ret_certificate, ret_key);
    if (!ok)
        fail_openssl(err, what->common_name);
    X509_free(ca);
    X509_free(x);
    EVP_PKEY_free(signer);
    EVP_PKEY_free(key);
    BIO_free(in);
    BIO_free(in_key);
    return ok;
}

bool tls_is_current(struct str certificate, const char *name, int64_t now_s, struct error *err)
{
    BIO *in = BIO_new_mem_buf(certificate.ptr, (int)certificate.len);
    X509 *x = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
    time_t now = (time_t)now_s;
    bool early = x && X509_cmp_time(X509_get0_notBefore(x), &now) > 0;
    bool late = x && X509_cmp_time(X509_get0_notAfter(x), &now) < 0;
    X509_free(x);
    BIO_free(in);
    if (!x)
        return fail(err, ERR_INVALID, "%s holds no certificate: restore a backup of it", name);
    if (early)
        return fail(err,
            ERR_INVALID,
            "%s is not valid yet: the clock was ahead when it was made, or is behind now. Set the "
            "clock, or remove ca.crt and ca.key to get new ones (clients then need a new "
            "kubeconfig)",
            name);
    return !late || fail(err,
                        ERR_INVALID,
                        "%s is not valid any more: set the clock if it is ahead, or remove ca.crt "
                        "and ca.key to get new ones (clients then need a new kubeconfig)",
                        name);
}

/* ---- checking ---- */

static X509 *read_certificate(struct str pem)
{
    BIO *in = BIO_new_mem_buf(pem.ptr ?: "", (int)pem.len);
    X509 *x = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;
    BIO_free(in);
    ERR_clear_error();
    return x;
}

static EVP_PKEY *read_key(struct str pem)
{
    BIO *in = BIO_new_mem_buf(pem.ptr ?: "", (int)pem.len);
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, NULL, NULL) : NULL;
    BIO_free(in);
    ERR_clear_error();
    return key;
}

static bool is_valid_at(const X509 *x, int64_t at_s)
{
    time_t at = (time_t)at_s;
    return X509_cmp_time(X509_get0_notBefore(x), &at) < 0 &&
           X509_cmp_time(X509_get0_notAfter(x), &at) > 0;
}

static bool names_all(X509 *x, const char *const *hosts)
{
    struct in6_addr address;
    for (; *hosts; hosts++) {
        bool numeric =
            inet_pton(AF_INET, *hosts, &address) == 1 || inet_pton(AF_INET6, *hosts, &address) == 1;
        if ((numeric ? X509_check_ip_asc(x, *hosts, 0)
                     : X509_check_host(x, *hosts, strlen(*hosts), 0, NULL)) != 1)
            return false;
    }
    return true;
}

bool tls_is_valid_at(struct str certificate, int64_t at_s)
{
    X509 *x = read_certificate(certificate);
    bool ok = x && is_valid_at(x, at_s);
    X509_free(x);
    return ok;
}

bool tls_is_issued(struct str certificate, struct str key, struct str authority,
    const char *const *hosts, int64_t at_s)
{
    X509 *x = read_certificate(certificate), *ca = read_certificate(authority);
    EVP_PKEY *own = read_key(key);
    bool ok = x && ca && own && is_valid_at(x, at_s) && X509_check_private_key(x, own) == 1 &&
              X509_verify(x, X509_get0_pubkey(ca)) == 1 && names_all(x, hosts);
    ERR_clear_error();
    EVP_PKEY_free(own);
    X509_free(ca);
    X509_free(x);
    return ok;
}
