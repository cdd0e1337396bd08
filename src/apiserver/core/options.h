#pragma once

/* The options of requests: which there are, which go together, and what the API server says when
 * they do not. */

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

/* All fail with the answer given. kind: CreateOptions, UpdateOptions, PatchOptions. */
bool options_read_write(struct api_call *c, const char *kind, bool apply) must_check;
bool options_read_list(struct api_call *c, bool watch, struct list_options *ret) must_check;
/* The version of these, which is looked at when everything else is fine. */
bool options_read_version(struct api_call *c, bool watch, struct list_options *o) must_check;
bool options_read_get(struct api_call *c, uint64_t *ret_version) must_check;

/* A number in the query; 0: not there. */
bool options_read_int(struct api_call *c, const char *key, int64_t *ret) must_check;

/* The name of a manager, at path. */
void options_check_manager(struct field_errors *errors, const char *path, const char *manager);
void options_check_dry_run(struct field_errors *errors, struct json values);
/* A resourceVersion; "" and absent are both absent, and leave *ret. */
bool options_parse_version(const char *text, uint64_t *ret) must_check;
/* What is wrong with a resourceVersion that is none: of an object, of a request. */
const char *options_number_error(struct arena *a, const char *text);
const char *options_version_error(struct arena *a, const char *text);
