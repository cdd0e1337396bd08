/* A CustomResourceDefinition of any bytes, then an object of any bytes: whatever the first says, it
 * is refused or its schema can be compiled and asked; pruning and defaulting come to rest, and an
 * object that was accepted stays so when it is sent again unchanged.
 *
 * The input is the schema of spec (or a whole definition), a NUL, and the object. */

#include <string.h>

#include "apiserver/custom/crd_check.h"
#include "apiserver/custom/crd_fill.h"
#include "apiserver/custom/crd_rules.h"
#include "apiserver/custom/crd_shape.h"
#include "apiserver/custom/structural.h"
#include "fuzz/fuzz.h"

static struct json wrap(struct arena *a, struct json schema)
{
    if (json_present(json_get(schema, "spec.versions")))
        return schema;
    struct json version = json_fields(a,
        { "name", json_str("v1") },
        { "served", json_bool(true) },
        { "storage", json_bool(true) },
        { "schema.openAPIV3Schema.type", json_str("object") },
        { "schema.openAPIV3Schema.properties.spec", schema });
    return json_fields(a,
        { "metadata.name", json_str("things.example.com") },
        { "spec.group", json_str("example.com") },
        { "spec.scope", json_str("Namespaced") },
        { "spec.names.plural", json_str("things") },
        { "spec.names.kind", json_str("Thing") },
        { "spec.versions", json_list(a, version) });
}

static void check_object(struct arena *a, struct json schema, struct json object)
{
    const struct structural *s = structural_compile(a, schema);
    struct field_errors unknown, errors, again;
    field_errors_init(&unknown, a);
    field_errors_init(&errors, a);
    field_errors_init(&again, a);
    struct json pruned = structural_prune(s, a, object, &unknown);
    assert(json_equal(structural_prune(s, a, pruned, NULL), pruned));
    struct json filled = structural_fill(s, a, pruned);
    assert(json_equal(structural_fill(s, a, filled), filled));
    structural_check(s, a, filled, json_none, false, &errors);
    crd_rules_ask(crd_rules_compile(a, schema), a, filled, json_none, "", &errors);
    structural_check(s, a, filled, filled, false, &again);
    assert(again.count <= errors.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const uint8_t *end = memchr(data, 0, size);
    struct str first = { (const char *)data, end ? (size_t)(end - data) : size };
    struct str second = { end ? (const char *)end + 1 : "{}", end ? size - first.len - 1 : 2 };
    struct json schema, object;
    struct error err;
    struct field_errors unknown, errors;
    if (!json_parse(&a, first, &schema, &err) || !json_is(schema, JSON_MAP) ||
        !json_parse(&a, second, &object, &err) || !json_is(object, JSON_MAP))
        return 0;
    struct json crd = wrap(&a, schema);
    field_errors_init(&unknown, &a);
    field_errors_init(&errors, &a);
    if (!crd_shape_check(&a, crd, &err))
        return 0;
    crd = crd_fill(&a, crd_shape_prune(&a, crd, &unknown));
    crd = crd_prepare(&a, crd, json_none, false);
    crd_check(&a, crd, json_none, &errors);
    if (!errors.count)
        json_each (version, json_get(crd, "spec.versions"))
            check_object(&a, json_get(*version, "schema.openAPIV3Schema"), object);
    return 0;
}
