#include "apiserver/describe/openapi_words.h"

#include "base/str.h"

struct words {
    const char *field, *text;
};

static const struct words object_words[] = {
    { "apiVersion", "APIVersion defines the group and version that the object is written in." },
    { "kind", "Kind names the type of the object. It never changes." },
    { "metadata",
        "Standard object's metadata: name, labels, and what the server keeps for every object." },
    { 0 },
};

static const struct words meta_words[] = {
    { "annotations", "Notes by key, for programs and people. Objects are not selected by them." },
    { "creationTimestamp",
        "CreationTimestamp is a timestamp: when the object was stored first. "
        "The server sets it." },
    { "deletionGracePeriodSeconds", "How long the object may take to end. The server sets it." },
    { "deletionTimestamp",
        "Set by the server when a client deletes the object: when it may be gone, if no finalizers "
        "are left." },
    { "finalizers", "Who has to clean up first: the object stays until this is empty." },
    { "generateName", "Without a name, the server makes one that begins with this." },
    { "generation", "Counts the changes of what is wanted. The server sets it." },
    { "labels", "Labels by key, by which objects are selected." },
    { "managedFields", "Who set which fields. Server-side apply goes by it." },
    { "name", "Unique for the kind in its namespace. It never changes." },
    { "namespace", "Where the object is; empty if its kind belongs to the whole cluster." },
    { "ownerReferences", "Whose part the object is: without any of these owners it goes, too." },
    { "resourceVersion",
        "The version of this state; each write changes it. A write with an older version is a "
        "conflict." },
    { "selfLink", "No longer used." },
    { "uid",
        "Like that of no other object, earlier and later ones of the same name included. "
        "The server sets it." },
    { 0 },
};

static struct json find(const struct words *words, const char *field)
{
    for (; words->field; words++)
        if (text_eq(words->field, field))
            return json_str(words->text);
    return json_none;
}

static struct json describe(struct arena *a, struct json schema, const struct words *words)
{
    struct json properties = json_member(schema, "properties");
    struct json_builder b;
    if (!json_present(properties))
        return schema;
    json_builder_init_for(&b, a, properties.count);
    json_each_member (m, properties) {
        struct json said = json_member(m->value, "description");
        struct json text = json_present(said) ? said : find(words, m->key);
        json_put(&b, m->key, json_with_member(a, m->value, "description", text));
    }
    return json_with_member(a, schema, "properties", json_map_end(&b));
}

struct json openapi_describe_meta(struct arena *a, struct json schema)
{
    return describe(a, schema, meta_words);
}

struct json openapi_describe_object(struct arena *a, struct json schema)
{
    return describe(a, schema, object_words);
}
