#include "merge/managers.h"

const char *const managers_stripped_root[] = { "apiVersion", "kind", NULL };
const char *const managers_stripped_metadata[] = {
    "clusterName",
    "creationTimestamp",
    "generation",
    "managedFields",
    "name",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
    NULL,
};

static const struct fieldset *names_set(
    struct arena *a, const char *const *names, const struct fieldset *metadata)
{
    struct fieldset_builder b;
    fieldset_builder_init(&b, a);
    for (; *names; names++)
        fieldset_add(&b, path_field(*names), true, NULL);
    if (metadata)
        fieldset_add(&b, path_field("metadata"), true, metadata);
    return fieldset_end(&b);
}

const struct fieldset *managers_strip(struct arena *a, const struct fieldset *set)
{
    const struct fieldset *metadata = names_set(a, managers_stripped_metadata, NULL);
    return fieldset_difference(a, set, names_set(a, managers_stripped_root, metadata));
}
