#include "merge/schema.h"
#include "merge/typed.h"
#include "tests/test.h"

/* The type at a path of field names; items of lists are entered without saying so. */
static const struct schema_type *type_at(const struct schema *s, const char *path)
{
    const struct schema_type *t = schema_type(s, s->root);
    struct str rest = str_of(path);
    while (rest.ptr) {
        while (t->list && !t->map)
            t = schema_type(s, t->item);
        uint16_t type = schema_member_type(s, t, str_dup(test_arena(), str_cut(&rest, '.')));
        check(type != SCHEMA_NO_TYPE);
        t = schema_type(s, type);
    }
    return t;
}

TEST(builtin_kinds_know_their_lists_and_quantities)
{
    struct schemas *kinds = schemas_new();
    const struct schema *s = schema_of(kinds, "apps", "v1", "Deployment");
    check(!s->deduced && s == schema_of(kinds, "apps", "v1", "Deployment"));
    check_int(type_at(s, "spec.template.spec.containers")->list, LIST_MAP);
    check_int(type_at(s, "spec.template.spec.containers.args")->list, LIST_ATOMIC);
    check_int(type_at(s, "spec.template.spec.containers.ports")->key_count, 2);
    check_int(
        type_at(s, "spec.template.spec.containers.resources.limits.cpu")->format, FORMAT_QUANTITY);
    check_int(type_at(s, "spec.template.spec.nodeSelector")->map, MAP_ATOMIC);
    check_int(type_at(s, "spec.strategy.rollingUpdate.maxSurge")->format, FORMAT_INT_OR_STRING);
    check_int(type_at(s, "metadata.finalizers")->list, LIST_SET);
    check_int(type_at(s, "metadata.creationTimestamp")->format, FORMAT_TIME);
    check_int(type_at(s, "metadata.ownerReferences")->list, LIST_MAP);
    s = schema_of(kinds, "coordination.k8s.io", "v1", "Lease");
    check_int(type_at(s, "spec.renewTime")->format, FORMAT_MICRO_TIME);
    s = schema_of(kinds, "", "v1", "Secret");
    check_int(type_at(s, "data.x")->format, FORMAT_BYTES);
    check_int(type_at(s, "data")->map, MAP_GRANULAR);
    schemas_free(kinds);
}

TEST(the_table_of_builtin_kinds_is_sound)
{
    const struct schema_table *t = &schema_builtin;
    check(schema_builtin_kind_count > 60);
    for (uint32_t i = 1; i < schema_builtin_kind_count; i++)
        check(strcmp(t->names + schema_builtin_kinds[i - 1].name,
                  t->names + schema_builtin_kinds[i].name) < 0);
    for (uint32_t i = 0; i < t->type_count; i++) {
        const struct schema_type *type = &t->types[i];
        check(type->scalar || type->list || type->map);
        check(!type->list || type->item < t->type_count);
        check(type->member == SCHEMA_NO_TYPE || type->member < t->type_count);
        check(type->fields + type->field_count <= t->field_count);
        check(type->keys + type->key_count <= t->key_count);
        check((type->list == LIST_MAP) == (type->key_count > 0));
        for (uint32_t j = 0; j < type->field_count; j++) {
            const struct schema_field *f = &t->fields[type->fields + j];
            check(f->type < t->type_count && f->name < t->name_bytes);
            check(j == 0 || strcmp(t->names + f[-1].name, t->names + f->name) < 0);
        }
    }
}

TEST(kinds_that_nobody_knows_are_deduced)
{
    struct schemas *kinds = schemas_new();
    check(schema_of(kinds, "apps", "v1", "Deploymen")->deduced);
    check(schema_of(kinds, "apps", "v1", "Deployments")->deduced);
    check(schema_of_object(kinds, test_json("{'apiVersion': 'x/v1', 'kind': 'Y'}"))->deduced);
    check(schema_of_object(kinds, test_json("{}"))->deduced);
    check(!schema_of_object(kinds, test_json("{'apiVersion': 'v1', 'kind': 'Pod'}"))->deduced);
    schemas_free(kinds);
}

