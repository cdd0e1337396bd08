#include "engine/engine.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/resource.h"
#include "engine/kind.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kube/client.h"
#include "merge/fieldset.h"
#include "merge/merge.h"
#include "merge/schema.h"
#include "tests/kube/world.h"

/* ---- a kind: a ConfigMap of its own, a claim that all share ---- */

static const struct resource WIDGET = {
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
    .resource = &WIDGET,
    .watches = watches,
    .reconcile = reconcile,
};

/* Another: a gadget in the cluster's scope, a kind of somebody else's that may not be installed. */
static const struct resource GADGET = {
    .group = "tools.example.com",
    .version = "v1",
    .kind = "Gadget",
    .plural = "gadgets",
    .cluster_scoped = true,
};

static const struct kind_watch gadgets[] = {
    { .resource = &GADGET, .child = true, .optional = true, .keep = data },
    { 0 },
};

static void reconcile_gadget(const struct view *in, struct plan *out)
{
    struct arena *a = in->arena;
    struct json color = json_get(in->object, "spec.color");
    view_served(in, &GADGET);
    plan_child(out, &GADGET, json_fields(a, { "metadata.name", json_str(view_name(in)) }));
    struct view_trouble trouble = view_trouble(in, &GADGET, view_name(in));
    if (json_present(color))
        plan_status(out,
            json_fields(a, { "color", color }, { "trouble", json_str(trouble.message) }),
            NULL);
    plan_done(out);
}

