#pragma once

/* What a CustomResourceDefinition says without saying it, and the part of it that is not the
 * client's: names that follow from others, versions that were stored. */

#include "base/json.h"

/* Defaults; crd is in the form of crd_shape.h. */
struct json crd_fill(struct arena *a, struct json crd);
/* Before it is checked: a new one has no status but its stored version; a change of the object
 * keeps the status, a change of the status all but that. */
struct json crd_prepare(struct arena *a, struct json crd, struct json old, bool of_status);
