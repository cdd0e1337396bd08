#include "engine/cache.h"
#include "base/resource.h"
#include "engine/kind.h"
#include "kube/stream.h"
#include "merge/schema.h"
#include "tests/test.h"

static const char *const keep[] = { "metadata.labels", "status.phase", NULL };
static const struct kind_watch pods = {
    .resource = &RESOURCE_POD,
    .keep = keep,
    .index_label = "app",
};

static struct json pod(const char *name, int version, const char *app, const char *phase)
{
    struct arena *a = test_arena();
    return json_fields(a,
        { "metadata.name", json_str(name) },
        { "metadata.namespace", json_str("ns") },
        { "metadata.uid", json_strf(a, "uid-%s", name) },
        { "metadata.resourceVersion", json_strf(a, "%d", version) },
        { "metadata.labels", json_map(a, { "app", json_str(app) }) },
        { "spec.nodeName", json_str("not kept") },
        { "status.phase", json_str(phase) });
}

static enum cache_change put(struct cache_resource *r, struct json object, enum cache_origin origin)
{
    struct cache_entry *entry;
    return cache_put(r, object, origin, &entry);
}

TEST(the_cache_keeps_what_kinds_read_and_tells_what_changed)
{
    struct cache c;
    cache_init(&c, "leeboard", NULL, 1, 2);
    struct cache_resource *r = cache_watch(&c, &pods);
    check_int(put(r, pod("a", 5, "x", "Pending"), CACHE_FROM_WATCH), CACHE_NEW);
    check_int(put(r, pod("a", 6, "x", "Pending"), CACHE_FROM_WATCH), CACHE_SAME);
    check_int(put(r, pod("a", 7, "y", "Running"), CACHE_FROM_WATCH), CACHE_CHANGED);
    check_int(put(r, pod("a", 6, "x", "Pending"), CACHE_FROM_WATCH), CACHE_SAME); /* older */
    check_json(cache_read(test_arena(), cache_find(r, "ns", "a")),
        "{'metadata': {'name': 'a', 'namespace': 'ns', 'uid': 'uid-a', 'labels': {'app': 'y'}},"
        " 'status': {'phase': 'Running'}}");
    size_t count;
    cache_list(test_arena(), r, "ns", "x", &count);
    check_int(count, 0);
    cache_list(test_arena(), r, "ns", "y", &count);
    check_int(count, 1);
    cache_list(test_arena(), r, "other", NULL, &count);
    check_int(count, 0);
    cache_done(&c);
}

TEST(an_answer_counts_only_while_the_watch_is_behind_it)
{
    struct cache c;
    cache_init(&c, "leeboard", NULL, 1, 2);
    struct cache_resource *r = cache_watch(&c, &pods);
    /* Our write's answer arrives before the watch has got there: it counts. */
    r->version = 10;
    check_int(put(r, pod("a", 11, "x", "Pending"), CACHE_FROM_ANSWER), CACHE_NEW);
    /* The watch has passed: what it said since then, a deletion perhaps, is newer. */
    r->version = 20;
    check_int(put(r, pod("b", 15, "x", "Pending"), CACHE_FROM_ANSWER), CACHE_SAME);
    check(!cache_find(r, "ns", "b"));
    /* It is past an answer and has the object as it was before: an event was lost. */
    check_int(put(r, pod("a", 16, "x", "Running"), CACHE_FROM_ANSWER), CACHE_CHANGED);
    /* Or has its predecessor of the same name. */
    struct json another = pod("a", 17, "x", "Running");
    another = json_with(test_arena(), another, "metadata.uid", json_str("uid-other"));
    check_int(put(r, another, CACHE_FROM_ANSWER), CACHE_CHANGED);
    check_text(cache_find(r, "ns", "a")->uid, "uid-other");
    cache_done(&c);
}

TEST(what_is_there_in_the_same_version_or_a_later_one_is_known)
{
    static const struct {
        struct stream_identity id;
        bool known;
    } rows[] = {
        { { .ns = "ns", .name = "a", .version = "4" }, true },
        { { .ns = "ns", .name = "a", .version = "5" }, true },
        { { .ns = "ns", .name = "a", .version = "6" }, false },
        { { .ns = "ns", .name = "a", .version = "x" }, false },
        { { .ns = "ns", .name = "b", .version = "5" }, false },
        { { .ns = "other", .name = "a", .version = "5" }, false },
        { { .name = "a", .version = "5" }, false },
    };
    struct cache c;
    uint64_t version;
    cache_init(&c, "leeboard", NULL, 1, 2);
    struct cache_resource *r = cache_watch(&c, &pods);
    put(r, pod("a", 5, "x", "Pending"), CACHE_FROM_WATCH);
    for (size_t i = 0; i < lengthof(rows); i++)
        check_int(cache_known(r, &rows[i].id, &version) != NULL, rows[i].known);
    cache_done(&c);
}

