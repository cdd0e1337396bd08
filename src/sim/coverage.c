#include "sim/coverage.h"

#include <stdio.h>
#include <stdlib.h>

#define FIELDS_MAX 4000
#define DEPTH_MAX 20

struct field {
    char *path; /* "InferenceService spec.pods[].name" */
    uint64_t count;
};

struct sim_coverage {
    struct field fields[FIELDS_MAX];
    size_t count;
};

static int by_path(const void *a, const void *b)
{
    return strcmp(((const struct field *)a)->path, ((const struct field *)b)->path);
}

static void learn(
    struct sim_coverage *c, struct arena *a, struct json schema, const char *path, unsigned depth)
{
    struct json items = json_member(schema, "items");
    struct json more = json_member(schema, "additionalProperties");
    if (depth > DEPTH_MAX)
        return;
    assert(c->count < FIELDS_MAX);
    c->fields[c->count++].path = mem_strdup(path);
    json_each_member (m, json_member(schema, "properties"))
        learn(c, a, m->value, arena_printf(a, "%s.%s", path, m->key), depth + 1);
    if (json_is(items, JSON_MAP))
        learn(c, a, items, arena_printf(a, "%s[]", path), depth + 1);
    if (json_is(more, JSON_MAP))
        learn(c, a, more, arena_printf(a, "%s{}", path), depth + 1);
}

struct sim_coverage *sim_coverage_new(struct json crds)
{
    struct sim_coverage *c = mem_new_of(struct sim_coverage);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    json_each (crd, crds)
        learn(c,
            &a,
            json_get(*crd, "spec.versions.0.schema.openAPIV3Schema.properties.spec"),
            arena_printf(&a, "%s spec", json_get_text(*crd, "spec.names.kind")),
            0);
    qsort(c->fields, c->count, sizeof(c->fields[0]), by_path);
    return c;
}

void sim_coverage_free(struct sim_coverage *c)
{
    for (size_t i = 0; i < c->count; i++)
        free(c->fields[i].path);
    free(c);
}

static struct field *find(struct sim_coverage *c, const char *path)
{
    struct field key = { (char *)path, 0 };
    return bsearch(&key, c->fields, c->count, sizeof(c->fields[0]), by_path);
}

static void add(struct sim_coverage *c, struct arena *a, struct json v, const char *path)
{
    struct field *f = find(c, path);
    if (!f)
        return;
    f->count++;
    bool open = find(c, arena_printf(a, "%s{}", path)) != NULL;
    json_each_member (m, v)
        add(c,
            a,
            m->value,
            open ? arena_printf(a, "%s{}", path) : arena_printf(a, "%s.%s", path, m->key));
    if (json_is(v, JSON_LIST))
        json_each (item, v)
            add(c, a, *item, arena_printf(a, "%s[]", path));
}

void sim_coverage_add(struct sim_coverage *c, struct json object)
{
    if (!c)
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    add(c,
        &a,
        json_member(object, "spec"),
        arena_printf(&a, "%s spec", json_get_text(object, "kind")));
}

const char *sim_coverage_missing(struct sim_coverage *c, const char *kind, uint32_t which)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *front = arena_printf(&a, "%s spec.", kind);
    const char *found = "";
    uint32_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        uint32_t at = count ? which % count : 0;
        for (size_t i = 0; i < c->count; i++)
            if (!c->fields[i].count && text_starts(c->fields[i].path, front)) {
                if (pass == 0)
                    count++;
                else if (at-- == 0)
                    found = c->fields[i].path + strlen(front) - 1;
            }
    }
    return found;
}

#define NO_CLUSTERS "no other cluster is played"

/* Fields that no accepted object sets, and why. */
static const struct {
    const char *path, *why;
} unreachable[] = {
    { "FederatedCluster spec", NO_CLUSTERS },
    { "FederatedCluster spec.dataResidencyTier", NO_CLUSTERS },
    { "FederatedCluster spec.displayName", NO_CLUSTERS },
    { "FederatedCluster spec.heartbeatIntervalSeconds", NO_CLUSTERS },
    { NULL, NULL },
};

static const char *excuse(const char *path)
{
    for (size_t i = 0; unreachable[i].path; i++)
        if (text_eq(unreachable[i].path, path))
            return unreachable[i].why;
    return NULL;
}

size_t sim_coverage_left(const struct sim_coverage *c)
{
    size_t left = 0;
    for (size_t i = 0; i < c->count; i++)
        left += !c->fields[i].count && !excuse(c->fields[i].path);
    return left;
}

void sim_coverage_print(const struct sim_coverage *c)
{
    size_t reached = 0;
    for (size_t i = 0; i < c->count; i++)
        reached += c->fields[i].count > 0;
    printf("inputs reached %zu of %zu fields\n", reached, c->count);
    for (size_t i = 0; i < c->count; i++)
        if (!c->fields[i].count) {
            const char *why = excuse(c->fields[i].path);
            printf("input not reached: %s: %s\n", c->fields[i].path, why ? why : "?");
        }
}
