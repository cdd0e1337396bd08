#include "apiserver/access/certificate_request.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>

/* Other things may stand before the request for OpenSSL, and not for who signs it. */
static X509_REQ *read_request(struct str pem)
{
    struct str text = str_trim(pem);
    if (!str_starts(text, STR("-----BEGIN CERTIFICATE REQUEST-----")) || text.len > INT_MAX)
        return NULL;
    BIO *in = BIO_new_mem_buf(text.ptr, (int)text.len);
    assert(in);
    X509_REQ *request = PEM_read_bio_X509_REQ(in, NULL, NULL, NULL);
    ERR_clear_error();
    BIO_free(in);
    return request;
}

static bool says(const ASN1_STRING *value, const char *text)
{
    unsigned char *utf8 = NULL;
    int length = ASN1_STRING_to_UTF8(&utf8, value);
    bool same = length >= 0 && str_eq((struct str){ (char *)utf8, (size_t)length }, str_of(text));
    OPENSSL_free(utf8);
    ERR_clear_error();
    return same;
}

bool certificate_request_has_group(struct str pem, const char *group, bool *ret_readable)
{
    X509_REQ *request = read_request(pem);
    bool found = false;
    *ret_readable = request != NULL;
    if (!request)
        return false;
    X509_NAME *subject = X509_REQ_get_subject_name(request);
    for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_organizationName, at)) >= 0;)
        found |= says(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)), group);
    X509_REQ_free(request);
    return found;
}