static const struct kind gadget_kind = {
    .resource = &WIDGET,
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

#define ALL_FIELDS "'color': {'type': 'string'}, 'trouble': {'type': 'string'}"

/* ---- an engine, and a server that the test plays ---- */

struct bench {
    struct world w;
    struct kube_client *client;
    struct schemas *schemas;
    const struct kind *kinds[2];
    struct engine_family family;
    struct engine *engine;
    int version;      /* of the last object that the server stored */
    const char *spec; /* of the widget whose status it stores */
    bool follows;     /* the engine leads no more */
};

static bool may_write(void *ctx)
{
    return !((struct bench *)ctx)->follows;
}

static void bench_init_with(struct bench *b, const struct kind *kind)
{
    static const char *const predecessors[] = { "manager", NULL };
    *b = (struct bench){ .version = 10, .spec = "{'color': 'red'}", .kinds = { kind } };
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
        { "spec.group", json_str(WIDGET.group) },
        { "spec.names.kind", json_str(WIDGET.kind) },
        { "spec.versions",
            json_list(a,
                json_fields(a,
                    { "name", json_str("v1") },
                    { "schema.openAPIV3Schema", widget_schema(ALL_FIELDS) })) });
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

static void bench_init(struct bench *b)
{
    bench_init_with(b, &widget_kind);
}

static void bench_done(struct bench *b)
{
    engine_free(b->engine);
    kube_client_free(b->client);
    schemas_free(b->schemas);
    world_done(&b->w);
    log_setup(LOG_FORMAT_TEXT, LOG_LEVEL_INFO);
}

static const char *print(struct json v)
{
    return json_to_text(test_arena(), v);
}

/* The open request of this method whose path has this part; fails the test without one. */
static struct world_call *request(struct bench *b, const char *method, const char *part)
{
    world_advance(&b->w, 0);
    for (struct world_call *c = b->w.calls; c; c = c->next)
        if (text_eq(c->method, method) && strstr(c->path, part))
            return c;
    test_fail(__FILE__, __LINE__, "no open %s %s", method, part);
}

static size_t requests(struct bench *b, const char *method, const char *part)
{
    size_t count = 0;
    world_advance(&b->w, 0);
    for (struct world_call *c = b->w.calls; c; c = c->next)
        count += text_eq(c->method, method) && strstr(c->path, part);
    return count;
}

/* The same as request(), once it is sent, within so many seconds. */
static struct world_call *await(struct bench *b, const char *method, const char *part, int seconds)
{
    while (!requests(b, method, part) && seconds--)
        world_advance(&b->w, 1000);
    return request(b, method, part);
}

static void event(struct world_call *watch, const char *type, struct json object)
{
    struct arena *a = test_arena();
    struct json line = json_fields(a, { "type", json_str(type) }, { "object", object });
    cleanup(buf_done) struct buf text = BUF_INIT(1 << 20);
    json_print(&text, line);
    buf_add_char(&text, '\n');
    world_bytes(watch, buf_str(&text));
}

static struct json object_of(struct bench *b, const struct resource *r, const char *name)
{
    struct arena *a = test_arena();
    return json_fields(a,
        { "apiVersion", json_str(resource_api_version(a, r)) },
        { "kind", json_str(r->kind) },
        { "metadata.name", json_str(name) },
        { "metadata.namespace", r->cluster_scoped ? (struct json){ 0 } : json_str("ns") },
        { "metadata.uid", json_strf(a, "uid-%s-%s", r->plural, name) },
        { "metadata.generation", json_int(1) },
        { "metadata.resourceVersion", json_strf(a, "%d", ++b->version) });
}

static struct json widget(struct bench *b, const char *name, const char *spec)
{
    return json_with(test_arena(), object_of(b, &WIDGET, name), "spec", test_json(spec));
}

/* Ends the list of a resource with these objects; its watch goes on. */
static struct world_call *load(
    struct bench *b, const struct resource *r, const struct json *objects, size_t count)
{
    struct arena *a = test_arena();
    const char *part = arena_printf(a, "/%s?watch=true", r->plural);
    struct world_call *c = request(b, "GET", part);
    check(strstr(c->path, "sendInitialEvents=true") != NULL);
    world_head(c, 200);
    for (size_t i = 0; i < count; i++)
        event(c, "ADDED", objects[i]);
    struct json end = json_fields(a,
        { "kind", json_str(r->kind) },
        { "apiVersion", json_str(resource_api_version(a, r)) },
        { "metadata.resourceVersion", json_strf(a, "%d", b->version) });
    end = json_with(a,
        end,
        "metadata.annotations",
        json_map(a, { "k8s.io/initial-events-end", json_str("true") }));
    event(c, "BOOKMARK", end);
    return c;
}

static const char *status_text(int code, const char *reason)
{
    return arena_printf(test_arena(),
        "{'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'code': %d, 'reason': '%s',"
        " 'message': 'said so'}",
        code,
        reason);
}

/* As if applied: what was sent, with the identity and the field set that a server adds. */
static void accept(struct bench *b, struct world_call *c, const struct resource *r, bool status)
{
    struct arena *a = test_arena();
    struct json sent, live;
    struct error err;
    check(json_parse(a, str_of(c->body), &sent, &err));
    const struct fieldset *set;
    const struct schema *schema = schema_of(b->schemas, r->group, r->version, r->kind);
    check(merge_set_of(a, schema, sent, &set, &err));
    bool new = !json_present(json_get(sent, "metadata.resourceVersion"));
    live = object_of(b, r, json_get_text(sent, "metadata.name"));
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
        { "subresource", status ? json_str("status") : (struct json){ 0 } },
        { "fieldsV1", fieldset_to_json(a, set) });
    live = json_with(a, live, "metadata.managedFields", json_list(a, entry));
    world_answer(c, new ? 201 : 200, print(live));
}

static struct json body(const struct world_call *c)
{
    struct json v;
    struct error err;
    check(json_parse(test_arena(), str_of(c->body), &v, &err));
    return v;
}

static void answer_openapi(struct bench *b, const char *status_fields)
{
    struct arena *a = test_arena();
    struct json gvk =
        test_json("[{'group': 'toys.example.com', 'version': 'v1', 'kind': 'Widget'}]");
    struct json schema =
        json_with_member(a, widget_schema(status_fields), "x-kubernetes-group-version-kind", gvk);
    struct json document = json_fields(a, { "components.schemas.widget", schema });
    world_answer(request(b, "GET", "/openapi/v3/apis/toys.example.com/v1"), 200, print(document));
}

/* ---- tests ---- */

