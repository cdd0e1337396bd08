/* Every path that a kind reads exists: those of its watches in the schema of the watched resource,
 * those of its bind tables in the spec of one of our CRDs, and each literal "spec.…", "status.…" or
 * "metadata.…" in its source in some schema that we know. A misspelled path reads nothing, for ever
 * and without an error. */

#include <glob.h>
#include <regex.h>
#include <stdlib.h>

#include "base/str.h"
#include "cli/cli.h"
#include "cli/embedded.h"
#include "cli/families.h"
#include "engine/kind.h"
#include "merge/schema.h"
#include "tests/test.h"

/* Of CRDs of other projects, whose schemas are not in this repository. */
static const char *const foreign[] = {
    "spec.authorization",
    "spec.backendRef.",
    "spec.endpoints",
    "spec.healthCheck",
    "spec.indicator",
    "spec.jwt.providers",
    "spec.llmRequestCosts",
    "spec.parentRefs",
    "spec.rateLimit",
    "spec.retry",
    "spec.schema.name",
    "spec.window",
    "metadata.google.internal",
    "spec.targetRefs",
};

static bool is_number(struct str s)
{
    int64_t n;
    return str_to_int(s, &n);
}

static bool exists(const struct schema *s, uint16_t type, const char *path)
{
    for (struct str rest = str_of(path); rest.ptr;) {
        struct str step = str_cut(&rest, '.');
        const struct schema_type *t = schema_type(s, type);
        type = is_number(step) ? t->item : schema_member_type(s, t, str_dup(test_arena(), step));
        if (type == SCHEMA_NO_TYPE)
            return false;
    }
    return true;
}

static const struct schema *schema_in_crd(
    struct schemas *schemas, struct json crd, struct json version)
{
    return schema_of(schemas,
        json_get_text(crd, "spec.group"),
        json_get_text(version, "name"),
        json_get_text(crd, "spec.names.kind"));
}

static bool exists_in_crds(struct schemas *schemas, const char *path)
{
    json_each (crd, embedded_crds(test_arena()))
        json_each (version, json_get(*crd, "spec.versions")) {
            const struct schema *s = schema_in_crd(schemas, *crd, *version);
            if (exists(s, s->root, path))
                return true;
        }
    return false;
}

static bool exists_in_builtin(const char *path)
{
    const struct schema all = { .table = schema_builtin };
    for (uint32_t i = 0; i < schema_builtin_kind_count; i++)
        if (exists(&all, (uint16_t)schema_builtin_kinds[i].root, path))
            return true;
    return false;
}

static bool is_foreign(const char *path)
{
    for (size_t i = 0; i < lengthof(foreign); i++)
        if (text_starts(path, foreign[i]))
            return true;
    return false;
}

static struct schemas *all_schemas(void)
{
    struct schemas *schemas = schemas_new();
    struct error err;
    json_each (crd, embedded_crds(test_arena()))
        check(schemas_add_crd(schemas, *crd, &err));
    return schemas;
}

/* In what it watches; one list may serve several resources that differ in a field. */
static bool exists_in_watched(struct schemas *schemas, const struct kind *k, const char *path)
{
    for (const struct kind_watch *w = k->watches; w->resource; w++) {
        const struct resource *r = w->resource;
        const struct schema *s = schema_of(schemas, r->group, r->version, r->kind);
        if (s && !s->deduced && exists(s, s->root, path))
            return true;
    }
    return false;
}

static size_t check_kept(struct schemas *schemas, const struct kind *k, const struct kind_watch *w)
{
    const struct resource *r = w->resource;
    const struct schema *s = schema_of(schemas, r->group, r->version, r->kind);
    size_t count = 0;
    for (; s && !s->deduced && w->keep && w->keep[count]; count++)
        if (!exists(s, s->root, w->keep[count]) && !exists_in_watched(schemas, k, w->keep[count]))
            test_fail(__FILE__,
                __LINE__,
                "%s keeps %s of %s, which does not exist",
                k->resource->kind,
                w->keep[count],
                r->kind);
    return count;
}

TEST(every_path_that_a_watch_keeps_exists)
{
    struct schemas *schemas = all_schemas();
    struct cli cli = { .arena = ARENA_INIT };
    struct families families;
    struct error err;
    check(families_read(&cli, &families, &err));
    families_add_workloads(&families, "volumes");
    size_t seen = 0;
    for (size_t f = 0; f < families.count; f++)
        for (const struct kind *const *k = families.list[f].kinds; *k; k++)
            for (const struct kind_watch *w = (*k)->watches; w->resource; w++)
                seen += check_kept(schemas, *k, w);
    check(seen > 100);
    arena_done(&cli.arena);
    schemas_free(schemas);
}

/* What the first group of the expression matches in the source files of all kinds. */
static size_t each_in_sources(
    const char *expression, bool (*known)(struct schemas *, const char *), struct schemas *schemas)
{
    regex_t wanted;
    glob_t files;
    size_t seen = 0;
    check_int(regcomp(&wanted, expression, REG_EXTENDED), 0);
    check_int(glob("src/kinds/*/*.[ch]", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *f = fopen(files.gl_pathv[i], "re");
        char line[1024];
        for (int number = 1; f && fgets(line, sizeof(line), f); number++) {
            regmatch_t m[2];
            for (const char *at = line; regexec(&wanted, at, 2, m, 0) == 0; at += m[0].rm_eo) {
                struct str path = { at + m[1].rm_so, (size_t)(m[1].rm_eo - m[1].rm_so) };
                const char *text = str_dup(test_arena(), path);
                seen++;
                if (!known(schemas, text))
                    test_fail(files.gl_pathv[i], number, "no schema has the path %s", text);
            }
        }
        check(f && fclose(f) == 0);
    }
    globfree(&files);
    regfree(&wanted);
    return seen;
}

/* Each step is a declared field: a map would take any name. */
static bool is_declared(const struct schema *s, uint16_t type, const char *path)
{
    for (struct str rest = str_of(path); rest.ptr;) {
        const char *step = str_dup(test_arena(), str_cut(&rest, '.'));
        const struct schema_field *f = schema_field(s, schema_type(s, type), step);
        if (!f)
            return false;
        type = f->type;
    }
    return true;
}

/* Tables are bound to a spec or to a part of it, so the path may begin at any type of a CRD. */
static bool is_bound(struct schemas *schemas, const char *path)
{
    json_each (crd, embedded_crds(test_arena()))
        json_each (version, json_get(*crd, "spec.versions")) {
            const struct schema *s = schema_in_crd(schemas, *crd, *version);
            for (uint32_t type = 0; type < s->table.type_count; type++)
                if (is_declared(s, (uint16_t)type, path))
                    return true;
        }
    return false;
}

static bool is_known(struct schemas *schemas, const char *path)
{
    return is_foreign(path) || exists_in_crds(schemas, path) || exists_in_builtin(path);
}

TEST(every_path_of_a_bind_table_exists)
{
    struct schemas *schemas = all_schemas();
    check(each_in_sources("BIND\\([^\"]*, \"([A-Za-z0-9.]+)\"", is_bound, schemas) > 100);
    schemas_free(schemas);
}

TEST(every_literal_path_exists)
{
    struct schemas *schemas = all_schemas();
    check(
        each_in_sources("\"((spec|status|metadata)(\\.[A-Za-z0-9]+)+)\"", is_known, schemas) > 300);
    schemas_free(schemas);
}
