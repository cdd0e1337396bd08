#pragma once

/* Kubernetes' IntOrString: a port number or name, a count or "25%". */

#include "base/json.h"

/* The API server keeps the type that the client sent, but 8080 and "8080" mean the same. Absent
 * equals only absent. */
bool intorstr_equal(struct json a, struct json b);
/* An integer is returned unchanged; a percentage is of total, rounded up or down. Text must be
 * digits and %. */
bool intorstr_scaled(
    struct json v, int64_t total, bool round_up, int64_t *ret, struct error *err) must_check;
