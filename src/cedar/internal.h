#pragma once

/* Shared by the files of src/cedar: tokens, the tree, values. */

#include "cedar/cedar.h"

/* ---- tokens ---- */

enum token_type {
    TOKEN_END,
    TOKEN_NAME,   /* an identifier or a reserved word */
    TOKEN_NUMBER, /* digits */
    TOKEN_STRING, /* with its quotes, still escaped */
    TOKEN_MARK,   /* one of the marks of the language: `==`, `::`, … */
};

struct token {
    enum token_type type;
    struct str text;
};

struct lexer {
    struct str rest;
    const char *begin;
    struct token now;
};

/* Reads the next token into now. False: no token contains this character. */
bool lexer_next(struct lexer *l, struct error *err) must_check;
bool lexer_fail(const struct lexer *l, struct error *err, const char *what);
/* Resolves escapes. In a pattern `\*` is a literal star and `*` matches anything; the latter
 * becomes the byte CEDAR_ANY, which never occurs in UTF-8. */
#define CEDAR_ANY '\xff'
bool lexer_unescape(struct arena *a, struct str quoted, bool pattern, struct str *ret);

/* ---- values ---- */

enum value_type {
    VALUE_BOOL,
    VALUE_LONG,
    VALUE_STRING,
    VALUE_ENTITY,
    VALUE_SET,
    VALUE_RECORD,
    VALUE_DECIMAL, /* in ten-thousandths */
    VALUE_IP,
    VALUE_BAD, /* from JSON that Cedar has no value for; an error where it is used */
};

struct ip {
    uint8_t bytes[16]; /* four of IPv4 */
    uint8_t prefix;
    bool v6;
};

struct value {
    enum value_type type;
    size_t count; /* of a set or record */
    union {
        bool boolean;
        int64_t number; /* long, decimal */
        struct str string;
        struct cedar_uid uid;
        const struct value *items; /* set */
        const struct value_member *members;
        struct ip ip;
    };
};

struct value_member {
    struct str key;
    struct value value;
};

const char *value_type_name(enum value_type type);
struct value value_of_json(struct arena *a, struct json v);
/* Both take one step for each pair that they compare. */
bool value_equal(const struct value *x, const struct value *y, int64_t *steps);
bool value_contains(const struct value *set, const struct value *item, int64_t *steps);
const struct value *value_member_of(const struct value *record, struct str key);
bool uid_equal(struct cedar_uid x, struct cedar_uid y);
/* The constructors decimal() and ip(). */
bool value_decimal(struct str text, struct value *ret);
bool value_ip(struct str text, struct value *ret);
bool ip_in_range(const struct ip *x, const struct ip *range);
bool ip_is_loopback(const struct ip *x);
bool ip_is_multicast(const struct ip *x);

/* ---- the tree ---- */

enum node_type {
    NODE_LITERAL,
    NODE_VARIABLE, /* name: principal, action, resource, context */
    NODE_IF,
    NODE_OR,
    NODE_AND,
    NODE_EQUAL,
    NODE_UNEQUAL,
    NODE_LESS,
    NODE_LESS_EQUAL,
    NODE_GREATER,
    NODE_GREATER_EQUAL,
    NODE_IN,
    NODE_ADD,
    NODE_SUBTRACT,
    NODE_MULTIPLY,
    NODE_NOT,
    NODE_NEGATE,
    NODE_ATTRIBUTE, /* name */
    NODE_HAS,       /* name */
    NODE_LIKE,      /* name: the pattern */
    NODE_IS,        /* name: the type; with a second argument also `in` it */
    NODE_SET,
    NODE_RECORD, /* keys */
    NODE_METHOD, /* name; the first argument is the receiver */
};

struct node {
    enum node_type type;
    struct str name;
    struct value value; /* NODE_LITERAL */
    const struct node **arguments;
    const struct str *keys;
    size_t count;
};

/* One of principal, action, resource in the head of a policy. */
struct scope {
    bool has_type; /* is TYPE */
    struct str type;
    bool equal; /* == uids[0]; otherwise in one of them */
    const struct cedar_uid *uids;
    size_t uid_count; /* 0 and no list: any */
    bool has_uids;
};

struct policy {
    const char *id;
    bool forbid;
    struct scope principal, action, resource;
    const struct condition {
        bool unless;
        const struct node *body;
    } * conditions;
    size_t condition_count;
};

struct cedar_policies {
    struct policy *list;
    size_t count, size;
};

/* Parses an expression at the lexer's position. */
const struct node *parse_expression(struct arena *a, struct lexer *l, struct error *err);
/* A::B::"id" at the lexer's position, which must be at a name. */
bool parse_uid(struct arena *a, struct lexer *l, struct cedar_uid *ret, struct error *err);
/* A::B */
bool parse_path(struct arena *a, struct lexer *l, struct str *ret, struct error *err);
bool lexer_at(const struct lexer *l, const char *text);
/* Consumes the token if it is this one. */
bool lexer_take(struct lexer *l, const char *text, bool *ret_taken, struct error *err) must_check;
bool lexer_expect(struct lexer *l, const char *text, struct error *err) must_check;

/* ---- evaluation ---- */

struct evaluation {
    struct arena *arena;
    const struct cedar_request *request;
    struct value principal, action, resource, context;
    const struct cedar_entity **by_uid; /* sorted */
    int64_t steps;
    struct error *err;
};

bool evaluate(struct evaluation *e, const struct node *n, struct value *ret) must_check;
/* Whether x is in y by the hierarchy. */
bool evaluate_in(struct evaluation *e, struct cedar_uid x, struct cedar_uid y);
const struct cedar_entity *evaluate_entity(struct evaluation *e, struct cedar_uid uid);
bool evaluate_method(struct evaluation *e, const struct node *n, const struct value *arguments,
    struct value *ret) must_check;
