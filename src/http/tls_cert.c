#include "http/tls_cert.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

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

static bool fill(X509 *x, EVP_PKEY *key, const char *host, int days)
{
    X509_NAME *name = X509_get_subject_name(x);
    char alternative[300];
    snprintf(alternative, sizeof(alternative), "DNS:%s", host);
    X509_EXTENSION *san = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, alternative);
    bool ok = san && X509_set_version(x, 2) && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) &&
              X509_gmtime_adj(X509_getm_notBefore(x), -3600) &&
              X509_gmtime_adj(X509_getm_notAfter(x), (long)days * 86400) &&
              X509_set_pubkey(x, key) &&
              X509_NAME_add_entry_by_txt(
                  name, "CN", MBSTRING_ASC, (const unsigned char *)host, -1, -1, 0) &&
              X509_set_issuer_name(x, name) && X509_add_ext(x, san, -1) &&
              X509_sign(x, key, EVP_sha256());
    X509_EXTENSION_free(san);
    return ok;
}

bool tls_self_signed(struct arena *a, const char *host, int days, struct str *ret_certificate,
    struct str *ret_key, struct error *err)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = X509_new();
    BIO *certificate = BIO_new(BIO_s_mem()), *private = BIO_new(BIO_s_mem());
    bool ok = key && x && certificate && private && fill(x, key, host, days) &&
              PEM_write_bio_X509(certificate, x) &&
              PEM_write_bio_PrivateKey(private, key, NULL, NULL, 0, NULL, NULL);
    if (ok) {
        *ret_certificate = take_bio(a, certificate);
        *ret_key = take_bio(a, private);
    } else {
        fail_openssl(err, host);
    }
    BIO_free(certificate);
    BIO_free(private);
    X509_free(x);
    EVP_PKEY_free(key);
    return ok;
}