TEST(a_late_event_does_not_bring_back_what_an_answer_told_to_be_gone)
{
    struct cache c;
    cache_init(&c, "leeboard", NULL, 1, 2);
    struct cache_resource *r = cache_watch(&c, &pods);
    put(r, pod("a", 11, "x", "Pending"), CACHE_FROM_ANSWER);
    cache_bury(cache_find(r, "ns", "a"));
    cache_delete(r, cache_find(r, "ns", "a"));
    check_int(put(r, pod("a", 9, "x", "Pending"), CACHE_FROM_WATCH), CACHE_SAME);
    check_int(put(r, pod("a", 12, "x", "Running"), CACHE_FROM_ANSWER), CACHE_SAME);
    check(!cache_find(r, "ns", "a"));
    /* A list from before it was made says nothing about it, one that has it neither. */
    r->round++;
    cache_graves_clear(r, 8);
    put(r, pod("a", 11, "x", "Pending"), CACHE_FROM_WATCH);
    cache_graves_clear(r, 11);
    check(r->graves && !cache_find(r, "ns", "a"));
    /* A successor is another object, and a list without it ends the matter. */
    struct json next =
        json_with(test_arena(), pod("a", 14, "x", "Pending"), "metadata.uid", json_str("next"));
    check_int(put(r, next, CACHE_FROM_WATCH), CACHE_NEW);
    r->round++;
    cache_graves_clear(r, 15);
    check(!r->graves);
    cache_bury(cache_find(r, "ns", "a"));
    cache_grave_done(r, "another");
    check(r->graves);
    cache_grave_done(r, "next");
    check(!r->graves);
    cache_done(&c);
}

TEST(watches_of_several_kinds_on_one_resource_are_united)
{
    struct cache c;
    cache_init(&c, "leeboard", NULL, 1, 2);
    static const char *const more[] = { "status", "spec.nodeName", NULL };
    struct kind_watch other = { .resource = &RESOURCE_POD, .keep = more, .label_selector = "app" };
    struct cache_resource *r = cache_watch(&c, &pods);
    check(cache_watch(&c, &other) == r);
    check(!r->label_selector);   /* the other kind wants all of them */
    check_int(r->keep_count, 3); /* status takes status.phase with it */
    cache_done(&c);
}

TEST(the_cache_knows_children_by_the_uid_of_their_controller)
{
    struct cache c;
    cache_init(&c, "leeboard", NULL, 1, 2);
    static const struct kind_watch services = { .resource = &RESOURCE_SERVICE, .child = true };
    struct cache_resource *r = cache_watch(&c, &services);
    struct schemas *schemas = schemas_new();
    r->schema = schema_of(schemas, "", "v1", "Service");
    r->subresource = "";
    struct json ours = test_json(
        "{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 's', 'namespace': 'ns',"
        " 'uid': 'u', 'resourceVersion': '3', 'labels': {'a': '1', 'b': '2'},"
        " 'ownerReferences': [{'uid': 'plain'}, {'uid': 'parent', 'controller': true}],"
        " 'managedFields': [{'manager': 'leeboard', 'operation': 'Apply', 'apiVersion': 'v1',"
        " 'fieldsType': 'FieldsV1', 'fieldsV1': {'f:metadata': {'f:labels': {'f:a': {}}}}}]}}");
    check_int(put(r, ours, CACHE_FROM_WATCH), CACHE_NEW);
    size_t count;
    struct cache_entry **children = cache_children(test_arena(), &c, "parent", &count);
    check_int(count, 1);
    check_json(cache_read_owned(test_arena(), children[0]), "{'metadata': {'labels': {'a': '1'}}}");
    check(children[0]->exact && !children[0]->upstream);
    cache_children(test_arena(), &c, "plain", &count);
    check_int(count, 0);
    cache_done(&c);
    schemas_free(schemas);
}
