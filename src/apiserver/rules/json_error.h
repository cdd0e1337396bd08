#pragma once

/* Why a text is not JSON, in the words of Go's encoding/json, which clients of the API server see.
 */

#include "base/json.h"

const char *json_error_text(struct arena *a, struct str text);
/* What encoding/json calls the type of a value: "number", "object". */
const char *json_error_type(struct json v);
/* The same complaint about a type as whoever fills a Go value from a map words it: strategic merges
 * end so. Texts that are none come back as they are. */
const char *json_error_restored(struct arena *a, const char *text);
