#pragma once

/* What a request for a certificate says (PKCS #10, RFC 2986), as far as the server must know. */

#include "base/arena.h"
#include "base/str.h"

/* The bytes of the request in a PEM text. False: there is none, it cannot be read, or it is not the
 * only thing in the text: who signs it could take another one for it. */
bool certificate_request_der(struct arena *a, struct str pem, struct str *ret) must_check;
/* Whether its subject has this organization, a group in Kubernetes. False also in *ret_readable: it
 * is no request. */
bool certificate_request_has_group(struct str der, const char *group, bool *ret_readable);
