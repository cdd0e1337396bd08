#pragma once

/* Why a text is not JSON, in the words of Go's encoding/json, which clients of the API server see.
 */

#include "base/arena.h"
#include "base/str.h"

const char *json_error_text(struct arena *a, struct str text);
