#pragma once

/* Tokens of an expression. The lexer never fails: a character that begins no token becomes an issue
 * and is skipped, as in cel-go. */

#include "cel/ast.h"

enum cel_token_kind {
    CEL_TOKEN_END,
    CEL_TOKEN_IDENT,
    CEL_TOKEN_ESCAPED_IDENT, /* `in backquotes` */
    CEL_TOKEN_INT,
    CEL_TOKEN_UINT,
    CEL_TOKEN_DOUBLE,
    CEL_TOKEN_STRING,
    CEL_TOKEN_BYTES,
    CEL_TOKEN_OPERATOR, /* also brackets, `in`, true, false, null */
};

struct cel_token {
    enum cel_token_kind kind;
    uint32_t offset; /* in characters */
    struct str text;
};

struct cel_lexer {
    struct cel_source *source;
    size_t at;          /* in bytes */
    uint32_t character; /* of `at` */
};

struct cel_token cel_lex(struct cel_lexer *l);

/* The content of a string or bytes token, without its quotes and with escapes resolved. */
bool cel_unquote(struct cel_source *s, const struct cel_token *t, struct str *ret);
