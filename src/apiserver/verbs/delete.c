/* DELETE for an object or a collection. */

#include <string.h>

#include "apiserver/core/body.h"
#include "apiserver/core/continue.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/core/options.h"
#include "apiserver/core/select.h"
#include "apiserver/rules/decode.h"
#include "apiserver/verbs/remove.h"

/* ---- options ---- */

/* Other kinds that the API server's options decoder knows, in all versions or in its own. */
static bool is_other_kind(const char *kind, bool meta)
{
    static const char *const kinds[] = { "APIGroup",
        "APIGroupList",
        "APIResourceList",
        "APIVersions",
        "CreateOptions",
        "GetOptions",
        "PatchOptions",
        "Status",
        "UpdateOptions",
        /* of meta.k8s.io/v1: */
        "ListOptions",
        "PartialObjectMetadata",
        "PartialObjectMetadataList",
        "Table",
        "TableOptions",
        "WatchEvent" };
    for (size_t i = 0; i < (meta ? lengthof(kinds) : 9); i++)
        if (text_eq(kind, kinds[i]))
            return true;
    return false;
}

/* Options may be in any version. */
static bool check_options_kind(struct api_call *c, struct json options)
{
    const char *kind = json_text(body_type_member(options, "kind"));
    const char *version = json_text(body_type_member(options, "apiVersion"));
    if (text_empty(kind) || text_eq(kind, "DeleteOptions"))
        return true;
    if (text_empty(version))
        version = "meta.k8s.io/v1";
    if (is_other_kind(kind, text_eq(version, "meta.k8s.io/v1")))
        return call_fail_bad(
            c, "converting (v1.%s) to (v1.DeleteOptions): unknown conversion", kind);
    return call_fail_bad(c,
        "no kind \"%s\" is registered for version \"%s\" in scheme \"pkg/runtime/scheme.go:111\"",
        kind,
        version);
}

/* An Eviction contains options as a field. */
static struct schema options_schema(struct arena *a)
{
    static const struct api_kind eviction = { .resource = { "policy", "v1", "Eviction" } };
    struct schema s = *request_with_schema(a, &eviction)->schema;
    s.root = schema_member_type(&s, schema_type(&s, s.root), "deleteOptions");
    return s;
}

static bool parse_body(struct api_call *c, struct json *ret)
{
    bool twice;
    const char *why;
    struct field_errors wrong;
    *ret = json_none;
    if (media_of(c->request->content_type) == MEDIA_TYPE_OTHER && !body_check_media(c))
        return false;
    static const struct protobuf_type usual = { "meta.k8s.io/v1", "DeleteOptions" };
    bool ok = body_parse(c, &usual, ret, &twice, &why);
    if (json_is(*ret, JSON_MAP) && !check_options_kind(c, *ret))
        return false;
    if (!ok)
        return call_fail_bad(c, "%s", why);
    struct schema schema = options_schema(&c->arena);
    field_errors_init(&wrong, &c->arena);
    *ret = decode_object(&c->arena, &schema, *ret, &wrong);
    why = body_type_error(&wrong);
    return !why || call_fail_bad(c, "%s", why);
}

/* The same options, from the query. */
static bool options_of_query(struct api_call *c, struct json *ret)
{
    struct arena *a = &c->arena;
    struct json o = json_empty_map();
    const char *grace = call_param(c, "gracePeriodSeconds");
    int64_t seconds = 0;
    if (grace && !str_to_int(str_of(grace), &seconds))
        return call_fail_bad(c, "strconv.ParseInt: parsing \"%s\": invalid syntax", grace);
    if (grace)
        o = json_with_member(a, o, "gracePeriodSeconds", json_int(seconds));
    if (call_param(c, "orphanDependents"))
        o = json_with_member(
            a, o, "orphanDependents", json_bool(call_param_bool(c, "orphanDependents")));
    o = json_with_member(
        a, o, "propagationPolicy", json_str_or_absent(call_param(c, "propagationPolicy")));
    const char *uid = call_param(c, "uid"), *version = call_param(c, "resourceVersion");
    if (!text_empty(uid) || !text_empty(version))
        o = json_with_member(a,
            o,
            "preconditions",
            json_map(a,
                { "uid", json_str_or_absent(uid) },
                { "resourceVersion", json_str_or_absent(version) }));
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < c->param_count; i++)
        if (strcmp(c->params[i].key, "dryRun") == 0)
            json_push(&b, json_str(c->params[i].value));
    *ret = json_with_member(a, o, "dryRun", json_or_absent(json_list_end(&b)));
    return true;
}