static struct json crd(int generation)
{
    struct arena *a = test_arena();
    return json_fields(a,
        { "apiVersion", json_str("meta.k8s.io/v1") },
        { "kind", json_str("PartialObjectMetadata") },
        { "metadata.name", json_str("widgets.toys.example.com") },
        { "metadata.resourceVersion", json_strf(a, "%d", 100 + generation) },
        { "metadata.generation", json_int(generation) });
}

TEST(a_crd_that_comes_late_is_served_as_soon_as_the_server_serves_it)
{
    struct bench b;
    bench_init(&b);
    struct error err;
    struct world_call *crds = load(&b, &RESOURCE_CRD, NULL, 0);
    const char *missing = status_text(404, "NotFound");
    world_answer(request(&b, "GET", "/widgets?"), 404, missing);
    check_fails(engine_ready(b.engine, &err), err, "widgets.toys.example.com is not installed");
    world_advance(&b.w, 4000);
    check_int(requests(&b, "GET", "/widgets?"), 0); /* nothing tells of it: no look so soon */

    event(crds, "ADDED", crd(1));
    world_answer(request(&b, "GET", "/widgets?"), 404, missing); /* made, not served yet */
    check_int(requests(&b, "GET", "/widgets?"), 0);
    world_advance(&b.w, 200);
    struct json one = widget(&b, "a", "{'color': 'red'}");
    load(&b, &WIDGET, &one, 1);
    load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    load(&b, &RESOURCE_PVC, NULL, 0);
    check(engine_ready(b.engine, &err));
    check_json(json_get(body(request(&b, "PATCH", "/configmaps/a?")), "data"), "{'color': 'red'}");
    bench_done(&b);
}

