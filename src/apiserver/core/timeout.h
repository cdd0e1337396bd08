#pragma once

/* How long a client wants to wait: ?timeout= of a request. Every answer is there at once, so that
 * only what is no duration makes a difference. */

#include "apiserver/core/call.h"

/* Fails with the answer given. Watches, logs and sessions take anything, as they last. */
bool timeout_check(struct api_call *c) must_check;