static const char crd_text[] =
    "{'spec': {'group': 'g.dev', 'names': {'kind': 'Thing'}, 'versions': ["
    "{'name': 'v1', 'served': true, 'schema': {'openAPIV3Schema': {'type': 'object', 'properties':"
    " {'spec': {'type': 'object', 'properties': {"
    "  'list': {'type': 'array', 'items': {'type': 'integer'}},"
    "  'set': {'type': 'array', 'x-kubernetes-list-type': 'set', 'items': {'type': 'string'}},"
    "  'ports': {'type': 'array', 'x-kubernetes-list-type': 'map',"
    "   'x-kubernetes-list-map-keys': ['protocol', 'port'], 'items': {'type': 'object',"
    "   'properties': {'port': {'type': 'integer'}, 'protocol': {'type': 'string',"
    "   'default': 'TCP'}}}},"
    "  'whole': {'type': 'object', 'x-kubernetes-map-type': 'atomic',"
    "   'additionalProperties': {'type': 'string'}},"
    "  'free': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': true,"
    "   'properties': {'known': {'type': 'object', 'properties': {'a': {'type': 'string'}}}}},"
    "  'either': {'x-kubernetes-int-or-string': true},"
    "  'inner': {'type': 'object', 'x-kubernetes-embedded-resource': true}"
    " }}}}}}, {'name': 'v0', 'served': false}]}}";

TEST(custom_kinds_are_compiled_from_their_crd)
{
    struct schemas *kinds = schemas_new();
    struct error err;
    check(schemas_add_crd(kinds, test_json(crd_text), &err));
    check(schema_of(kinds, "g.dev", "v0", "Thing")->deduced);
    const struct schema *s = schema_of(kinds, "g.dev", "v1", "Thing");
    check(!s->deduced);
    check_int(type_at(s, "spec.list")->list, LIST_ATOMIC);
    check_int(type_at(s, "spec.set")->list, LIST_SET);
    check_int(type_at(s, "spec.ports")->list, LIST_MAP);
    check_int(type_at(s, "spec.whole")->map, MAP_ATOMIC);
    check_int(type_at(s, "spec.either")->scalar, SCALAR_ANY);
    check_int(type_at(s, "spec.free.unknown")->map, MAP_GRANULAR);
    check_int(type_at(s, "spec.free.known.unknown")->map, MAP_GRANULAR);
    check_int(type_at(s, "spec.inner.metadata.labels.x")->scalar, SCALAR_STRING);
    check_int(type_at(s, "metadata.finalizers")->list, LIST_SET);
    check_int(schema_member_type(s, type_at(s, "spec"), "unknown"), SCHEMA_NO_TYPE);
    struct path_element e;
    check(typed_item_element(
        test_arena(), s, type_at(s, "spec.ports"), test_json("{'port': 80}"), &e, &err));
    check_json(e.value, "{'port': 80, 'protocol': 'TCP'}");
    check(schemas_add_crd(kinds, test_json(crd_text), &err)); /* again, in its place */
    schemas_remove(kinds, "g.dev", "Thing");
    check(schema_of(kinds, "g.dev", "v1", "Thing")->deduced);
    schemas_free(kinds);
}

TEST(crds_that_the_server_would_refuse_are_refused_with_the_place)
{
    const struct schema *s;
    struct error err;
    struct arena *a = test_arena();
    check_fails(schema_from_crd(a,
                    test_json("{'type': 'object', 'properties': {'spec': {'type': 'object',"
                              " 'properties': {'l': {'type': 'array',"
                              " 'x-kubernetes-list-type': 'map'}}}}}"),
                    &s,
                    &err),
        err,
        "spec.l: x-kubernetes-list-type map needs");
    check_fails(schema_from_crd(a,
                    test_json("{'type': 'object', 'properties': {'l': {'type': 'array', 'items':"
                              " {'type': 'object'}, 'x-kubernetes-list-type': 'map',"
                              " 'x-kubernetes-list-map-keys': ['x']}}}"),
                    &s,
                    &err),
        err,
        "no property of items");
    check_fails(schema_from_crd(a, test_json("{'type': 'thing'}"), &s, &err), err, "unknown type");
    check_fails(schema_from_crd(a, test_json("[]"), &s, &err), err, "no object");
    check(schema_from_crd(a, json_none, &s, &err) && s->deduced);
}

TEST(a_create_starts_from_what_go_would_write_for_nothing)
{
    struct schemas *kinds = schemas_new();
    struct json v = schema_empty_object(test_arena(), schema_of(kinds, "apps", "v1", "Deployment"));
    check_json(json_member(v, "spec"),
        "{'selector': null, 'strategy': {}, 'template': {'metadata': {}, 'spec':"
        " {'containers': null}}}");
    v = schema_empty_object(test_arena(), schema_of(kinds, "apps", "v1", "StatefulSet"));
    check_int(json_get_int(v, "status.availableReplicas", -1), 0);
    check_json(schema_empty_object(test_arena(), schema_deduced()), "{}");
    schemas_free(kinds);
}
