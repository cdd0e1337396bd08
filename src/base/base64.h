#pragma once

/* RFC 4648: base64 (section 4, + and /, padded) and base64url (section 5, - and _, not padded). */

#include "base/arena.h"
#include "base/base.h"
#include "base/str.h"

const char *base64_encode(struct arena *a, struct str bytes);
const char *base64_encode_url(struct arena *a, struct str bytes);
/* Strict: no whitespace, correct padding (none for url), and no bits left over in the last digit,
 * so that every value has exactly one encoding. The result is followed by a NUL that is not
 * counted. */
bool base64_decode(struct arena *a, struct str text, struct str *ret) must_check;
bool base64_decode_url(struct arena *a, struct str text, struct str *ret) must_check;