/* The default propagation policy of a DELETE: two old kinds orphan their Pods. */
static enum propagation usual_propagation(struct api_call *c)
{
    const struct resource *r = &c->kind->resource;
    if (text_eq(r->group, "batch") && text_eq(r->kind, "Job")) {
        call_warn(c,
            "child pods are preserved by default when jobs are deleted; set "
            "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to "
            "suppress this warning");
        return PROPAGATION_ORPHAN;
    }
    return api_kind_is_core(c->kind, "ReplicationController") ? PROPAGATION_ORPHAN
                                                              : PROPAGATION_DEFAULT;
}

bool delete_options_read(struct api_call *c, struct json o, struct delete_options *ret)
{
    static const char *const policies[] = { "", "Background", "Foreground", "Orphan" };
    struct field_errors errors;
    field_errors_init(&errors, &c->arena);
    struct json orphan = json_member(o, "orphanDependents");
    struct json policy = json_member(o, "propagationPolicy");
    *ret = (struct delete_options){
        .grace_s = json_get_int(o, "gracePeriodSeconds", -1),
        .uid = json_get_text(o, "preconditions.uid"),
        .version = json_get_text(o, "preconditions.resourceVersion"),
        .orphan_false = json_is(orphan, JSON_BOOL) && !orphan.boolean,
        .dry_run = json_member(o, "dryRun").count > 0,
    };
    bool known = !json_is(policy, JSON_STR);
    for (size_t i = 1; i < lengthof(policies); i++)
        if (text_eq(json_text(policy), policies[i])) {
            ret->propagation = (enum propagation)i;
            known = true;
        }
    if (json_is(policy, JSON_STR) && json_is(orphan, JSON_BOOL))
        field_invalid(&errors,
            "propagationPolicy",
            policy,
            "orphanDependents and deletionPropagation cannot be both set");
    else if (!known)
        field_error_add(&errors,
            FIELD_NOT_SUPPORTED,
            "propagationPolicy",
            policy,
            "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"");
    if (json_is(orphan, JSON_BOOL))
        ret->propagation = orphan.boolean ? PROPAGATION_ORPHAN : PROPAGATION_BACKGROUND;
    else if (!json_is(policy, JSON_STR))
        ret->propagation = usual_propagation(c);
    options_check_dry_run(&errors, json_member(o, "dryRun"));
    c->dry_run = ret->dry_run;
    return !errors.count ||
           call_fail(c, status_invalid(&c->arena, "meta.k8s.io", "DeleteOptions", "", &errors));
}

static bool read_options(struct api_call *c, struct delete_options *ret)
{
    struct json o;
    if (c->request->body.len ? !parse_body(c, &o) : !options_of_query(c, &o))
        return false;
    return delete_options_read(c, o, ret);
}

/* ---- one object ---- */

static struct json delete_details(struct arena *a, const struct api_kind *k, struct json object)
{
    return json_map(a,
        { "name", json_get(object, "metadata.name") },
        { "group", json_str_or_absent(k->resource.group) },
        { "kind", json_str(k->resource.plural) },
        { "uid", json_get(object, "metadata.uid") });
}

void rest_delete(struct api_call *c)
{
    struct delete_options o;
    struct json object;
    const struct store_object *stored;
    bool gone;
    if (!read_options(c, &o))
        return;
    budget_seal(&c->budget);
    struct write w = write_of_call(c);
    if (!write_read_old(&w)) {
        call_fail(c, status_not_found(&c->arena, c->kind, c->name));
        return;
    }
    if (!call_check_version(c, w.before, true))
        return;
    if (!delete_object(&w, &o, &object, &stored, &gone))
        return;
    if (gone && !c->kind->returns_deleted)
        call_json(c, 200, status_success(&c->arena, delete_details(&c->arena, c->kind, object)));
    else
        write_answer(&w, !gone && o.orphan_false ? 202 : 200, object, stored);
}

/* ---- a collection ---- */

/* The names are collected first, because deleting changes the table. */
struct victims {
    uint64_t version; /* of the list from which they are read */
    bool exact;       /* as of that version, not the current state */
    struct list_place after;
    const struct store_object **objects;
    size_t count, size;
    bool more;         /* more objects are after the limit; whether they match is not checked */
    int64_t remaining; /* number of those; 0: unknown */
};

/* The next object: current, or at the requested version. False: that version is too old. */
static bool next_victim(struct api_call *c, const struct victims *v, struct store_cursor *cursor,
    const struct store_object **ret)
{
    struct error err;
    const struct store_table *t = store_table(c->server->store, c->kind->table);
    if (!v->exact) {
        *ret = store_next(t, cursor);
        return true;
    }
    return store_next_at(t, cursor, v->version, ret, &err) ||
           call_fail(c, status_expired("The resourceVersion for the provided list is too old."));
}

static bool choose_version(struct api_call *c, const struct list_options *o, struct victims *v)
{
    uint64_t current = store_version(c->server->store);
    if (o->version > current)
        return call_fail(c, status_too_large_version(&c->arena, o->version, current));
    v->exact = o->version > 0 && !text_eq(o->match, "NotOlderThan");
    v->version = v->exact ? o->version : current;
    return text_empty(o->cont) || continue_read(c, o, current, &v->version, &v->exact, &v->after);
}

static bool collect(struct api_call *c, const struct selection *s, const struct list_options *list,
    struct victims *v)
{
    struct store_cursor cursor = {
        .ns = s->ns,
        .after_ns = v->after.ns,
        .after_name = v->after.name,
    };
    const struct store_object *o;
    for (;;) {
        if (!next_victim(c, v, &cursor, &o))
            return false;
        if (!o)
            return true;
        if (list->limit > 0 && (int64_t)v->count == list->limit) {
            v->more = true;
            if (s->parses || s->name)
                return true;
            v->remaining++;
            continue;
        }
        if (!select_matches(s, &c->arena, o))
            continue;
        arena_room(&c->arena, v->objects, v->count, v->size);
        store_object_hold(o);
        v->objects[v->count++] = o;
    }
}

/* Deletes one object; the response has its state before, or its new state if it stays. */
static bool delete_one(struct api_call *c, const struct delete_options *o,
    const struct store_object *victim, struct json_builder *items)
{
    struct json object;
    const struct store_object *stored;
    bool gone;
    struct write w = write_of_call(c);
    w.ns = victim->ns;
    w.name = victim->name;
    bool there = write_read_old(&w);
    if (there &&
        (!call_check_version(c, w.before, true) || !delete_object(&w, o, &object, &stored, &gone)))
        return false;
    struct json item = there ? w.old : object_read(c->kind, &c->arena, victim);
    if (!c->kind->custom) {
        item = json_with_member(&c->arena, item, "apiVersion", json_none);
        item = json_with_member(&c->arena, item, "kind", json_none);
    }
    json_push(items, item);
    return true;
}

/* Answers with the list of deleted objects, in the requested form. */
static void answer_deleted(struct api_call *c, struct json metadata, struct json items)
{
    struct arena *a = &c->arena;
    struct json_builder rows;
    if (!call_check_form(c, true))
        return;
    if (c->accept.form == ACCEPT_OBJECT) {
        if (c->kind->custom && !json_present(json_member(metadata, "continue")))
            metadata = json_with_member(a, metadata, "continue", json_str(""));
        call_json(c,
            200,
            json_map(a,
                { "kind", json_str(c->kind->list_kind) },
                { "apiVersion", json_str(object_api_version(a, c->kind)) },
                { "metadata", metadata },
                { "items", items }));
        return;
    }
    bool table = c->accept.form == ACCEPT_TABLE;
    json_builder_init(&rows, a);
    json_each (item, items)
        json_push(&rows,
            table
                ? table_row(a, c->kind, &c->accept, c->include, *item, env_wall_ms(c->server->env))
                : partial_of_object(a, c->kind, &c->accept, *item));
    struct json list = json_list_end(&rows);
    call_json(c,
        200,
        json_map(a,
            { "kind", json_str(table ? "Table" : "PartialObjectMetadataList") },
            { "apiVersion", json_str(c->accept.api_version) },
            { "metadata", metadata },
            { "columnDefinitions", json_if(table, table_columns(a, c->kind)) },
            { table ? "rows" : "items",
                list.count || (table && !table_rows_are_null(c->kind)) ? list : json_null() }));
}

void rest_delete_collection(struct api_call *c)
{
    struct delete_options o;
    struct list_options list;
    struct selection selection;
    struct victims victims = { 0 };
    struct json_builder items;
    if (!options_read_list(c, false, &list) || !select_init(c, &list, &selection) ||
        !read_options(c, &o) || !options_read_version(c, false, &list) ||
        !choose_version(c, &list, &victims))
        return;
    budget_seal(&c->budget);
    uint64_t version = victims.version;
    json_builder_init(&items, &c->arena);
    const char *cont = NULL;
    bool ok = collect(c, &selection, &list, &victims);
    if (victims.more) {
        const struct store_object *last = victims.objects[victims.count - 1];
        cont = continue_print(&c->arena,
            version,
            (struct list_place){
                arena_strdup(&c->arena, last->ns), arena_strdup(&c->arena, last->name) },
            !*c->ns);
    }
    for (size_t i = 0; i < victims.count; i++) {
        ok = ok && delete_one(c, &o, victims.objects[i], &items);
        store_object_release(victims.objects[i]);
    }
    if (!ok)
        return;
    struct arena *a = &c->arena;
    struct json metadata = json_map(a,
        { "resourceVersion", json_strf(a, "%llu", (unsigned long long)version) },
        { "continue", json_str(cont) },
        { "remainingItemCount", json_if(victims.remaining, json_int(victims.remaining)) });
    answer_deleted(c, metadata, json_list_end(&items));
}
