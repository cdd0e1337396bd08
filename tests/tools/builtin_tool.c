/* The built-in kinds behind JSON lines, for tests/cluster/test_builtin.py: one request a line on
 * stdin, one answer a line on stdout.
 *
 *   { "op": "create", "object": … }                                  what would be stored
 *   { "op": "update", "old": …, "object": …, "subresource": … }      { "object": … } or
 *                                                                    { "invalid": [ … ] }
 *   { "op": "patch", "live": …, "patch": … }      a strategic merge patch
 *   { "op": "cells", "object": …, "now": … }
 *   { "op": "convert", "object": …, "version": "autoscaling/v1" }
 *   { "op": "kinds" }                             the table
 *
 * What goes wrong is { "error": text }. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apiserver/builtin/builtin.h"
#include "base/buf.h"
#include "base/time.h"
#include "merge/strategic.h"

struct tool {
    struct arena *arena;
    struct registry *registry;
    struct json in;
};

static const struct api_kind *kind_of(struct tool *t, struct json object)
{
    const char *version = json_get_text(object, "apiVersion");
    struct str rest = str_of(version), group = str_cut(&rest, '/');
    if (!rest.ptr) {
        rest = group;
        group = STR("");
    }
    const struct api_kind *k = registry_find_kind(t->registry,
        str_dup(t->arena, group),
        str_dup(t->arena, rest),
        json_get_text(object, "kind"));
    assert(k);
    return k;
}

static struct json errors_answer(struct tool *t, const char *key, const struct field_errors *e)
{
    struct json_builder list;
    json_builder_init(&list, t->arena);
    for (size_t i = 0; i < e->count; i++)
        json_push(&list,
            json_map(t->arena,
                { "type", json_int(e->items[i].type) },
                { "field", json_str(e->items[i].path) },
                { "message", json_str(e->items[i].message) }));
    return json_map(t->arena, { key, json_list_end(&list) });
}

static struct json do_write(struct tool *t)
{
    struct error err;
    struct json object = json_member(t->in, "object");
    const struct api_kind *k = kind_of(t, object);
    const char *subresource = json_get_text(t->in, "subresource");
    struct api_write w = {
        .kind = k,
        .arena = t->arena,
        .subresource = subresource ? subresource : "",
        .old = json_member(t->in, "old"),
        .now = json_get_text(t->in, "now"),
        .dry_run = true,
    };
    struct field_errors errors;
    field_errors_init(&errors, t->arena);
    object = k->behaviour->prune(k, t->arena, object, &errors);
    for (size_t i = 0; i < errors.count; i++)
        if (errors.items[i].type == FIELD_TYPE_INVALID)
            return json_map(t->arena, { "unreadable", json_str(errors.items[i].message) });
    struct json unknown = errors_answer(t, "unknown", &errors);
    field_errors_init(&errors, t->arena);
    object = k->behaviour->fill(k, t->arena, object);
    if (!k->behaviour->prepare(&w, &object, &err))
        return json_map(t->arena, { "error", json_strf(t->arena, "%s", err.text) });
    k->behaviour->validate(&w, object, &errors);
    if (errors.count)
        return errors_answer(t, "invalid", &errors);
    return json_with_member(t->arena, unknown, "object", object);
}

static struct json do_patch(struct tool *t)
{
    struct error err;
    struct json live = json_member(t->in, "live"), object;
    const struct api_kind *k = kind_of(t, live);
    if (!strategic_merge(t->arena, k->schema, live, json_member(t->in, "patch"), &object, &err))
        return json_map(t->arena, { "error", json_strf(t->arena, "%s", err.text) });
    struct field_errors errors;
    field_errors_init(&errors, t->arena);
    object = k->behaviour->prune(k, t->arena, object, &errors);
    return errors.count ? errors_answer(t, "unreadable", &errors)
                        : json_map(t->arena, { "object", object });
}

static struct json do_cells(struct tool *t)
{
    int64_t now_ms;
    struct json object = json_member(t->in, "object");
    const struct api_kind *k = kind_of(t, object);
    bool ok = time_parse(json_get_text(t->in, "now"), &now_ms);
    assert(ok);
    return json_map(t->arena, { "cells", k->behaviour->cells(k, t->arena, object, now_ms) });
}

static struct json do_convert(struct tool *t)
{
    struct json object = json_member(t->in, "object");
    const struct api_kind *k = kind_of(t, object);
    return json_map(t->arena,
        { "object", k->behaviour->convert(k, t->arena, object, json_get_text(t->in, "version")) });
}

static struct json names_of(struct arena *a, const char *const *names)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (; names && *names; names++)
        json_push(&b, json_str(*names));
    return json_list_end(&b);
}

static struct json columns_of(struct arena *a, const struct api_kind *k)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < k->column_count; i++) {
        const struct api_column *c = &k->columns[i];
        json_push(&b,
            json_list(a,
                json_str(c->name),
                json_str(c->type),
                json_str(c->format),
                json_int(c->priority)));
    }
    return json_list_end(&b);
}

static struct json do_kinds(struct tool *t)
{
    struct arena *a = t->arena;
    struct json_builder b;
    json_builder_init(&b, a);
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(t->registry, i)); i++)
        json_push(&b,
            json_map(a,
                { "group", json_str(k->resource.group) },
                { "version", json_str(k->resource.version) },
                { "kind", json_str(k->resource.kind) },
                { "resource", json_str(k->resource.plural) },
                { "singular", json_str(k->singular) },
                { "namespaced", json_bool(!k->resource.cluster_scoped) },
                { "shortNames", names_of(a, k->short_names) },
                { "categories", names_of(a, k->categories) },
                { "verbs", json_int(k->verbs) },
                { "status", json_bool(k->has_status) },
                { "scale", json_bool(k->scale.spec_replicas) },
                { "generation", json_bool(k->generation) },
                { "unconditional", json_bool(k->unconditional) },
                { "createsOnPut", json_bool(k->creates_on_put) },
                { "columns", columns_of(a, k) }));
    return json_map(a, { "kinds", json_list_end(&b) });
}

static struct json answer_to(struct tool *t)
{
    static const struct {
        const char *name;
        struct json (*function)(struct tool *t);
    } ops[] = {
        { "create", do_write },
        { "update", do_write },
        { "patch", do_patch },
        { "cells", do_cells },
        { "convert", do_convert },
        { "kinds", do_kinds },
    };
    const char *op = json_get_text(t->in, "op");
    for (size_t i = 0; i < lengthof(ops); i++)
        if (text_eq(op, ops[i].name))
            return ops[i].function(t);
    return json_map(t->arena, { "error", json_str("no such op") });
}

int main(void)
{
    struct registry *registry = registry_new();
    struct builtin *builtin = builtin_register(registry);
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&line, &size, stdin)) > 0) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        struct error err;
        struct tool t = { .arena = &a, .registry = registry };
        struct json answer;
        if (json_parse(&a, (struct str){ line, (size_t)length }, &t.in, &err))
            answer = answer_to(&t);
        else
            answer = json_map(&a, { "error", json_strf(&a, "%s", err.text) });
        puts(json_to_text(&a, answer));
        fflush(stdout);
    }
    free(line);
    registry_free(registry);
    builtin_free(builtin);
    return 0;
}
