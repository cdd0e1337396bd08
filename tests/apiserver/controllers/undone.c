#include "tests/apiserver/desk.h"

#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define BOATS "/apis/sea.example.com/v1/namespaces/default/boats"
#define SERVICES "/api/v1/namespaces/default/services"

/* Takes everything until it is full. */
struct full_disk {
    struct store_disk disk;
    int64_t commits_left; /* negative: without end */
};

static bool load(void *self, void (*row)(void *ctx, const struct store_row *row), void *ctx,
    uint64_t *since, uint64_t *last, struct error *err)
{
    (void)self, (void)row, (void)ctx, (void)err;
    *since = *last = 1;
    return true;
}

static bool write(void *self, const struct store_row *row, struct error *err)
{
    (void)self, (void)row, (void)err;
    return true;
}

static bool commit(void *self, struct error *err)
{
    struct full_disk *d = self;
    if (d->commits_left == 0)
        return fail(err, ERR_UNAVAILABLE, "disk is full");
    d->commits_left -= d->commits_left > 0;
    return true;
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

static void make_disk(struct full_disk *disk)
{
    *disk = (struct full_disk){ .commits_left = -1 };
    disk->disk = (struct store_disk){ load, write, commit, rollback, compact, disk };
}

static void start_builtin(struct desk *d, struct full_disk *disk)
{
    make_disk(disk);
    desk_init_store(
        d, (struct apiserver_options){ 0 }, (struct store_options){ .disk = &disk->disk });
}

static void start(struct desk *d, struct full_disk *disk)
{
    make_disk(disk);
    desk_init_with(
        d, (struct apiserver_options){ 0 }, (struct store_options){ .disk = &disk->disk });
}

static int status_of(struct desk *d, const char *path)
{
    return desk_ask(d, "GET", path, NULL).status;
}

TEST(gc_tries_again_what_the_disk_refused)
{
    struct desk d;
    struct full_disk disk;
    start(&d, &disk);
    struct json owner = desk_do(&d, "POST", CONFIG_MAPS, "{'metadata':{'name':'owner'}}");
    desk_do(&d,
        "POST",
        CONFIG_MAPS,
        arena_printf(test_arena(),
            "{'metadata':{'name':'child','ownerReferences':"
            "[{'apiVersion':'v1','kind':'ConfigMap','name':'owner','uid':'%s'}]}}",
            json_get_text(owner, "metadata.uid")));
    disk.commits_left = 1; /* the owner's end, but not that of the child */
    check_int(desk_ask(&d, "DELETE", CONFIG_MAPS "/owner", NULL).status, 200);
    check_int(status_of(&d, CONFIG_MAPS "/child"), 200);
    desk_advance(&d, 10000);
    check_int(status_of(&d, CONFIG_MAPS "/child"), 200);
    disk.commits_left = -1;
    desk_advance(&d, 2000);
    check_int(status_of(&d, CONFIG_MAPS "/child"), 404);
    desk_done(&d);
}

TEST(a_crd_that_the_disk_refused_is_not_served)
{
    static const char crd[] =
        "{'metadata':{'name':'toys.example.com'},'spec':{'group':'example.com','scope':'Namespaced'"
        ","
        "'names':{'plural':'toys','singular':'toy','kind':'Toy','listKind':'ToyList'},"
        "'versions':[{'name':'v1','served':true,'storage':true,'schema':{'openAPIV3Schema':"
        "{'type':'object'}}}]}}";
    static const char toys[] = "/apis/example.com/v1/toys";
    struct desk d;
    struct full_disk disk;
    start(&d, &disk);
    disk.commits_left = 1; /* stored, but not established */
    check_int(desk_ask(&d, "POST", CRDS, crd).status, 201);
    check_int(status_of(&d, toys), 404);
    disk.commits_left = -1;
    desk_advance(&d, 2000);
    check_int(status_of(&d, toys), 200);
    disk.commits_left = 0;
    check_int(desk_ask(&d, "DELETE", CRDS "/toys.example.com", NULL).status, 500);
    check_int(status_of(&d, toys), 200);
    disk.commits_left = 1; /* marked, but not gone */
    check_int(desk_ask(&d, "DELETE", CRDS "/toys.example.com", NULL).status, 200);
    disk.commits_left = -1;
    desk_advance(&d, 2000);
    check_int(status_of(&d, toys), 404);
    check_int(desk_ask(&d, "POST", CRDS, crd).status, 201);
    check_int(status_of(&d, toys), 200);
    desk_done(&d);
}

static const char boats[] =
    "{'metadata':{'name':'boats.sea.example.com'},'spec':{'group':'sea.example.com','scope':"
    "'Namespaced','names':{'plural':'boats','kind':'Boat'},'versions':[{'name':'v1','served':true,"
    "'storage':true,'schema':{'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':"
    "'object','properties':{'crew':{'type':'integer'}}}}}}}]}}";

TEST(a_definition_whose_commit_failed_is_not_served_and_one_whose_deletion_failed_is)
{
    struct desk d;
    struct full_disk disk;
    start_builtin(&d, &disk);
    disk.commits_left = 0;
    check(desk_ask(&d, "POST", CRDS, boats).status >= 500);
    check_int(desk_ask(&d, "GET", BOATS, NULL).status, 404);
    check_int(desk_ask(&d, "GET", CRDS "/boats.sea.example.com", NULL).status, 404);
    disk.commits_left = -1;
    desk_advance(&d, 2000); /* the server's controllers rest a while after a refusal */
    desk_do(&d, "POST", CRDS, boats);
    check_int(desk_ask(&d, "GET", BOATS, NULL).status, 200);
    disk.commits_left = 0;
    check(desk_ask(&d, "DELETE", CRDS "/boats.sea.example.com", NULL).status >= 500);
    check_int(desk_ask(&d, "GET", BOATS, NULL).status, 200);
    disk.commits_left = -1;
    desk_advance(&d, 2000); /* the server's controllers rest a while after a refusal */
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
    struct full_disk disk;
    start_builtin(&d, &disk);
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
    disk.commits_left = 0;
    check(desk_ask(&d, "DELETE", CONFIG_MAPS "/child", NULL).status >= 500);
    check(desk_ask(&d, "POST", SERVICES, service).status >= 500);
    disk.commits_left = -1;
    desk_advance(&d, 2000); /* the server's controllers rest a while after a refusal */
    desk_do(&d, "POST", SERVICES, service);
    desk_do(&d, "DELETE", CONFIG_MAPS "/owner", NULL);
    desk_settle(&d);
    check_int(desk_ask(&d, "GET", CONFIG_MAPS "/child", NULL).status, 404);
    desk_done(&d);
}
