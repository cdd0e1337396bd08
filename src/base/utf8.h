#pragma once

/* UTF-8, one character at a time. */

#include "base/base.h"
#include "base/str.h"

/* The first character of s and its length in bytes; 0 if s is empty or does not begin with a valid
 * character (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF). */
size_t utf8_first(struct str s, uint32_t *ret);
bool utf8_valid(struct str s);
/* Writes a character and returns its length; 0 if it is a surrogate or above U+10FFFF. */
size_t utf8_put(uint32_t character, char out[4]);
/* Whether a character is safe to print: not a control character, line or paragraph separator, byte
 * order mark, or one that reverses the direction of writing. */
bool utf8_printable(uint32_t character);
