/* What the API server knows about custom kinds: whether a CRD is installed, and which fields it
 * declares.
 *
 *   CRDs (metadata only) ──watch──> added: its objects are listed at once
 *                                   changed: its schema is read again
 *   OpenAPI document ──────────────> for kinds of others: how their lists merge
 *                                    for our kinds: which fields the installed CRD, perhaps an
 *                                    older one, does not declare
 *
 * Every authenticated client may read the document. Watching CRDs needs a right that may be
 * missing, and is impossible with --namespace. Then a new CRD is found by the slow retries of its
 * own watch, and a changed CRD when a status is refused. */

#include "engine/internal.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/log.h"
#include "merge/schema.h"

/* Wait until a changed CRD has reached the document, and again if it has not. */
#define SERVED_SCHEMA_WAIT_MS 2000
/* The largest OpenAPI document of one group version. */
#define SERVED_OPENAPI_BYTES_MAX ((size_t)16 << 20)
/* A CRD is served shortly after it was created: retry after 0.2, 0.4, … s. */
#define SERVED_LOOK_MS 200
#define SERVED_LOOKS_MAX 6

/* ---- schemas ---- */

static struct json find_schema(struct json document, const struct resource *r)
{
    json_each_member (m, json_get(document, "components.schemas"))
        json_each (gvk, json_member(m->value, "x-kubernetes-group-version-kind"))
            if (text_eq(json_get_text(*gvk, "group"), r->group) &&
                text_eq(json_get_text(*gvk, "version"), r->version) &&
                text_eq(json_get_text(*gvk, "kind"), r->kind))
                return m->value;
    return json_none;
}

static bool add_schema(struct schemas *to, struct arena *a, const struct resource *r,
    struct json found, struct error *err)
{
    if (!json_present(found))
        return fail(err, ERR_NOT_FOUND, "it is not in the OpenAPI document yet");
    struct json version = json_fields(a,
        { "name", json_str(r->version) },
        { "served", json_bool(true) },
        { "schema.openAPIV3Schema", found });
    struct json crd = json_fields(a,
        { "spec.group", json_str(r->group) },
        { "spec.names.kind", json_str(r->kind) },
        { "spec.versions", json_list(a, version) });
    return schemas_add_crd(to, crd, err);
}

static void schema_came(void *ctx, const struct kube_reply *reply)
{
    struct engine_watch *w = ctx;
    struct engine *e = w->engine;
    const struct resource *r = w->resource->resource;
    struct engine_kind *kind = engine_kind_of(e, w->resource);
    struct schemas *to = kind ? e->installed : e->options.schemas;
    struct error err = reply->error;
    w->schema_op = NULL;
    if (err.code != ERR_NONE ||
        !add_schema(to, reply->arena, r, find_schema(reply->body, r), &err)) {
        log_debug("no schema of %s.%s: %s", r->plural, r->group, err.text);
        bool outdated = !w->resource->missing && (!kind || kind->installed);
        if (w->needs_schema || outdated)
            timer_set(e->env, &w->schema_wait, SERVED_SCHEMA_WAIT_MS);
        return;
    }
    const struct schema *schema = schema_of(to, r->group, r->version, r->kind);
    if (kind) {
        kind->installed = schema;
        if (kind->short_of_fields)
            engine_wake_kind(kind);
        kind->short_of_fields = false;
        return;
    }
    w->needs_schema = false;
    w->resource->schema = schema;
    watch_reload(w); /* objects loaded before the schema was known are read again */
}

static void fetch_schema(void *ctx)
{
    struct engine_watch *w = ctx;
    const struct resource *r = w->resource->resource;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *path = arena_printf(&a, "/openapi/v3/apis/%s/%s", r->group, r->version);
    if (!w->schema_op)
        w->schema_op = kube_raw(w->engine->options.client,
            path,
            SERVED_OPENAPI_BYTES_MAX,
            (struct kube_then){ schema_came, w });
}