TEST(a_child_that_was_refused_is_told_of_and_no_more_when_it_was_accepted)
{
    struct bench b;
    bench_init(&b);
    struct json one = widget(&b, "a", "{'color': 'red'}");
    load(&b, &RESOURCE_CRD, NULL, 0);
    load(&b, &WIDGET, &one, 1);
    load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    load(&b, &RESOURCE_PVC, NULL, 0);
    answer_openapi(&b, ALL_FIELDS);
    world_answer(request(&b, "PATCH", "/configmaps/a?"), 422, status_text(422, "Invalid"));
    struct world_call *status = request(&b, "PATCH", "/widgets/a/status?");
    check(strstr(status->body, "said so") != NULL);
    accept(&b, status, &WIDGET, true);
    world_advance(&b.w, 100000);
    check_int(requests(&b, "PATCH", "/configmaps/a?"), 0); /* the same would be refused again */

    struct world_call *widgets = request(&b, "GET", "/widgets?");
    event(widgets, "MODIFIED", widget(&b, "a", "{'color': 'blue'}"));
    accept(&b, request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    status = request(&b, "PATCH", "/widgets/a/status?");
    check_json(json_get(body(status), "status"), "{'color': 'blue'}");
    accept(&b, status, &WIDGET, true);
    check_int(engine_counts(b.engine).self_check, 0);
    bench_done(&b);
}

TEST(a_shared_object_is_created_by_one_and_awaited_by_the_others)
{
    struct bench b;
    bench_init(&b);
    const char *spec = "{'color': 'red', 'shares': true}";
    struct json all[] = { widget(&b, "a", spec), widget(&b, "b", spec), widget(&b, "c", spec) };
    load(&b, &WIDGET, all, lengthof(all));
    load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    load(&b, &RESOURCE_PVC, NULL, 0);
    check_int(requests(&b, "POST", "/persistentvolumeclaims?"), 1);
    check_int(requests(&b, "PATCH", "/configmaps/"), 3);
    for (size_t i = 0; i < lengthof(all); i++)
        accept(&b, request(&b, "PATCH", "/configmaps/"), &RESOURCE_CONFIG_MAP, false);
    check_int(requests(&b, "PATCH", "/status?"), 0); /* all wait for the claim */

    /* Whoever creates it fails: the next one tries, and one alone. */
    world_answer(
        request(&b, "POST", "/persistentvolumeclaims?"), 403, status_text(403, "Forbidden"));
    check_int(requests(&b, "POST", "/persistentvolumeclaims?"), 1);
    struct json claim = object_of(&b, &RESOURCE_PVC, "store");
    world_answer(request(&b, "POST", "/persistentvolumeclaims?"), 201, print(claim));
    check_int(requests(&b, "POST", "/persistentvolumeclaims?"), 0);
    for (size_t i = 0; i < lengthof(all); i++)
        accept(&b, request(&b, "PATCH", "/status?"), &WIDGET, true);
    check_int(requests(&b, "PATCH", ""), 0);
    check_int(engine_counts(b.engine).created_twice, 0);
    bench_done(&b);
}

/* Found by the simulator, seed 44. */
TEST(a_list_that_is_older_than_our_own_write_does_not_forget_it)
{
    struct bench b;
    bench_init(&b);
    struct json one = widget(&b, "a", "{'color': 'red'}");
    load(&b, &WIDGET, &one, 1);
    int listed = b.version;
    struct world_call *watch = load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    load(&b, &RESOURCE_PVC, NULL, 0);
    accept(&b, request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    accept(&b, request(&b, "PATCH", "/widgets/a/status?"), &WIDGET, true);
    event(watch, "ERROR", test_json(status_text(410, "Expired")));
    world_advance(&b.w, 5000);
    b.version = listed; /* a cache that has not seen the write yet */
    load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    world_advance(&b.w, 5000);
    check_int(requests(&b, "PATCH", "/configmaps/a?"), 0);
    bench_done(&b);
}

/* What the server says of an object that it does not have. */
static const char *gone_text(const char *name)
{
    return arena_printf(test_arena(),
        "{'kind': 'Status', 'apiVersion': 'v1', 'status': 'Failure', 'code': 404,"
        " 'reason': 'NotFound', 'message': 'not found', 'details': {'name': '%s'}}",
        name);
}

/* A widget with its ConfigMap and a status; returns the watch of ConfigMaps. */
static struct world_call *settle(struct bench *b)
{
    struct json one = widget(b, "a", "{'color': 'red'}");
    load(b, &WIDGET, &one, 1);
    struct world_call *watch = load(b, &RESOURCE_CONFIG_MAP, NULL, 0);
    load(b, &RESOURCE_PVC, NULL, 0);
    accept(b, request(b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    accept(b, request(b, "PATCH", "/widgets/a/status?"), &WIDGET, true);
    return watch;
}

/* The ConfigMap as somebody else left it: our color is not ours any more. */
static struct json taken(struct bench *b)
{
    struct arena *a = test_arena();
    struct json live = object_of(b, &RESOURCE_CONFIG_MAP, "a");
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

/* Found by the simulator, seed 1212. */
TEST(writes_that_fail_are_no_fight)
{
    struct bench b;
    bench_init(&b);
    struct world_call *watch = settle(&b);
    event(watch, "MODIFIED", taken(&b));
    for (int i = 0; i < 8; i++) {
        struct world_call *c = await(&b, "PATCH", "/configmaps/a?", 300);
        world_answer(c, 429, status_text(429, "TooManyRequests"));
    }
    accept(&b, await(&b, "PATCH", "/configmaps/a?", 300), &RESOURCE_CONFIG_MAP, false);
    check_int(engine_counts(b.engine).contested, 0);
    bench_done(&b);
}

/* The widget's ConfigMap is fought over, and its status says so. */
static void fight(struct bench *b)
{
    struct world_call *watch = settle(b);
    for (int i = 0; i < 5; i++) {
        event(watch, "MODIFIED", taken(b));
        accept(b, request(b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    }
    struct json last = taken(b);
    event(watch, "MODIFIED", last);
    world_answer(request(b, "GET", "/configmaps/a"), 200, print(last));
    struct world_call *status = request(b, "PATCH", "/widgets/a/status?");
    check_text(json_get_text(body(status), "status.conditions.0.reason"), "FieldTaken");
    accept(b, status, &WIDGET, true);
    check_int(engine_counts(b->engine).contested, 1);
}

/* Found by the simulator, seeds 880476 and 900033. */
TEST(what_is_not_wanted_any_more_is_not_told_to_be_fought_over)
{
    struct bench b;
    bench_init(&b);
    fight(&b);
    struct world_call *widgets = request(&b, "GET", "/widgets?");
    event(widgets, "MODIFIED", widget(&b, "a", "{'color': 'red', 'waits': true}"));
    struct world_call *status = request(&b, "PATCH", "/widgets/a/status?");
    check(!json_present(json_get(body(status), "status.conditions")));
    bench_done(&b);
}

/* Found by the simulator, seed 1212. */
TEST(what_is_fought_over_is_tried_again_after_its_time_though_nobody_asks)
{
    struct bench b;
    bench_init(&b);
    fight(&b);
    world_advance(&b.w, 9 * 60000);
    check_int(requests(&b, "PATCH", "/configmaps/a?"), 0);
    await(&b, "PATCH", "/configmaps/a?", 180);
    bench_done(&b);
}

/* Found by the simulator, seed 900361. */
TEST(who_deletes_a_child_again_and_again_is_given_way_to_though_no_status_can_tell_it)
{
    struct bench b;
    bench_init(&b);
    struct json one = widget(&b, "a", "{'color': 'red'}");
    load(&b, &WIDGET, &one, 1);
    struct world_call *watch = load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    load(&b, &RESOURCE_PVC, NULL, 0);
    int made = 0;
    for (int i = 0; i < 300; i++, world_advance(&b.w, 1000)) {
        if (requests(&b, "PATCH", "/configmaps/a?")) {
            made++;
            accept(&b, request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
            event(watch, "DELETED", object_of(&b, &RESOURCE_CONFIG_MAP, "a"));
        }
        if (requests(&b, "PATCH", "/status?"))
            world_answer(request(&b, "PATCH", "/status?"), 500, status_text(500, "InternalError"));
        if (requests(&b, "GET", "/widgets/a"))
            world_answer(request(&b, "GET", "/widgets/a"), 200, print(one));
    }
    check_int(engine_counts(b.engine).contested, 1);
    check(made <= 22);
    bench_done(&b);
}

/* Found by the simulator, seed 901263. */
TEST(a_refused_object_that_somebody_else_made_is_no_trouble_any_more)
{
    struct bench b;
    bench_init(&b);
    struct json one = widget(&b, "a", "{'color': 'red', 'shares': true, 'frank': true}");
    load(&b, &WIDGET, &one, 1);
    load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    struct world_call *claims = load(&b, &RESOURCE_PVC, NULL, 0);
    accept(&b, request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    world_answer(
        request(&b, "POST", "/persistentvolumeclaims?"), 403, status_text(403, "Forbidden"));
    struct world_call *status = request(&b, "PATCH", "/widgets/a/status?");
    check(strstr(json_get_text(body(status), "status.trouble"), "said so") != NULL);
    world_answer(status,
        200,
        print(json_with(test_arena(),
            one,
            "metadata.resourceVersion",
            json_strf(test_arena(), "%d", ++b.version))));
    event(claims, "ADDED", object_of(&b, &RESOURCE_PVC, "store"));
    status = request(&b, "PATCH", "/widgets/a/status?");
    check_json(json_get(body(status), "status"), "{'color': 'red'}");
    bench_done(&b);
}

/* Found by the simulator, seeds 123, 259 and 271. */
TEST(for_an_object_that_the_server_has_not_nothing_is_made_whatever_the_watch_says)
{
    struct bench b;
    bench_init(&b);
    struct world_call *watch = settle(&b);
    struct world_call *widgets = request(&b, "GET", "/widgets?");
    event(widgets, "MODIFIED", widget(&b, "a", "{'color': 'blue'}")); /* its last word */
    accept(&b, request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    world_answer(request(&b, "PATCH", "/widgets/a/status?"), 409, status_text(409, "Conflict"));
    world_answer(request(&b, "GET", "/widgets/a"), 404, gone_text("a"));
    event(watch, "DELETED", object_of(&b, &RESOURCE_CONFIG_MAP, "a"));
    for (int i = 0; i < 60; i++, world_advance(&b.w, 1000))
        check_int(requests(&b, "PATCH", ""), 0);
    bench_done(&b);
}

/* Its watch is behind: that says when it is gone, and what came after it. */
TEST(an_object_that_is_gone_when_its_status_comes_is_waited_for_in_silence)
{
    struct bench b;
    bench_init(&b);
    settle(&b);
    struct world_call *widgets = request(&b, "GET", "/widgets?");
    struct json last = widget(&b, "a", "{'color': 'blue'}");
    event(widgets, "MODIFIED", last);
    accept(&b, request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    world_answer(request(&b, "PATCH", "/widgets/a/status?"), 404, gone_text("a"));
    for (int i = 0; i < 60; i++, world_advance(&b.w, 1000))
        check_int(requests(&b, "PATCH", "") + requests(&b, "GET", "/widgets/a"), 0);
    check_int(engine_counts(b.engine).refused, 0);
    event(widgets, "DELETED", last);
    struct json next = widget(&b, "a", "{'color': 'green', 'waits': true}");
    event(widgets,
        "ADDED",
        json_with(test_arena(), next, "metadata.uid", json_str("uid-of-another")));
    check_json(
        json_get(body(request(&b, "PATCH", "/widgets/a/status?")), "status"), "{'color': 'green'}");
    bench_done(&b);
}

/* Found by the simulator, seed 950141; only the sanitizer sees it for sure. */
TEST(who_leads_no_more_when_it_may_take_over_is_through_with_that)
{
    struct bench b;
    bench_init(&b);
    struct json one = widget(&b, "a", "{'color': 'red', 'shares': true}");
    struct json of_predecessor = json_with(test_arena(),
        taken(&b),
        "metadata.managedFields",
        test_json("[{'manager': 'manager', 'operation': 'Update', 'apiVersion': 'v1',"
                  " 'fieldsV1': {'f:data': {'f:color': {}}}}]"));
    load(&b, &WIDGET, &one, 1);
    load(&b, &RESOURCE_CONFIG_MAP, &of_predecessor, 1);
    load(&b, &RESOURCE_PVC, NULL, 0);
    check_int(requests(&b, "POST", "/persistentvolumeclaims?"), 1);
    b.follows = true;
    world_answer(request(&b, "GET", "/configmaps/a"), 200, print(of_predecessor));
    check_int(requests(&b, "PATCH", ""), 0);
    bench_done(&b); /* ends what is under way: the claim, and nothing else */
}

/* Found by the simulator, seed 511. */
TEST(an_engine_that_ends_starts_nothing_for_those_who_waited_for_one_another)
{
    struct bench b;
    bench_init(&b);
    const char *spec = "{'color': 'red', 'shares': true}";
    struct json all[8];
    for (size_t n = 0; n < lengthof(all); n++)
        all[n] = widget(&b, arena_printf(test_arena(), "w%zu", n), spec);
    load(&b, &WIDGET, all, lengthof(all));
    load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    struct world_call *claims = load(&b, &RESOURCE_PVC, NULL, 0);
    for (size_t n = 0; n < lengthof(all); n++)
        accept(&b, request(&b, "PATCH", "/configmaps/"), &RESOURCE_CONFIG_MAP, false);
    check_int(requests(&b, "POST", "/persistentvolumeclaims?"), 1);
    event(claims, "ADDED", object_of(&b, &RESOURCE_PVC, "store")); /* before the answer */
    check_int(requests(&b, "PATCH", ""), 0);
    unsigned opened = b.w.opened;
    engine_free(take(b.engine));
    check_int(b.w.opened, opened);
    bench_done(&b);
}

TEST(what_an_older_crd_does_not_declare_is_left_out_until_it_does)
{
    struct bench b;
    bench_init(&b);
    struct world_call *crds = load(&b, &RESOURCE_CRD, NULL, 0);
    event(crds, "ADDED", crd(1));
    load(&b, &WIDGET, NULL, 0);
    load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    load(&b, &RESOURCE_PVC, NULL, 0);
    answer_openapi(&b, "'trouble': {'type': 'string'}");
    struct world_call *widgets = request(&b, "GET", "/widgets?");
    event(widgets, "ADDED", widget(&b, "a", "{'color': 'red'}"));
    accept(&b, request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    struct world_call *status = request(&b, "PATCH", "/widgets/a/status?");
    struct json told = json_get(body(status), "status");
    check(!json_present(json_get(told, "color")));
    check_text(json_get_text(told, "conditions.0.type"), "CRDOutdated");
    check(strstr(json_get_text(told, "conditions.0.message"), "lacks status.color;") != NULL);
    accept(&b, status, &WIDGET, true);
    check_int(requests(&b, "PATCH", ""), 0);

    /* A new CRD: its document is asked for, and the whole status written. */
    event(crds, "MODIFIED", crd(1)); /* its own status only */
    world_advance(&b.w, 10000);
    check_int(requests(&b, "GET", "/openapi/"), 0);
    event(crds, "MODIFIED", crd(2));
    world_advance(&b.w, 2000);
    answer_openapi(&b, ALL_FIELDS);
    status = request(&b, "PATCH", "/widgets/a/status?");
    check_json(json_get(body(status), "status"), "{'color': 'red'}");
    accept(&b, status, &WIDGET, true);
    check_int(engine_counts(b.engine).refused, 0);
    bench_done(&b);
}

TEST(a_status_that_is_refused_makes_us_look_at_the_crd_again)
{
    struct bench b;
    bench_init(&b);
    struct json one = widget(&b, "a", "{'color': 'red'}");
    load(&b, &WIDGET, &one, 1);
    load(&b, &RESOURCE_CONFIG_MAP, NULL, 0);
    load(&b, &RESOURCE_PVC, NULL, 0);
    world_answer(request(&b, "GET", "/openapi/"), 503, status_text(503, "ServiceUnavailable"));
    world_answer(
        request(&b, "GET", "/customresourcedefinitions?"), 403, status_text(403, "Forbidden"));
    accept(&b, request(&b, "PATCH", "/configmaps/a?"), &RESOURCE_CONFIG_MAP, false);
    world_answer(request(&b, "PATCH", "/widgets/a/status?"), 400, status_text(400, "BadRequest"));
    world_advance(&b.w, 2000);
    answer_openapi(&b, "'trouble': {'type': 'string'}");
    struct world_call *status = request(&b, "PATCH", "/widgets/a/status?");
    check(!json_present(json_get(body(status), "status.color")));
    accept(&b, status, &WIDGET, true);
    check_int(requests(&b, "PATCH", ""), 0);
    bench_done(&b);
}

static void answer_gadget_schema(struct bench *b)
{
    world_answer(request(b, "GET", "/openapi/v3/apis/tools.example.com/"),
        200,
        "{'components': {'schemas': {'gadget': {'type': 'object',"
        " 'x-kubernetes-group-version-kind':"
        " [{'group': 'tools.example.com', 'version': 'v1', 'kind': 'Gadget'}]}}}}");
}

/* Found by the simulator, seed 880172. */
TEST(of_a_kind_that_came_during_a_run_nothing_is_written_before_it_is_loaded)
{
    struct bench b;
    bench_init_with(&b, &gadget_kind);
    struct world_call *crds = load(&b, &RESOURCE_CRD, NULL, 0);
    struct json one = widget(&b, "a", "{}");
    load(&b, &WIDGET, &one, 1);
    world_answer(request(&b, "GET", "/gadgets?"), 404, status_text(404, "NotFound"));
    struct world_call *finalizer = request(&b, "PATCH", "/widgets/a?");

    struct json came =
        json_with(test_arena(), crd(1), "metadata.name", json_str("gadgets.tools.example.com"));
    event(crds, "ADDED", came);
    world_break(request(&b, "GET", "/gadgets?"), ERR_UNAVAILABLE, true); /* there, not loaded */
    one = widget(&b, "a", "{}");
    one = json_with(
        test_arena(), one, "metadata.finalizers", test_json("['toys.example.com/gadget']"));
    world_answer(finalizer, 200, print(one));
    check_int(requests(&b, "PATCH", "/gadgets/"), 0);

    await(&b, "GET", "/gadgets?", 60);
    load(&b, &GADGET, NULL, 0);
    answer_gadget_schema(&b);
    check_int(requests(&b, "PATCH", "/gadgets/"), 0);
    load(&b, &GADGET, NULL, 0);
    accept(&b, request(&b, "PATCH", "/gadgets/a?"), &GADGET, false);
    check_int(engine_counts(b.engine).self_check, 0);

    /* A new schema: what is read anew is not gone meanwhile. */
    event(crds, "MODIFIED", json_with(test_arena(), came, "metadata.generation", json_int(2)));
    world_advance(&b.w, 2000);
    answer_gadget_schema(&b);
    for (int i = 0; i < 20; i++, world_advance(&b.w, 1000))
        check_int(requests(&b, "PATCH", "/gadgets/"), 0);
    bench_done(&b);
}

/* Found by the simulator, seed 880403. */
TEST(a_child_in_the_clusters_scope_goes_when_its_owner_is_gone_and_not_before)
{
    struct bench b;
    bench_init_with(&b, &gadget_kind);
    struct json left = object_of(&b, &GADGET, "a");
    struct json mark =
        json_map(test_arena(), { "leeboard.dev/owner", json_str("Widget.toys.example.com/ns/a") });
    left = json_with(test_arena(), left, "metadata.annotations", mark);
    left = json_with(test_arena(),
        left,
        "metadata.managedFields",
        test_json("[{'manager': 'leeboard', 'operation': 'Apply', 'fieldsType': 'FieldsV1',"
                  " 'apiVersion': 'tools.example.com/v1', 'fieldsV1': {'f:metadata':"
                  " {'f:annotations': {'f:leeboard.dev/owner': {}}}}}]"));
    load(&b, &WIDGET, NULL, 0);
    load(&b, &GADGET, &left, 1);
    answer_gadget_schema(&b);
    load(&b, &GADGET, &left, 1);

    /* The watch of widgets is behind. */
    world_answer(request(&b, "GET", "/widgets/a"), 200, print(widget(&b, "a", "{}")));
    check_int(requests(&b, "DELETE", "/gadgets/"), 0);
    world_answer(await(&b, "GET", "/widgets/a", 60), 503, status_text(503, "ServiceUnavailable"));
    check_int(requests(&b, "DELETE", "/gadgets/"), 0);
    world_answer(await(&b, "GET", "/widgets/a", 60), 404, gone_text("a"));
    struct world_call *goes = request(&b, "DELETE", "/gadgets/a");
    check_text(json_get_text(body(goes), "preconditions.uid"), "uid-gadgets-a");
    world_answer(goes, 200, "{'kind': 'Status', 'apiVersion': 'v1', 'status': 'Success'}");
    world_advance(&b.w, 10 * 60000);
    check_int(requests(&b, "GET", "/widgets/a") + requests(&b, "DELETE", ""), 0);
    bench_done(&b);
}

/* Found by the simulator, seed 902209. */
TEST(a_refusal_that_comes_after_the_kind_went_is_no_trouble)
{
    struct bench b;
    bench_init_with(&b, &gadget_kind);
    struct json one = widget(&b, "a", "{'color': 'red'}");
    one = json_with(
        test_arena(), one, "metadata.finalizers", test_json("['toys.example.com/gadget']"));
    load(&b, &WIDGET, &one, 1);
    load(&b, &GADGET, NULL, 0);
    answer_gadget_schema(&b);
    struct world_call *watch = load(&b, &GADGET, NULL, 0);
    struct world_call *create = request(&b, "PATCH", "/gadgets/a?");
    world_end(watch);
    const char *missing = status_text(404, "NotFound");
    for (int i = 0; i < 2; i++)
        world_answer(await(&b, "GET", "/gadgets?", 20), 404, missing);
    world_answer(create, 404, missing);
    struct json told = body(request(&b, "PATCH", "/widgets/a/status?"));
    check_json(json_get(told, "status"), "{'color': 'red'}");
    bench_done(&b);
}
