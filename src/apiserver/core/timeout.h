#pragma once

/* The parameter ?timeout= of a request. Responses are immediate, so only an invalid duration
 * matters. */

#include "apiserver/core/call.h"

/* On failure the answer is set. Watches, logs and sessions accept any value, because they are
 * long-running. */
bool timeout_check(struct api_call *c) must_check;
