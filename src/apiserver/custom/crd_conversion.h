#pragma once

/* spec.conversion of a CustomResourceDefinition: how objects become those of another version. */

#include "apiserver/rules/field_errors.h"

void crd_conversion_check(struct arena *a, struct json spec, struct field_errors *errors);
