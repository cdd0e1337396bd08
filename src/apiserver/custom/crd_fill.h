#pragma once

/* Defaults of a CRD, and the parts that the client does not decide: derived names, stored
 * versions. */

#include "base/json.h"

/* Applies defaults; crd is in the form of crd_shape.h. */
struct json crd_fill(struct arena *a, struct json crd);
/* Called before validation. A new CRD has no status except its stored version; an update of the
 * object keeps the status, and an update of the status keeps everything else. */
struct json crd_prepare(struct arena *a, struct json crd, struct json old, bool of_status);