void served_loaded(struct engine_watch *w)
{
    const struct engine_kind *kind = engine_kind_of(w->engine, w->resource);
    bool unknown = kind && w->custom && !kind->installed && !w->engine->options.own_crds;
    bool wanted = w->needs_schema || unknown;
    if (wanted && !timer_is_set(&w->schema_wait))
        fetch_schema(w);
}

void served_doubt(struct engine_kind *kind)
{
    struct engine *e = kind->engine;
    kind->short_of_fields = true;
    for (size_t i = 0; i < e->watch_count; i++) {
        struct engine_watch *w = &e->watches[i];
        if (w->resource == kind->resource && w->custom && !timer_is_set(&w->schema_wait))
            timer_set(e->env, &w->schema_wait, SERVED_SCHEMA_WAIT_MS);
    }
}

/* ---- fields that an installed CRD lacks ---- */

struct pruning {
    struct arena *arena;
    const struct schema *schema;
    struct buf *left_out; /* "status.a, status.b.c" */
};

static struct json prune(const struct pruning *p, uint16_t type, struct json v, const char *path)
{
    const struct schema_type *t = schema_type(p->schema, type);
    struct json_builder b;
    json_builder_init(&b, p->arena);
    if (v.type == JSON_LIST && t->list) {
        json_each (item, v)
            json_push(&b, prune(p, t->item, *item, path));
        return json_list_end(&b);
    }
    if (v.type != JSON_MAP || !t->map)
        return v;
    json_each_member (m, v) {
        uint16_t below = schema_member_type(p->schema, t, m->key);
        const char *here = arena_printf(p->arena, "%s%s%s", path, *path ? "." : "", m->key);
        if (below != SCHEMA_NO_TYPE)
            json_put(&b, m->key, prune(p, below, m->value, here));
        else
            buf_printf(p->left_out, "%s%s", p->left_out->len ? ", " : "", here);
    }
    return json_map_end(&b);
}

struct json served_fields(
    struct arena *a, const struct engine_kind *kind, struct json object, const char **ret_left_out)
{
    *ret_left_out = NULL;
    if (!kind->installed)
        return object;
    cleanup(buf_done) struct buf left_out = BUF_INIT((size_t)4 << 10);
    struct pruning p = { a, kind->installed, &left_out };
    struct json pruned = prune(&p, kind->installed->root, object, "");
    if (!left_out.len)
        return object;
    *ret_left_out = str_dup(a, buf_str(&left_out));
    return pruned;
}

/* ---- CRDs ---- */

static void look(void *ctx)
{
    struct engine_watch *w = ctx;
    if (w->state == REFLECTOR_WATCHING)
        return;
    reflector_poke(w->reflector);
    if (w->looks < SERVED_LOOKS_MAX)
        timer_set(w->engine->env, &w->look, SERVED_LOOK_MS << w->looks++);
}

static bool is_crd_of(const char *name, const struct resource *r)
{
    size_t length = strlen(r->plural);
    return strncmp(name, r->plural, length) == 0 && name[length] == '.' &&
           text_eq(name + length + 1, r->group);
}

static bool is_unserved(const struct engine *e, const char *name)
{
    const char *dot = strchr(name, '.');
    bool ours = false;
    for (const char *const *g = e->options.groups; dot && g && *g; g++)
        ours |= text_eq(dot + 1, *g);
    for (size_t i = 0; ours && i < e->kind_count; i++)
        ours = !is_crd_of(name, e->kinds[i].kind->resource);
    return ours;
}

/* Users who create such an object would wait for ever. */
static void note_unserved(struct engine *e, const char *name)
{
    for (size_t i = 0; i < e->unserved_count; i++)
        if (text_eq(e->unserved[i], name))
            return;
    if (e->unserved_count == ENGINE_UNSERVED_MAX || !is_unserved(e, name))
        return;
    e->unserved[e->unserved_count++] = mem_strdup(name);
    log_info("the CRD %s is installed, and nothing here serves its objects", name);
}

