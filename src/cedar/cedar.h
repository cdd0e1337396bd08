#pragma once

/* The Cedar policy language. Input: policies and a request. Output: a decision.
 *
 *   text ── cedar_parse() ──> policies ── cedar_authorize(request, entities) ──> allow or deny
 *
 * The default is deny, and a forbid that holds wins over every permit. A policy whose condition
 * fails (a missing attribute, a wrong type, an overflow) does not count, and the answer contains
 * its error. Not supported: templates, schemas, datetime and duration; a text that uses them is
 * refused.
 *
 * Every evaluation has a budget of steps, so no policy and no request can block the process. */

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

struct cedar_policies;

#define CEDAR_TEXT_BYTES_MAX ((size_t)1 << 20)
#define CEDAR_STEPS_MAX 1000000

/* Action::"call_tool" */
struct cedar_uid {
    struct str type, id;
};

/* Attributes and parents. JSON becomes Cedar: whole numbers are longs, lists are sets, maps are
 * records; {"__entity": {"type": …, "id": …}} is an entity and {"__extn": {"fn": …, "arg": …}} a
 * function call. A fraction or null is an error where it is used. */
struct cedar_entity {
    struct cedar_uid uid;
    struct json attributes; /* a map, or absent */
    const struct cedar_uid *parents;
    size_t parent_count;
};

struct cedar_request {
    struct cedar_uid principal, action, resource;
    struct json context; /* a map, or absent */
    const struct cedar_entity *entities;
    size_t entity_count;
};

struct cedar_answer {
    bool allowed;
    /* The policies that decided: their @id, or policy0, policy1, … by position. */
    const char *const *reasons;
    size_t reason_count;
    /* "policy2: attribute `x` is missing"; only the first few. */
    const char *const *errors;
    size_t error_count;
};

/* Lives in the arena. The error names line and column. */
struct cedar_policies *cedar_parse(struct arena *a, struct str text, struct error *err);
/* One set of several texts, in order. */
struct cedar_policies *cedar_parse_all(
    struct arena *a, const struct str *texts, size_t count, struct error *err);
size_t cedar_policy_count(const struct cedar_policies *p);
/* The answer lives in the arena. */
struct cedar_answer cedar_authorize(
    struct arena *a, const struct cedar_policies *p, const struct cedar_request *r);
/* `Type::"id"`, with names as `A::B`. For literals in policies and for configuration. */
bool cedar_uid_parse(
    struct arena *a, struct str text, struct cedar_uid *ret, struct error *err) must_check;
