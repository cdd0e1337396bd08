#include "tests/engine/toys.h"

#include "base/buf.h"
#include "base/log.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "merge/fieldset.h"
#include "merge/merge.h"
#include "merge/schema.h"

/* ---- a kind: a ConfigMap of its own, a claim that all share ---- */

const struct resource TOYS_WIDGET = {
    .group = "toys.example.com",
    .version = "v1",
    .kind = "Widget",
    .plural = "widgets",
};

static const char *const data[] = { "data", NULL };
static const struct kind_watch watches[] = {
    { .resource = &RESOURCE_CONFIG_MAP, .child = true, .keep = data },
    { .resource = &RESOURCE_PVC, .keep = data },
    { 0 },
};

static void reconcile(const struct view *in, struct plan *out)
{
    struct arena *a = in->arena;
    struct json color = json_get(in->object, "spec.color");
    if (json_get_bool(in->object, "spec.waits", false)) {
        plan_keep_children(out);
        plan_status(out, json_fields(a, { "color", color }), NULL);
        plan_wait(out, "for nothing");
        return;
    }
    if (!json_get_bool(in->object, "spec.bare", false))
        plan_child(out,
            &RESOURCE_CONFIG_MAP,
            json_fields(a, { "metadata.name", json_str(view_name(in)) }, { "data.color", color }));
    if (json_get_bool(in->object, "spec.shares", false))
        plan_shared(out, &RESOURCE_PVC, json_fields(a, { "metadata.name", json_str("store") }));
    struct view_trouble trouble = view_trouble(in, &RESOURCE_CONFIG_MAP, view_name(in));
    if (json_get_bool(in->object, "spec.frank", false))
        trouble = view_trouble(in, &RESOURCE_PVC, "store");
    plan_status(
        out, json_fields(a, { "color", color }, { "trouble", json_str(trouble.message) }), NULL);
    plan_done(out);
}

static const struct kind widget_kind = {
    .resource = &TOYS_WIDGET,
    .watches = watches,
    .reconcile = reconcile,
};

/* Another: a gadget in the cluster's scope, a kind of somebody else's that may not be installed. */
const struct resource TOYS_GADGET = {
    .group = "tools.example.com",
    .version = "v1",
    .kind = "Gadget",
    .plural = "gadgets",
    .cluster_scoped = true,
};

static const struct kind_watch gadgets[] = {
    { .resource = &TOYS_GADGET, .child = true, .optional = true, .keep = data },
    { 0 },
};

static void reconcile_gadget(const struct view *in, struct plan *out)
{
    struct arena *a = in->arena;
    struct json color = json_get(in->object, "spec.color");
    view_served(in, &TOYS_GADGET);
    plan_child(out, &TOYS_GADGET, json_fields(a, { "metadata.name", json_str(view_name(in)) }));
    struct view_trouble trouble = view_trouble(in, &TOYS_GADGET, view_name(in));
    if (json_present(color))
        plan_status(out,
            json_fields(a, { "color", color }, { "trouble", json_str(trouble.message) }),
            NULL);
    plan_done(out);
}

const struct kind toys_gadget_kind = {
    .resource = &TOYS_WIDGET,
    .watches = gadgets,
    .finalizer = "toys.example.com/gadget",
    .reconcile = reconcile_gadget,
};

/* status_fields: "'color': {'type': 'string'}, …" */
static struct json widget_schema(const char *status_fields)
{
    return test_json(arena_printf(test_arena(),
        "{'type': 'object', 'properties': {"
        " 'spec': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': true},"
        " 'status': {'type': 'object', 'properties': {%s, 'conditions': {'type': 'array',"
        "  'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'],"
        "  'items': {'type': 'object', 'required': ['type'], 'properties': {"
        "   'type': {'type': 'string'}, 'status': {'type': 'string'}, 'reason': {'type': 'string'},"
        "   'message': {'type': 'string'}, 'lastTransitionTime': {'type': 'string'},"
        "   'observedGeneration': {'type': 'integer'}}}}}}}}",
        status_fields));
}

/* ---- an engine, and a server that the test plays ---- */

static bool may_write(void *ctx)
{
    return !((struct toys *)ctx)->follows;
}

