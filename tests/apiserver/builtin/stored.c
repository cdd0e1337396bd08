#include "tests/apiserver/desk.h"

/* Kinds that are stored and that nothing here acts on. */

static const struct {
    const char *path, *kind, *spec;
} objects[] = {
    { "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
        "FlowSchema",
        "{'matchingPrecedence':7,'priorityLevelConfiguration':{'name':'none'}}" },
    { "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
        "PriorityLevelConfiguration",
        "{'type':'Limited'}" },
    { "/apis/resource.k8s.io/v1/deviceclasses", "DeviceClass", "{'selectors':[{}]}" },
    { "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
        "ResourceClaim",
        "{'devices':{'requests':null}}" },
    { "/apis/networking.k8s.io/v1/ingressclasses", "IngressClass", "{'controller':'?'}" },
    { "/apis/networking.k8s.io/v1/namespaces/default/ingresses",
        "Ingress",
        "{'rules':[{'host':'A_B'}]}" },
    { "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies",
        "NetworkPolicy",
        "{'ingress':[{'ports':[{'endPort':9}]}],'podSelector':{}}" },
};

TEST(stored_kinds_have_their_schema_checked_and_are_read_back)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    for (size_t i = 0; i < lengthof(objects); i++) {
        const char *body =
            arena_printf(test_arena(), "{'metadata':{'name':'a'},'spec':%s}", objects[i].spec);
        struct json made = desk_do(&d, "POST", objects[i].path, body);
        check_text(json_get_text(made, "kind"), objects[i].kind);
        const char *path = arena_printf(test_arena(), "%s/a", objects[i].path);
        struct json read = desk_do(&d, "GET", path, NULL);
        check_json(json_member(read, "spec"), objects[i].spec);
        struct desk_answer wrong =
            desk_ask(&d, "POST", objects[i].path, "{'metadata':{'name':'b'},'spec':7}");
        check_int(wrong.status, 400);
        desk_do(&d, "DELETE", path, NULL);
        check_int(desk_ask(&d, "GET", path, NULL).status, 404);
    }
    desk_done(&d);
}
