#pragma once

/* What a request for a certificate says (PKCS #10, RFC 2986), as far as the server must know. */

#include "base/str.h"

/* Whether the subject of the request in a PEM text has this organization, a group in Kubernetes.
 * False also in *ret_readable: the text does not begin with a request. */
bool certificate_request_has_group(struct str pem, const char *group, bool *ret_readable);