static void crd_put(void *ctx, struct json crd, bool initial)
{
    struct engine *e = ctx;
    const char *name = json_get_text(crd, "metadata.name");
    note_unserved(e, name);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    uint64_t hash = memo_hash(
        &a, json_list(&a, json_get(crd, "metadata.uid"), json_get(crd, "metadata.generation")));
    for (size_t i = 0; i < e->watch_count; i++) {
        struct engine_watch *w = &e->watches[i];
        if (!w->reflector || !is_crd_of(name, w->resource->resource))
            continue;
        bool waits = w->state == REFLECTOR_NOT_INSTALLED;
        if (waits || (!initial && w->state != REFLECTOR_WATCHING)) {
            w->looks = 0;
            timer_set(e->env, &w->look, 0);
        }
        if (w->started && w->crd && w->crd != hash)
            timer_set(e->env, &w->schema_wait, SERVED_SCHEMA_WAIT_MS);
        w->crd = hash;
    }
}

static void crd_ignored(void *ctx)
{
    (void)ctx;
}

/* If the kind was served, its own watch gets a 404. */
static void crd_remove(void *ctx, struct json last)
{
    struct engine *e = ctx;
    const char *name = json_get_text(last, "metadata.name");
    for (size_t i = 0; i < e->unserved_count; i++)
        if (text_eq(e->unserved[i], name)) {
            free(e->unserved[i]);
            e->unserved[i] = e->unserved[--e->unserved_count];
            return;
        }
}

static void crd_ignored_version(void *ctx, const char *version)
{
    (void)ctx;
    (void)version;
}

static void crd_bad(void *ctx, const struct reflector_bad *bad)
{
    (void)ctx;
    log_debug("a CRD cannot be read: %s", bad->err->text);
}

static void crd_state(void *ctx, enum reflector_state state, const struct error *err)
{
    (void)ctx;
    if (state == REFLECTOR_FORBIDDEN)
        log_debug("new CRDs are found only by looking now and then: %s", err->text);
}

/* ---- life ---- */

static const struct reflector_sink crd_sink = {
    .replace_begin = crd_ignored,
    .put = crd_put,
    .remove = crd_remove,
    .replace_end = crd_ignored_version,
    .bookmark = crd_ignored_version,
    .bad = crd_bad,
    .state = crd_state,
};

void served_start(struct engine *e)
{
    bool any = false;
    e->installed = schemas_new();
    for (size_t i = 0; i < e->watch_count; i++) {
        struct engine_watch *w = &e->watches[i];
        const struct cache_resource *r = w->resource;
        w->needs_schema = w->reflector && r->child && r->schema && r->schema->deduced;
        w->custom =
            w->reflector && (r->own_kind || w->needs_schema) && strchr(r->resource->group, '.');
        timer_init(&w->schema_wait, fetch_schema, w);
        timer_init(&w->look, look, w);
        any |= w->custom;
    }
    if (!any || e->options.ns)
        return; /* CRDs are cluster-scoped, so not visible here */
    e->crds = reflector_new(e->options.transport,
        e->env,
        &(struct reflector_options){ .resource = &RESOURCE_CRD, .metadata_only = true },
        &crd_sink,
        e);
    reflector_start(e->crds);
}

void served_stop(struct engine *e)
{
    for (size_t i = 0; i < e->watch_count; i++) {
        struct engine_watch *w = &e->watches[i];
        if (w->schema_op)
            kube_op_cancel(e->options.client, w->schema_op);
        timer_stop(e->env, &w->schema_wait);
        timer_stop(e->env, &w->look);
    }
    reflector_free(e->crds);
    for (size_t i = 0; i < e->unserved_count; i++)
        free(e->unserved[i]);
    schemas_free(e->installed);
}
