#pragma once

#include "base/json.h"

#define PATCH_STEPS_MAX 1000

/* JSON Patch (RFC 6902): applies all operations, or none with err. Every path, and every `from`,
 * must be below `root` ("/mcp_request/"), which is the document itself. */
bool patch_apply(struct arena *a, struct json document, struct json patch, const char *root,
    struct json *ret, struct error *err) must_check;
