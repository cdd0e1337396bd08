#pragma once

/* Tokens of ServiceAccounts: JSON Web Tokens (RFC 7519), signed by HMAC-SHA256 with the server's
 * own key. The caller must check whether the account still exists. */

#include "base/json.h"

/* header.claims.signature */
const char *token_sign(struct arena *a, struct str key, struct json claims);
/* The claims of a token that was signed with this key; checks nothing else. */
bool token_verify(
    struct arena *a, struct str key, struct str token, struct json *ret_claims) must_check;
