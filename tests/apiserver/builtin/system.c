#include "tests/apiserver/desk.h"

/* -----BEGIN CERTIFICATE----- */
#define PEM "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"

/* Their defaults and refusals are compared with a real server: tests/cluster/test_builtin.py. */

#define REQUESTS "/apis/certificates.k8s.io/v1/certificatesigningrequests"
#define SERVICES "/apis/apiregistration.k8s.io/v1/apiservices"

static const char request[] = "{'metadata':{'name':'r'},'spec':{'signerName':'a.b/"
                              "c','usages':['client auth'],'username':'me',"
                              "'request':'LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K'}}";

static struct desk_answer merge(struct desk *d, const char *path, const char *patch)
{
    return desk_ask_as(d, "PATCH", path, "application/merge-patch+json", NULL, patch);
}

TEST(a_certificate_request_says_who_made_it_and_is_approved_by_its_own_path)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    struct json made = desk_do(&d, "POST", REQUESTS, request);
    check(!text_eq(json_get_text(made, "spec.username"), "me"));
    static const char approved[] =
        "{'status':{'conditions':[{'type':'Approved','status':'True'}],'certificate':'" PEM "'}}";
    struct desk_answer got = merge(&d, REQUESTS "/r/status", approved);
    check_int(got.status, 200);
    got = merge(&d, REQUESTS "/r/status", "{'status':{'certificate':null}}");
    got = merge(&d, REQUESTS "/r/approval", approved);
    check_int(got.status, 200);
    check(json_present(json_get(got.body, "status.conditions.0.lastUpdateTime")));
    check(!json_present(json_get(got.body, "status.certificate")));
    got = merge(&d, REQUESTS "/r/status", "{'status':{'certificate':'" PEM "'}}");
    check_int(got.status, 200);
    check_text(json_get_text(got.body, "status.certificate"), PEM);
    got = merge(&d, REQUESTS "/r", "{'spec':{'usages':['server auth']},'status':{}}");
    check_text(json_get_text(got.body, "spec.usages.0"), "client auth");
    desk_done(&d);
}

TEST(an_api_service_of_another_server_is_not_available_and_says_so)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    struct desk_answer got = desk_ask(&d,
        "POST",
        SERVICES,
        "{'metadata':{'name':'v1.a.b'},'spec':{'group':'a.b','version':'v1','groupPriorityMinimum':"
        "1,'versionPriority':1,'service':{'name':'s','namespace':'n'}}}");
    check_int(got.status, 201);
    check(got.warnings[0] && strstr(got.warnings[0], "passes no requests on"));
    check_text(json_get_text(got.body, "status.conditions.0.status"), "False");
    struct json own = desk_do(&d, "GET", SERVICES "/v1.apps", NULL);
    check_text(json_get_text(own, "status.conditions.0.reason"), "Local");
    desk_done(&d);
}

TEST(whoever_makes_a_webhook_is_told_that_it_is_not_called)
{
    struct desk d;
    desk_init_builtin(&d, (struct apiserver_options){ 0 });
    struct desk_answer got = desk_ask(&d,
        "POST",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "{'metadata':{'name':'w'}}");
    check_int(got.status, 201);
    check(got.warnings[0] && strstr(got.warnings[0], "calls no webhooks"));
    got = merge(&d,
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w",
        "{'metadata':{'labels':{'a':'b'}}}");
    check(got.status == 200 && !got.warnings[0]);
    desk_done(&d);
}
