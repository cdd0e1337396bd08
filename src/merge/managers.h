#pragma once

/* metadata.managedFields: who owns which fields, and how applies and updates change that. */

#include "merge/fieldset.h"
#include "merge/schema.h"

/* Fields that nobody owns, of the object and of its metadata; NULL-terminated. */
extern const char *const managers_stripped_root[];
extern const char *const managers_stripped_metadata[];
/* A set without them. */
const struct fieldset *managers_strip(struct arena *a, const struct fieldset *set);
