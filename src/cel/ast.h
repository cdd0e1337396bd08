#pragma once

/* The syntax tree of an expression. Macros are expanded when it is built, so that checking,
 * estimating and evaluating only need to know seven kinds of nodes. */

#include "cel/value.h"

struct cel_function;
struct cel_node_size;

enum cel_node_kind {
    CEL_NODE_LITERAL,
    CEL_NODE_IDENT,
    CEL_NODE_SELECT,
    CEL_NODE_CALL,
    CEL_NODE_LIST,
    CEL_NODE_MAP,
    CEL_NODE_FOLD,
};

/* A loop over a range with an accumulator. all(), map() and the like are expanded to it.
 *
 *   accu = init; for (each of range) { if (!condition) break; accu = step; } result */
struct cel_fold {
    struct str var, var2; /* var2.ptr NULL: one variable */
    struct str accu;
    struct cel_node *range, *init, *condition, *step, *result;
};

struct cel_node {
    enum cel_node_kind kind;
    uint32_t offset;  /* in characters from the beginning of the source */
    uint32_t depth;   /* height of the tree below this node */
    bool is_resolved; /* its type has no free parameters left */
    bool is_seen;     /* by cel_check_literals() */
    bool is_planned;  /* by cel_compile() */
    const struct cel_type *type;
    struct cel_node_size *size;     /* of estimate.c */
    const struct cel_value *folded; /* its value, if it is a constant expression */
    union {
        struct cel_value literal;
        struct {
            /* ident: the variable's name; call: the function's name; both with a leading dot if the
             * source has one; select: the field's name */
            struct str name;
            struct cel_node **args; /* call, list; map: keys and values alternate */
            uint32_t count;
            struct cel_node *target;          /* of a select or a member call */
            bool is_test;                     /* select: has() */
            bool is_message;                  /* ident: of the type of a message, `a.b{…}` */
            bool *is_optional;                /* list and map: which elements; NULL: none */
            const struct cel_value *constant; /* an ident that is a type's name */
            /* call: the candidate overloads; more than one if types are known only at run time */
            const struct cel_function *const *overloads;
            uint32_t overload_count;
        };
        struct cel_fold *fold;
    };
};

struct cel_issue {
    struct cel_issue *next;
    uint32_t offset;
    const char *text;
};

/* A source text and its issues. */
struct cel_source {
    struct arena *arena;
    struct str text;
    struct cel_issue *issues;
    unsigned issue_count;
    bool binds;         /* cel.bind() is a macro */
    bool uses_old_self; /* from cel_check() */
};

/* Further issues are counted but not kept. */
#define CEL_ISSUES_MAX 100
/* Of the source; the same limit as in cel-go. */
#define CEL_SOURCE_CHARACTERS_MAX 100000
#define CEL_DEPTH_MAX 250
/* Of the tree, including nodes that macros add. Limits recursion. */
#define CEL_TREE_DEPTH_MAX 1000
/* Used when there is no position in the source. */
#define CEL_NOWHERE UINT32_MAX

void cel_issue_add(struct cel_source *s, uint32_t offset, const char *format, ...)
    printf_like(3, 4);
/* All issues with lines and carets, as the API server prints them. */
const char *cel_issues_text(const struct cel_source *s);

/* NULL if there are issues. */
struct cel_node *cel_parse(struct cel_source *s);
/* Sets types and overloads of every node; types of variables come from decl. Adds issues. */
struct cel_check_options {
    const struct cel_decl *self;
    bool optional_old_self;
    const char *variable; /* NULL: self, and oldSelf */
};
struct cel_types;
/* Finds errors that are known before evaluation, for example an invalid regular expression in a
 * literal. The tree must have no issues. */
void cel_check_literals(struct cel_source *s, const struct cel_types *ts, struct cel_node *root);
void cel_check(struct cel_source *s, struct cel_node *root, const struct cel_check_options *o);

/* ---- for the parser and the macros ---- */

struct cel_node *cel_node_new(struct arena *a, enum cel_node_kind kind, uint32_t offset);
/* Computes the depth of a node whose children are complete. */
struct cel_node *cel_node_nest(struct cel_node *n);
struct cel_node *cel_node_call(struct arena *a, uint32_t offset, const char *function,
    struct cel_node *target, struct cel_node **args, uint32_t count);
/* Expands a call if it is a macro; otherwise returns NULL. Wrong use adds an issue. */
struct cel_node *cel_macro_expand(struct cel_source *s, uint32_t offset, struct str function,
    struct cel_node *target, struct cel_node **args, uint32_t count);