void toys_init_with(struct toys *b, const struct kind *kind)
{
    static const char *const predecessors[] = { "manager", NULL };
    *b = (struct toys){ .version = 10, .spec = "{'color': 'red'}", .kinds = { kind } };
    b->family = (struct engine_family){
        .name = "toys",
        .kinds = b->kinds,
        .predecessors = predecessors,
    };
    log_setup(LOG_FORMAT_TEXT, LOG_LEVEL_ERROR);
    world_init(&b->w);
    b->client = kube_client_new(&b->w.transport, &b->w.env);
    b->schemas = schemas_new();
    struct arena *a = test_arena();
    struct error err;
    struct json crd = json_fields(a,
        { "spec.group", json_str(TOYS_WIDGET.group) },
        { "spec.names.kind", json_str(TOYS_WIDGET.kind) },
        { "spec.versions",
            json_list(a,
                json_fields(a,
                    { "name", json_str("v1") },
                    { "schema.openAPIV3Schema", widget_schema(TOYS_ALL_FIELDS) })) });
    check(schemas_add_crd(b->schemas, crd, &err));
    b->engine = engine_new(&(struct engine_options){
        .env = &b->w.env,
        .transport = &b->w.transport,
        .client = b->client,
        .schemas = b->schemas,
        .families = &b->family,
        .family_count = 1,
        .manager = "leeboard",
        .may_write = may_write,
        .ctx = b,
    });
    engine_lead(b->engine);
    world_advance(&b->w, 0);
}

void toys_init(struct toys *b)
{
    toys_init_with(b, &widget_kind);
}

