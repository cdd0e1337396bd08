/* What follows from a write that the disk refuses in the end: nothing. */

#include "tests/apiserver/desk.h"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define BOATS "/apis/sea.example.com/v1/namespaces/default/boats"
#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define SERVICES "/api/v1/namespaces/default/services"

struct moody {
    bool full;
};

static bool load(void *self, void (*row)(void *ctx, const struct store_row *row), void *ctx,
    uint64_t *since, uint64_t *last, struct error *err)
{
    (void)self, (void)row, (void)ctx, (void)since, (void)last, (void)err;
    return true;
}
static bool write_row(void *self, const struct store_row *row, struct error *err)
{
    (void)self, (void)row, (void)err;
    return true;
}
static bool commit(void *self, struct error *err)
{
    struct moody *m = self;
    return !m->full || fail(err, ERR_UNAVAILABLE, "disk is full");
}
static void rollback(void *self)
{
    (void)self;
}
static bool compact(void *self, uint64_t up_to, struct error *err)
{
    (void)self, (void)up_to, (void)err;
    return true;
}

static void begin(struct desk *d, struct store_disk *disk, struct moody *m)
{
    *disk = (struct store_disk){ load, write_row, commit, rollback, compact, m };
    desk_init_store(d, (struct apiserver_options){ 0 }, (struct store_options){ .disk = disk });
}

static const char boats[] =
    "{'metadata':{'name':'boats.sea.example.com'},'spec':{'group':'sea.example.com','scope':"
    "'Namespaced','names':{'plural':'boats','kind':'Boat'},'versions':[{'name':'v1','served':true,"
    "'storage':true,'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':"
    "'object','properties':{'crew':{'type':'integer'}}}}}}}]}}";

TEST(a_definition_whose_commit_failed_is_not_served_and_one_whose_deletion_failed_is)
{
    struct desk d;
    struct moody m = { 0 };
    struct store_disk disk;
    begin(&d, &disk, &m);
    m.full = true;
    check(desk_ask(&d, "POST", CRDS, boats).status >= 500);
    check_int(desk_ask(&d, "GET", BOATS, NULL).status, 404);
    check_int(desk_ask(&d, "GET", CRDS "/boats.sea.example.com", NULL).status, 404);
    m.full = false;
    desk_do(&d, "POST", CRDS, boats);
    check_int(desk_ask(&d, "GET", BOATS, NULL).status, 200);
    m.full = true;
    check(desk_ask(&d, "DELETE", CRDS "/boats.sea.example.com", NULL).status >= 500);
    check_int(desk_ask(&d, "GET", BOATS, NULL).status, 200);
    m.full = false;
    struct json boat = desk_do(&d,
        "POST",
        BOATS,
        "{'apiVersion':'sea.example.com/v1','kind':'Boat','metadata':{'name':'b'},'spec':"
        "{'crew':1}}");
    check_int(json_get_int(boat, "spec.crew", 0), 1);
    desk_done(&d);
}

TEST(dependents_and_addresses_are_known_after_a_failed_commit)
{
    struct desk d;
    struct moody m = { 0 };
    struct store_disk disk;
    begin(&d, &disk, &m);
    struct json owner = desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'owner'}}");
    desk_do(&d,
        "POST",
        CONFIG_MAPS,
        arena_printf(test_arena(),
            "{'metadata':{'name':'child','ownerReferences':[{'apiVersion':'v1','kind':"
            "'ConfigMap','name':'owner','uid':'%s'}]}}",
            json_get_text(owner, "metadata.uid")));
    static const char service[] = "{'metadata':{'name':'s'},'spec':{'clusterIP':'10.96.0.77',"
                                  "'ports':[{'port':80}]}}";
    m.full = true;
    check(desk_ask(&d, "DELETE", CONFIG_MAPS "/child", NULL).status >= 500);
    check(desk_ask(&d, "POST", SERVICES, service).status >= 500);
    m.full = false;
    desk_do(&d, "POST", SERVICES, service);
    desk_do(&d, "DELETE", CONFIG_MAPS "/owner", NULL);
    desk_settle(&d);
    check_int(desk_ask(&d, "GET", CONFIG_MAPS "/child", NULL).status, 404);
    desk_done(&d);
}
