#pragma once

/* The compiled rules of a schema: rules_compile.c makes the tree and rules.c walks it. */

#include "cel/cel.h"
#include "cel/rules.h"

struct cel_rule {
    const struct cel_program *program, *message_program; /* NULL: none, or it failed to compile */
    const char *trouble;                                 /* why the rule does not compile */
    const char *label;                                   /* the message, or else the rule */
    const char *message;                                 /* the message of a failure */
    const char *message_expression;
    const char *field_path; /* relative to the node; NULL: the node itself */
    enum cel_problem_type type;
};

struct cel_rules_property {
    const char *key;
    const struct cel_rules *node;
};

/* A node of the schema that has rules, or has rules below it. */
struct cel_rules {
    const struct cel_decl *decl;
    const struct cel_rule *rules;
    size_t rule_count;
    const struct cel_rules *items;  /* of a list */
    const struct cel_rules *values; /* additionalProperties */
    const struct cel_rules_property *properties;
    size_t property_count;
};

#define CEL_MESSAGE_BYTES_MAX ((size_t)5 * 1024)

/* value is the printed value, or NULL for none. to may be NULL. */
void cel_problem_add(struct cel_problems *to, struct arena *a, enum cel_problem_type type,
    const char *path, const char *value, const char *detail);
