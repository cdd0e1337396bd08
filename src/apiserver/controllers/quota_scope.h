#pragma once

/* Which objects a ResourceQuota applies to: its scopes and its scope selector. */

#include "apiserver/core/registry.h"

/* Whether a quota applies to an object: all its scopes must match. One without scopes applies to
 * all. */
bool quota_scope_holds(const struct api_kind *k, struct json quota, struct json object);
/* Whether a pod has a deadline, which puts it into the scope Terminating. */
bool quota_scope_terminating(struct json pod);
