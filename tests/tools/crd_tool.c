/* Custom kinds without a server, behind JSON lines, for tests/cluster/test_crd_rules.py: one
 * request a line on stdin, one answer a line on stdout.
 *
 *   { "op": "object", "schema": …, "object": …, "old": … }
 *       { "unknown": [ path… ], "object": …, "causes": [ { "reason", "message", "field" }… ] }
 *   { "op": "crd", "crd": …, "old": … }
 *       { "unknown": [ path… ], "crd": …, "causes": [ … ] } or { "error": text }
 *
 * schema is an openAPIV3Schema. What goes wrong is { "error": text }. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/crd_check.h"
#include "apiserver/crd_fill.h"
#include "apiserver/crd_shape.h"
#include "apiserver/structural.h"
#include "base/buf.h"

static const char *const reasons[] = {
    [FIELD_INVALID] = "FieldValueInvalid",
    [FIELD_REQUIRED] = "FieldValueRequired",
    [FIELD_DUPLICATE] = "FieldValueDuplicate",
    [FIELD_NOT_FOUND] = "FieldValueNotFound",
    [FIELD_NOT_SUPPORTED] = "FieldValueNotSupported",
    [FIELD_FORBIDDEN] = "FieldValueForbidden",
    [FIELD_TOO_LONG] = "FieldValueTooLong",
    [FIELD_TOO_MANY] = "FieldValueTooMany",
    [FIELD_TYPE_INVALID] = "FieldValueTypeInvalid",
    [FIELD_INTERNAL] = "InternalError",
};

static struct json causes_of(struct arena *a, const struct field_errors *errors)
{
    struct json_builder list;
    json_builder_init(&list, a);
    for (size_t i = 0; i < errors->count; i++)
        json_push(&list,
            json_map(a,
                { "reason", json_str(reasons[errors->items[i].type]) },
                { "message", json_str(errors->items[i].message) },
                { "field", json_str(errors->items[i].path) }));
    return json_list_end(&list);
}

static struct json paths_of(struct arena *a, const struct field_errors *unknown)
{
    struct json_builder paths;
    json_builder_init(&paths, a);
    for (size_t i = 0; i < unknown->count; i++)
        json_push(&paths, json_str(unknown->items[i].path));
    return json_list_end(&paths);
}

static struct json do_crd(struct arena *a, struct json in)
{
    struct field_errors unknown, errors;
    struct error err;
    field_errors_init(&unknown, a);
    field_errors_init(&errors, a);
    struct json crd = json_member(in, "crd"), old = json_member(in, "old");
    if (!crd_shape_check(a, crd, &err))
        return json_map(a, { "error", json_strf(a, "%s", err.text) });
    crd = crd_fill(a, crd_shape_prune(a, crd, &unknown));
    crd = crd_prepare(a, crd, old, false);
    crd_check(a, crd, old, &errors);
    return json_map(a,
        { "unknown", paths_of(a, &unknown) },
        { "crd", crd },
        { "causes", causes_of(a, &errors) });
}

static struct json do_object(struct arena *a, struct json in)
{
    const struct structural *s = structural_compile(a, json_member(in, "schema"));
    struct field_errors unknown, errors;
    field_errors_init(&unknown, a);
    field_errors_init(&errors, a);
    struct json object = structural_prune(s, a, json_member(in, "object"), &unknown);
    object = structural_fill(s, a, object);
    structural_check(s, a, object, json_member(in, "old"), &errors);
    return json_map(a,
        { "unknown", paths_of(a, &unknown) },
        { "object", object },
        { "causes", causes_of(a, &errors) });
}

static struct json answer(struct arena *a, struct str line)
{
    struct error err;
    struct json in;
    if (!json_parse(a, line, &in, &err))
        return json_map(a, { "error", json_strf(a, "%s", err.text) });
    const char *op = json_get_text(in, "op");
    if (text_eq(op, "object"))
        return do_object(a, in);
    if (text_eq(op, "crd"))
        return do_crd(a, in);
    return json_map(a, { "error", json_str("unknown op") });
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    for (ssize_t length; (length = getline(&line, &size, stdin)) > 0;) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        puts(json_to_text(&a, answer(&a, (struct str){ line, (size_t)length })));
        fflush(stdout);
    }
    free(line);
    return 0;
}
