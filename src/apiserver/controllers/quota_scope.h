#pragma once

/* Which objects a ResourceQuota is about: its scopes and its scope selector. */

#include "apiserver/core/registry.h"

/* Whether a quota is about an object: all that it names holds. One without scopes is about all. */
bool quota_scope_holds(const struct api_kind *k, struct json quota, struct json object);
/* Whether a pod has a deadline, which puts it into the scope Terminating. */
bool quota_scope_terminating(struct json pod);
