#pragma once

/* spec.conversion of a CRD: how objects are converted between versions. */

#include "apiserver/rules/field_errors.h"

void crd_conversion_check(struct arena *a, struct json spec, struct field_errors *errors);
