/* The merge module behind JSON lines, for tests/cluster/test_merge.py: one request a line on stdin,
 * one answer a line on stdout.
 *
 *   { "op": "crd", "crd": … }                       learn a custom kind
 *   { "op": "apply", "live": …, "config": …, … }    { "object": … } or { "conflicts": [ … ] }
 *   { "op": "update", "live": …, "object": …, … }   { "object": … }
 *   { "op": "keep-times", "live": …, "object": … }  { "object": … }
 *   { "op": "scale-in" / "scale-out", … }           { "managedFields": [ … ] }
 *   { "op": "take-over", "live": …, "from": … }     { "patch": [ … ] }
 *   { "op": "gate", "live": …, "wanted": …, … }     { "equal": …, "differences": [ … ], … }
 *   { "op": "compare", "before": …, "after": … }    { "added": [ … ], "removed": …, "modified": … }
 *   { "op": "bench", "live": …, "wanted": … }       { "ownedNs": …, "equalNs": … }
 *
 * All but crd take "manager", "subresource", "force", "now", "custom". What goes wrong is
 * { "error": text, "code": … }. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "engine/adopt.h"
#include "merge/apply.h"
#include "merge/merge.h"
#include "merge/typed.h"

struct tool {
    struct arena *arena;
    struct schemas *schemas;
    struct json in;
    const char *kind; /* of the object in hand */
};

static const char *text_of(struct tool *t, const char *key)
{
    const char *text = json_text(json_member(t->in, key));
    return text ? text : "";
}

static struct json error_answer(struct tool *t, const struct error *err)
{
    return json_map(t->arena,
        { "error", json_strf(t->arena, "%s", err->text) },
        { "code", json_str(error_code_name(err->code)) });
}

static const char *group_of(struct arena *a, const char *api_version)
{
    const char *slash = strchr(api_version, '/');
    return slash ? arena_strndup(a, api_version, (size_t)(slash - api_version)) : "";
}

/* Other versions of the kind in hand; nothing but apiVersion differs. */
static const struct schema *other_version(void *ctx, const char *api_version)
{
    struct tool *t = ctx;
    struct json head =
        json_map(t->arena, { "apiVersion", json_str(api_version) }, { "kind", json_str(t->kind) });
    const struct schema *s = schema_of_object(t->schemas, head);
    return s->deduced ? NULL : s;
}

static struct apply_request request_of(
    struct tool *t, struct json object, struct apply_versions *versions)
{
    const char *api_version = json_get_text(object, "apiVersion");
    t->kind = json_get_text(object, "kind");
    *versions = (struct apply_versions){ .schema_of = other_version, .ctx = t };
    return (struct apply_request){
        .schema = schema_of_object(t->schemas, object),
        .api_version = api_version,
        .manager = text_of(t, "manager"),
        .subresource = text_of(t, "subresource"),
        .now = text_of(t, "now"),
        .force = json_get_bool(t->in, "force", false),
        .reset = apply_reset_fields(t->arena,
            group_of(t->arena, api_version ? api_version : ""),
            t->kind ? t->kind : "",
            text_of(t, "subresource"),
            json_get_bool(t->in, "custom", false)),
        .versions = versions,
    };
}

static struct json do_crd(struct tool *t)
{
    struct error err;
    if (!schemas_add_crd(t->schemas, json_member(t->in, "crd"), &err))
        return error_answer(t, &err);
    return json_empty_map();
}

static struct json do_apply(struct tool *t)
{
    struct error err;
    struct apply_versions versions;
    struct apply_result result;
    struct json live = json_member(t->in, "live"), config = json_member(t->in, "config");
    struct apply_request r = request_of(t, config, &versions);
    if (apply_config(t->arena, &r, live, config, &result, &err))
        return json_map(t->arena, { "object", result.object });
    struct json_builder list;
    json_builder_init(&list, t->arena);
    for (size_t i = 0; i < result.conflict_count; i++)
        json_push(&list,
            json_map(t->arena,
                { "owner", json_str(result.conflicts[i].owner) },
                { "field", json_str(result.conflicts[i].text) }));
    if (!result.conflict_count)
        return error_answer(t, &err);
    return json_map(t->arena,
        { "error", json_str(apply_conflict_message(t->arena, &result)) },
        { "conflicts", json_list_end(&list) });
}

static struct json do_update(struct tool *t)
{
    struct error err;
    struct apply_versions versions;
    struct json live = json_member(t->in, "live"), object = json_member(t->in, "object");
    struct apply_request r = request_of(t, object, &versions);
    if (!apply_update(t->arena, &r, live, object, &object, &err))
        return error_answer(t, &err);
    return json_map(t->arena, { "object", object });
}

static struct json do_keep_times(struct tool *t)
{
    struct json live = json_member(t->in, "live"), object = json_member(t->in, "object");
    return json_map(t->arena, { "object", managers_keep_times(t->arena, live, object) });
}

#define VERSIONS_MAX 8