void toys_done(struct toys *b)
{
    engine_free(b->engine);
    kube_client_free(b->client);
    schemas_free(b->schemas);
    world_done(&b->w);
    log_setup(LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
}

const char *toys_print(struct json v)
{
    return json_to_text(test_arena(), v);
}

struct world_call *toys_request(struct toys *b, const char *method, const char *part)
{
    world_advance(&b->w, 0);
    for (struct world_call *c = b->w.calls; c; c = c->next)
        if (text_eq(c->method, method) && strstr(c->path, part))
            return c;
    test_fail(__FILE__, __LINE__, "no open %s %s", method, part);
}

size_t toys_requests(struct toys *b, const char *method, const char *part)
{
    size_t count = 0;
    world_advance(&b->w, 0);
    for (struct world_call *c = b->w.calls; c; c = c->next)
        count += text_eq(c->method, method) && strstr(c->path, part);
    return count;
}

struct world_call *toys_await(struct toys *b, const char *method, const char *part, int seconds)
{
    while (!toys_requests(b, method, part) && seconds--)
        world_advance(&b->w, 1000);
    return toys_request(b, method, part);
}

void toys_event(struct world_call *watch, const char *type, struct json object)
{
    struct arena *a = test_arena();
    struct json line = json_fields(a, { "type", json_str(type) }, { "object", object });
    cleanup(buf_done) struct buf text = BUF_INIT(1 << 20);
    json_print(&text, line);
    buf_add_char(&text, '\n');
    world_bytes(watch, buf_str(&text));
}

struct json toys_object(struct toys *b, const struct resource *r, const char *name)
{
    struct arena *a = test_arena();
    return json_fields(a,
        { "apiVersion", json_str(resource_api_version(a, r)) },
        { "kind", json_str(r->kind) },
        { "metadata.name", json_str(name) },
        { "metadata.namespace", r->cluster_scoped ? json_none : json_str("ns") },
        { "metadata.uid", json_strf(a, "uid-%s-%s", r->plural, name) },
        { "metadata.generation", json_int(1) },
        { "metadata.resourceVersion", json_strf(a, "%d", ++b->version) });
}

struct json toys_widget(struct toys *b, const char *name, const char *spec)
{
    return json_with(test_arena(), toys_object(b, &TOYS_WIDGET, name), "spec", test_json(spec));
}

struct world_call *toys_load(
    struct toys *b, const struct resource *r, const struct json *objects, size_t count)
{
    struct arena *a = test_arena();
    const char *part = arena_printf(a, "/%s?watch=true", r->plural);
    struct world_call *c = toys_request(b, "GET", part);
    check(strstr(c->path, "sendInitialEvents=true") != NULL);
    world_head(c, 200);
    for (size_t i = 0; i < count; i++)
        toys_event(c, "ADDED", objects[i]);
    struct json end = json_fields(a,
        { "kind", json_str(r->kind) },
        { "apiVersion", json_str(resource_api_version(a, r)) },
        { "metadata.resourceVersion", json_strf(a, "%d", b->version) });
    end = json_with(a,
        end,
        "metadata.annotations",
        json_map(a, { "k8s.io/initial-events-end", json_str("true") }));
    toys_event(c, "BOOKMARK", end);
    return c;
}

const char *toys_status_text(int code, const char *reason)
{
    return arena_printf(test_arena(),
        "{'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'code': %d, 'reason': '%s',"
        " 'message': 'said so'}",
        code,
        reason);
}

struct json toys_store(
    struct toys *b, const struct world_call *c, const struct resource *r, bool status)
{
    struct arena *a = test_arena();
    struct json sent, live;
    struct error err;
    check(json_parse(a, str_of(c->body), &sent, &err));
    const struct fieldset *set;
    const struct schema *schema = schema_of(b->schemas, r->group, r->version, r->kind);
    check(merge_set_of(a, schema, sent, &set, &err));
    live = toys_object(b, r, json_get_text(sent, "metadata.name"));
    live = json_with(a, live, "status", json_get(sent, "status"));
    live = json_with(a, live, "data", json_get(sent, "data"));
    live =
        json_with(a, live, "metadata.ownerReferences", json_get(sent, "metadata.ownerReferences"));
    if (status)
        live = json_with(a, live, "spec", test_json(b->spec));
    struct json entry = json_fields(a,
        { "manager", json_str("leeboard") },
        { "operation", json_str("Apply") },
        { "apiVersion", json_get(sent, "apiVersion") },
        { "subresource", json_if(status, json_str("status")) },
        { "fieldsV1", fieldset_to_json(a, set) });
    return json_with(a, live, "metadata.managedFields", json_list(a, entry));
}

void toys_accept(struct toys *b, struct world_call *c, const struct resource *r, bool status)
{
    bool fresh = !json_present(json_get(toys_body(c), "metadata.resourceVersion"));
    world_answer(c, fresh ? 201 : 200, toys_print(toys_store(b, c, r, status)));
}

struct json toys_body(const struct world_call *c)
{
    struct json v;
    struct error err;
    check(json_parse(test_arena(), str_of(c->body), &v, &err));
    return v;
}

void toys_answer_openapi(struct toys *b, const char *status_fields)
{
    struct arena *a = test_arena();
    struct json gvk =
        test_json("[{'group': 'toys.example.com', 'version': 'v1', 'kind': 'Widget'}]");
    struct json schema =
        json_with_member(a, widget_schema(status_fields), "x-kubernetes-group-version-kind", gvk);
    struct json document = json_fields(a, { "components.schemas.widget", schema });
    world_answer(
        toys_request(b, "GET", "/openapi/v3/apis/toys.example.com/v1"), 200, toys_print(document));
}

struct json toys_crd(int generation)
{
    struct arena *a = test_arena();
    return json_fields(a,
        { "apiVersion", json_str("meta.k8s.io/v1") },
        { "kind", json_str("PartialObjectMetadata") },
        { "metadata.name", json_str("widgets.toys.example.com") },
        { "metadata.resourceVersion", json_strf(a, "%d", 100 + generation) },
        { "metadata.generation", json_int(generation) });
}

const char *toys_gone_text(const char *name)
{
    return arena_printf(test_arena(),
        "{'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'code': 404,"
        " 'reason': 'NotFound', 'message': 'not found', 'details': {'name': '%s'}}",
        name);
}

struct world_call *toys_settle(struct toys *b)
{
    struct json one = toys_widget(b, "a", "{'color': 'red'}");
    toys_load(b, &TOYS_WIDGET, &one, 1);
    struct world_call *watch = toys_load(b, &RESOURCE_CONFIG_MAP, NULL, 0);
    toys_load(b, &RESOURCE_PVC, NULL, 0);
    toys_accept(b, toys_request(b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    toys_accept(b, toys_request(b, "PATCH", "/widgets/a/status?"), &TOYS_WIDGET, true);
    return watch;
}

void toys_answer_gadget_schema(struct toys *b)
{
    world_answer(toys_request(b, "GET", "/openapi/v3/apis/tools.example.com/"),
        200,
        "{'components': {'schemas': {'gadget': {'type': 'object',"
        " 'x-kubernetes-group-version-kind':"
        " [{'group': 'tools.example.com', 'version': 'v1', 'kind': 'Gadget'}]}}}}");
}

struct json toys_taken(struct toys *b)
{
    struct arena *a = test_arena();
    struct json live = toys_object(b, &RESOURCE_CONFIG_MAP, "a");
    live = json_with(a, live, "data.color", json_str("taken"));
    live = json_with(a,
        live,
        "metadata.ownerReferences",
        test_json("[{'apiVersion': 'toys.example.com/v1', 'kind': 'Widget', 'name': 'a',"
                  " 'uid': 'uid-widgets-a', 'controller': true, 'blockOwnerDeletion': true}]"));
    return json_with(a,
        live,
        "metadata.managedFields",
        test_json("[{'manager': 'leeboard', 'operation': 'Apply', 'apiVersion': 'v1', 'fieldsV1':"
                  " {'f:metadata': {'f:ownerReferences': {'k:{\\\"uid\\\":\\\"uid-widgets-a\\\"}':"
                  " {}}}}}, {'manager': 'rival', 'operation': 'Update', 'apiVersion': 'v1',"
                  " 'fieldsV1': {'f:data': {'f:color': {}}}}]"));
}
