#pragma once

/* Request options: their values, valid combinations, and the API server's error messages. */

#include "apiserver/core/call.h"
#include "base/selector.h"

struct list_options {
    struct selector labels, fields;
    const char *version_text; /* NULL or "": not given */
    uint64_t version;
    const char *match; /* resourceVersionMatch */
    const char *cont;  /* continue */
    int64_t limit;
    int64_t timeout_s;
    bool bookmarks;
    bool initial, initial_given; /* sendInitialEvents */
};

/* On failure of any of these the answer is set. kind: CreateOptions, UpdateOptions,
 * PatchOptions. */
bool options_read_write(struct api_call *c, const char *kind, bool apply) must_check;
bool options_read_list(struct api_call *c, bool watch, struct list_options *ret) must_check;
/* The resourceVersion of these options, which is checked last. */
bool options_read_version(struct api_call *c, bool watch, struct list_options *o) must_check;
bool options_read_get(struct api_call *c, uint64_t *ret_version) must_check;

/* A number in the query; 0: absent. */
bool options_read_int(struct api_call *c, const char *key, int64_t *ret) must_check;

/* The name of a manager, at path. */
void options_check_manager(struct field_errors *errors, const char *path, const char *manager);
void options_check_dry_run(struct field_errors *errors, struct json values);
/* Parses a resourceVersion; "" and absent are both absent, and do not change *ret. */
bool options_parse_version(const char *text, uint64_t *ret) must_check;
/* The error for an invalid resourceVersion in an object or a request. */
const char *options_number_error(struct arena *a, const char *text);
const char *options_version_error(struct arena *a, const char *text);
