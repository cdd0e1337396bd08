#pragma once

/* The Status objects of failed requests, worded as by kube-apiserver: people read the message,
 * tools the reason and the details. */

#include "apiserver/core/registry.h"
#include "apiserver/rules/field_errors.h"

struct api_status {
    int code;
    const char *reason;  /* "" : none */
    const char *message; /* in the arena of the request, or static */
    struct json details; /* absent: none */
    int64_t retry_after_s;
};

/* The Status object itself. */
struct json status_to_json(struct arena *a, const struct api_status *s);
struct json status_success(struct arena *a, struct json details);
/* The usual reason for a code: NotFound for 404; "" if there is none. */
const char *status_reason(int code);

/* "configmaps" or "deployments.apps": a resource's name in messages. */
const char *status_resource_text(struct arena *a, const char *group, const char *plural);

struct api_status status_bad_request(const char *message);
struct api_status status_internal(struct arena *a, const char *message);
struct api_status status_not_served(void);
struct api_status status_not_found(struct arena *a, const struct api_kind *k, const char *name);
struct api_status status_exists(struct arena *a, const struct api_kind *k, const char *name);
/* why: the part of the message after `Operation cannot be fulfilled on x "y": `. */
struct api_status status_conflict(
    struct arena *a, const struct api_kind *k, const char *name, const char *why);
struct api_status status_forbidden(
    struct arena *a, const struct api_kind *k, const char *name, const char *why);
/* 422; group and kind of the invalid object, which may be the options of a request. */
struct api_status status_invalid(struct arena *a, const char *group, const char *kind,
    const char *name, const struct field_errors *errors);
struct api_status status_too_large_version(struct arena *a, uint64_t asked, uint64_t current);
struct api_status status_expired(const char *message);
/* The Status for an error of a behaviour or the store, by the error's code. */
struct api_status status_of_error(struct arena *a, const struct error *err);
