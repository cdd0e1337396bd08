#pragma once

/* Why a selector cannot be read, in the words of k8s.io/apimachinery, which clients see. */

#include "base/arena.h"

/* otherwise: what to say if the selector is fine by these rules. */
const char *selector_error_text(struct arena *a, const char *selector, const char *otherwise);
const char *selector_error_fields(struct arena *a, const char *selector, const char *otherwise);
