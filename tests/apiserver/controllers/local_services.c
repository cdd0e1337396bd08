#include "apiserver/controllers/local_services.h"

#include "tests/apiserver/desk.h"

#define SERVICES "/apis/apiregistration.k8s.io/v1/apiservices"
#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

static const char definition[] =
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{'name':"
    "'things.example.com'},'spec':{'group':'example.com','scope':'Cluster','names':{'plural':"
    "'things','singular':'thing','kind':'Thing','listKind':'ThingList'},'versions':[{'name':'v1',"
    "'served':true,'storage':true,'schema':{'openAPIV3Schema':{'type':'object'}}}]}}";

static int status_of(struct desk *r, const char *name)
{
    desk_settle(r);
    return desk_ask(r, "GET", arena_printf(test_arena(), SERVICES "/%s", name), NULL).status;
}

TEST(a_custom_group_has_an_api_service_as_long_as_it_is_defined)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ .allow_all = true });
    check_int(status_of(&r, "v1.example.com"), 404);
    desk_do(&r, "POST", DEFINITIONS, definition);
    check_int(status_of(&r, "v1.example.com"), 200);
    struct json o = desk_do(&r, "GET", SERVICES "/v1.example.com", NULL);
    check_text(json_get_text(o, "status.conditions.0.reason"), "Local");
    /* Who deletes it gets another. */
    desk_do(&r, "DELETE", SERVICES "/v1.example.com", NULL);
    check_int(status_of(&r, "v1.example.com"), 200);
    desk_do(&r, "DELETE", DEFINITIONS "/things.example.com", NULL);
    check_int(status_of(&r, "v1.example.com"), 404);
    check_int(status_of(&r, "v1.apps"), 200);
    desk_done(&r);
}

TEST(an_api_service_of_somebody_else_stays)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ .allow_all = true });
    desk_do(&r,
        "POST",
        SERVICES,
        "{'apiVersion':'apiregistration.k8s.io/v1','kind':'APIService','metadata':{'name':"
        "'v1.example.com'},'spec':{'group':'example.com','version':'v1','groupPriorityMinimum':7,"
        "'versionPriority':7}}");
    desk_do(&r, "POST", DEFINITIONS, definition);
    desk_do(&r, "DELETE", DEFINITIONS "/things.example.com", NULL);
    check_int(status_of(&r, "v1.example.com"), 200);
    struct json o = desk_do(&r, "GET", SERVICES "/v1.example.com", NULL);
    check_int(json_get_int(o, "spec.versionPriority", 0), 7);
    desk_done(&r);
}
