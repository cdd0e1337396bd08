/* DELETE of an object and of a collection. */

#include <string.h>

#include "apiserver/body.h"
#include "apiserver/continue.h"
#include "apiserver/delete.h"
#include "apiserver/internal.h"
#include "apiserver/json_error.h"
#include "apiserver/meta.h"
#include "apiserver/object.h"
#include "apiserver/options.h"
#include "apiserver/protobuf.h"
#include "apiserver/select.h"

/* ---- options ---- */

static bool check_option_types(struct api_call *c, struct json o)
{
    static const struct {
        const char *field;
        enum json_type type;
        const char *go;
    } fields[] = {
        { "gracePeriodSeconds", JSON_INT, "int64" },
        { "orphanDependents", JSON_BOOL, "bool" },
        { "propagationPolicy", JSON_STR, "v1.DeletionPropagation" },
        { "dryRun", JSON_LIST, "[]string" },
        { "preconditions", JSON_MAP, "v1.Preconditions" },
    };
    static const char *const names[] = {
        "", "", "bool", "number", "number", "string", "array", "object"
    };
    for (size_t i = 0; i < lengthof(fields); i++) {
        struct json v = json_member(o, fields[i].field);
        if (json_present(v) && !json_is(v, JSON_NULL) && v.type != fields[i].type)
            return call_fail_bad(c,
                "json: cannot unmarshal %s into Go struct field DeleteOptions.%s of type %s",
                names[v.type],
                fields[i].field,
                fields[i].go);
    }
    return true;
}

static bool parse_body(struct api_call *c, struct json *ret)
{
    struct error err;
    struct str body = c->request->body;
    const char *why = NULL;
    if (!body_check_media(c))
        return false;
    if (media_of(c->request->content_type) == MEDIA_TYPE_PROTOBUF) {
        if (!protobuf_decode(&c->arena, body, ret, &err))
            return call_fail_bad(c, "%s", err.text);
    } else if (!json_parse(&c->arena, body, ret, &err))
        why = json_error_text(&c->arena, body);
    else if (!json_is(*ret, JSON_MAP) && !json_is(*ret, JSON_NULL))
        why = arena_printf(&c->arena,
            "json: cannot unmarshal %s into Go value of type struct { APIVersion string "
            "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }",
            json_is(*ret, JSON_LIST) ? "array" : json_type_name(*ret));
    if (why)
        return call_fail_bad(c, "couldn't get version/kind; json parse error: %s", why);
    const char *kind = json_get_text(*ret, "kind"), *version = json_get_text(*ret, "apiVersion");
    if (!text_empty(kind) && !text_eq(kind, "DeleteOptions"))
        return call_fail_bad(c,
            "no kind \"%s\" is registered for version \"%s\" in scheme "
            "\"pkg/runtime/scheme.go:111\"",
            kind,
            text_empty(version) ? "v1" : version);
    return check_option_types(c, *ret);
}

/* The same options, if they stand in the query. */
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
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < c->param_count; i++)
        if (strcmp(c->params[i].key, "dryRun") == 0)
            json_push(&b, json_str(c->params[i].value));
    *ret = json_with_member(a, o, "dryRun", json_or_absent(json_list_end(&b)));
    return true;
}

/* What a DELETE does that says nothing: two old kinds leave their Pods. */
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
    if (!call_negotiate(c, ACCEPT_OF_OBJECT) || !read_options(c, &o))
        return;
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

/* The names are read first: deleting changes the table. */
struct victims {
    const struct store_object **objects;
    size_t count, size;
    bool more;         /* stand behind the limit; whether they are selected is not looked at */
    int64_t remaining; /* so many; 0: not known */
};

static void collect(struct api_call *c, const struct selection *s, int64_t limit, struct victims *v)
{
    const struct store_table *t = store_table(c->server->store, c->kind->table);
    struct store_cursor cursor = { .namespace = s->namespace };
    const struct store_object *o;
    while ((o = store_next(t, &cursor))) {
        if (limit > 0 && (int64_t)v->count == limit) {
            v->more = true;
            if (s->parses || s->name)
                return;
            v->remaining++;
            continue;
        }
        if (!select_matches(s, &c->arena, o))
            continue;
        if (v->count == v->size) {
            v->size = v->size ? v->size * 2 : 64;
            const struct store_object **more = arena_array(&c->arena, v->size, sizeof(*more));
            if (v->count)
                memcpy(more, v->objects, v->count * sizeof(*more));
            v->objects = more;
        }
        store_object_hold(o);
        v->objects[v->count++] = o;
    }
}

/* One of them; the answer has its state as it was found, or as it is now if it stays. */
static bool delete_one(struct api_call *c, const struct delete_options *o,
    const struct store_object *victim, struct json_builder *items)
{
    struct json object;
    const struct store_object *stored;
    bool gone;
    struct write w = write_of_call(c);
    w.namespace = victim->namespace;
    w.name = victim->name;
    if (!write_read_old(&w))
        return true;
    if (!call_check_version(c, w.before, true) || !delete_object(&w, o, &object, &stored, &gone))
        return false;
    struct json item = w.old;
    if (!c->kind->custom) {
        item = json_with_member(&c->arena, item, "apiVersion", (struct json){ 0 });
        item = json_with_member(&c->arena, item, "kind", (struct json){ 0 });
    }
    json_push(items, item);
    return true;
}

void rest_delete_collection(struct api_call *c)
{
    struct delete_options o;
    struct list_options list;
    struct selection selection;
    struct victims victims = { 0 };
    struct json_builder items;
    if (!call_negotiate(c, ACCEPT_OF_LIST) || !options_read_list(c, false, &list) ||
        !read_options(c, &o) || !select_init(c, &list, &selection))
        return;
    uint64_t version = store_version(c->server->store);
    json_builder_init(&items, &c->arena);
    const char *cont = NULL;
    collect(c, &selection, list.limit, &victims);
    if (victims.more) {
        const struct store_object *last = victims.objects[victims.count - 1];
        cont = continue_print(&c->arena,
            version,
            (struct list_place){
                arena_strdup(&c->arena, last->namespace), arena_strdup(&c->arena, last->name) },
            !*c->namespace);
    }
    bool ok = true;
    for (size_t i = 0; i < victims.count; i++) {
        ok = ok && delete_one(c, &o, victims.objects[i], &items);
        store_object_release(victims.objects[i]);
    }
    if (!ok)
        return;
    struct arena *a = &c->arena;
    call_json(c,
        200,
        json_map(a,
            { "kind", json_str(c->kind->list_kind) },
            { "apiVersion", json_str(object_api_version(a, c->kind)) },
            { "metadata",
                json_map(a,
                    { "resourceVersion", json_strf(a, "%llu", (unsigned long long)version) },
                    { "continue", json_str(cont) },
                    { "remainingItemCount",
                        victims.remaining ? json_int(victims.remaining) : (struct json){ 0 } }) },
            { "items", json_list_end(&items) }));
}