/* "apiVersion" is the request's, "apiVersions" are all that the kind has. */
static struct json do_scale(struct tool *t)
{
    struct error err;
    struct managers_scale_path items[VERSIONS_MAX];
    struct managers_scale_paths paths = { .items = items };
    json_each (version, json_member(t->in, "apiVersions")) {
        struct managers_scale_path *path = &items[paths.count++];
        path->api_version = json_text(*version);
        assert(paths.count < VERSIONS_MAX);
        if (!field_path_parse(t->arena, text_of(t, "path"), &path->path, &err))
            return error_answer(t, &err);
    }
    struct json out, parent = json_member(t->in, "parent");
    bool ok = strcmp(text_of(t, "op"), "scale-in") == 0
                  ? managers_to_scale(t->arena, parent, &paths, &out, &err)
                  : managers_from_scale(t->arena,
                        parent,
                        json_member(t->in, "scale"),
                        &paths,
                        text_of(t, "apiVersion"),
                        &out,
                        &err);
    return ok ? json_map(t->arena, { "managedFields", out }) : error_answer(t, &err);
}

static struct json do_take_over(struct tool *t)
{
    const char *const from[] = { text_of(t, "from"), NULL };
    struct json live = json_member(t->in, "live");
    struct json patch = adopt_wanted(live, from, "")
                            ? adopt_patch(t->arena, live, from, "", text_of(t, "manager"))
                            : json_null();
    return json_map(t->arena, { "patch", patch });
}

static struct json do_gate(struct tool *t)
{
    struct json live = json_member(t->in, "live"), wanted = json_member(t->in, "wanted");
    const struct schema *s = schema_of_object(t->schemas, wanted);
    struct merge_owned owned;
    merge_owned(t->arena, s, live, text_of(t, "manager"), text_of(t, "subresource"), &owned);
    struct merge_differences d = merge_difference(t->arena, s, &owned, wanted);
    struct json_builder list;
    json_builder_init(&list, t->arena);
    for (size_t i = 0; i < d.count; i++)
        json_push(&list,
            json_strf(t->arena, "%s %s", merge_change_name(d.items[i].what), d.items[i].text));
    const struct fieldset *set;
    const char *why = NULL;
    struct error err;
    if (!merge_set_of(t->arena, s, wanted, &set, &err))
        return error_answer(t, &err);
    bool same = merge_set_equal_entry(
        t->arena, set, live, text_of(t, "manager"), text_of(t, "subresource"), &why);
    return json_map(t->arena,
        { "equal", json_bool(merge_equal(s, &owned, wanted)) },
        { "exact", json_bool(owned.exact) },
        { "fields", owned.fields },
        { "differences", json_list_end(&list) },
        { "setEqual", json_bool(same) },
        { "setDifference", json_str(why) });
}

static struct json paths_of(struct tool *t, const struct fieldset *set)
{
    size_t count;
    const struct field_path *paths = fieldset_paths(t->arena, set, &count);
    struct json_builder list;
    json_builder_init(&list, t->arena);
    for (size_t i = 0; i < count; i++)
        json_push(&list, json_str(field_path_text(t->arena, &paths[i])));
    return json_list_end(&list);
}

static struct json do_compare(struct tool *t)
{
    struct json before = json_member(t->in, "before"), after = json_member(t->in, "after");
    const struct schema *s = schema_of_object(t->schemas, after);
    struct typed_comparison c = typed_compare(t->arena, s, before, after);
    return json_map(t->arena,
        { "removed", paths_of(t, c.removed) },
        { "modified", paths_of(t, c.modified) },
        { "added", paths_of(t, c.added) });
}

static int64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* What the two halves of a comparison cost. */
static struct json do_bench(struct tool *t)
{
    struct json live = json_member(t->in, "live"), wanted = json_member(t->in, "wanted");
    const struct schema *s = schema_of_object(t->schemas, wanted);
    int64_t count = json_get_int(t->in, "count", 10000);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct merge_owned owned;
    bool equal = true;
    int64_t start = cpu_ns();
    for (int64_t i = 0; i < count; i++) {
        arena_reset(&a);
        merge_owned(&a, s, live, text_of(t, "manager"), text_of(t, "subresource"), &owned);
    }
    int64_t between = cpu_ns();
    for (int64_t i = 0; i < count; i++)
        equal &= merge_equal(s, &owned, wanted);
    int64_t end = cpu_ns();
    return json_map(t->arena,
        { "ownedNs", json_int((between - start) / count) },
        { "equalNs", json_int((end - between) / count) },
        { "equal", json_bool(equal) });
}

static const struct {
    const char *op;
    struct json (*run)(struct tool *t);
} ops[] = {
    { "crd", do_crd },
    { "apply", do_apply },
    { "update", do_update },
    { "keep-times", do_keep_times },
    { "scale-in", do_scale },
    { "scale-out", do_scale },
    { "take-over", do_take_over },
    { "gate", do_gate },
    { "compare", do_compare },
    { "bench", do_bench },
};

static struct json answer(struct tool *t, struct str line)
{
    struct error err;
    if (!json_parse(t->arena, line, &t->in, &err))
        return error_answer(t, &err);
    for (size_t i = 0; i < lengthof(ops); i++)
        if (strcmp(ops[i].op, text_of(t, "op")) == 0)
            return ops[i].run(t);
    fail(&err, ERR_INVALID, "unknown op");
    return error_answer(t, &err);
}

int main(void)
{
    struct schemas *schemas = schemas_new();
    char *line = NULL;
    size_t size = 0;
    for (ssize_t length; (length = getline(&line, &size, stdin)) > 0;) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        struct tool t = { .arena = &a, .schemas = schemas };
        puts(json_to_text(&a, answer(&t, (struct str){ line, (size_t)length })));
        fflush(stdout);
    }
    free(line);
    schemas_free(schemas);
    return 0;
}
