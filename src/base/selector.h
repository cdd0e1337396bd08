#pragma once

/* Label selectors in both forms, and field selectors.
 *
 *   app=web,tier!=db,env in (a,b),zone notin (x),gpu,!old          selector_parse()
 *   { matchLabels: {…}, matchExpressions: [{key, operator, values}] }   selector_from_json()
 *   metadata.name=web,status.phase!=Running                        selector_parse_fields()
 *
 * All are parsed to a list of requirements, all of which must hold. An empty selector matches
 * everything; an absent (null) LabelSelector nothing. As in Kubernetes, `!=` and `notin` also match
 * objects without the key. */

#include "base/json.h"

enum selector_operator {
    SELECTOR_IN, /* = and == are `in` with one value */
    SELECTOR_NOT_IN,
    SELECTOR_EXISTS,
    SELECTOR_NOT_EXISTS,
    SELECTOR_GREATER, /* key>5; both sides whole numbers, the one in the selector not negative */
    SELECTOR_LESS,
};

struct selector_requirement {
    const char *key; /* label key, or field path */
    enum selector_operator op;
    struct json values; /* list of texts, sorted */
};

struct selector {
    bool nothing; /* matches no object */
    size_t count;
    const struct selector_requirement *requirements;
};

#define SELECTOR_REQUIREMENTS_MAX 256
#define SELECTOR_VALUES_MAX 1024

/* Errors give the position: `column 7: expected …`. NULL is the empty selector. */
bool selector_parse(
    struct arena *a, const char *text, struct selector *ret, struct error *err) must_check;
/* `at` is the path of v, for messages: `spec.selector.matchExpressions[0].operator: …`. */
bool selector_from_json(struct arena *a, struct json v, const char *at, struct selector *ret,
    struct error *err) must_check;
bool selector_parse_fields(
    struct arena *a, const char *text, struct selector *ret, struct error *err) must_check;

/* labels: a map of texts; absent counts as empty. */
bool selector_matches(const struct selector *s, struct json labels);
/* Treats keys as paths into the object, as field selectors do; a missing field is "". */
bool selector_matches_fields(const struct selector *s, struct json object);

/* Formats the selector for the query of a request. Not for one that matches nothing. */
const char *selector_to_text(struct arena *a, const struct selector *s);
