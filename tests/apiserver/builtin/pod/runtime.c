#include "tests/apiserver/desk.h"

#define PODS "/api/v1/namespaces/default/pods"

static void init(struct desk *d)
{
    desk_init_builtin(d, (struct apiserver_options){ .allow_all = true });
    desk_do(d,
        "POST",
        "/apis/node.k8s.io/v1/runtimeclasses",
        "{'metadata':{'name':'box'},'handler':'box','overhead':{'podFixed':{'cpu':'250m'}},"
        "'scheduling':{'nodeSelector':{'box':'yes'},'tolerations':[{'key':'box','operator':'Exists'"
        "}]}}");
    desk_do(d,
        "POST",
        "/apis/node.k8s.io/v1/runtimeclasses",
        "{'metadata':{'name':'plain'},'handler':'plain'}");
}

static struct desk_answer make(struct desk *d, const char *more)
{
    cleanup(buf_done) struct buf b = BUF_INIT(1024);
    buf_printf(
        &b, "{'metadata':{'name':'p'},'spec':{'containers':[{'name':'c','image':'i'}]%s}}", more);
    return desk_ask(d, "POST", PODS "?dryRun=All", buf_text(&b));
}

TEST(a_pod_gets_the_overhead_the_nodes_and_the_tolerations_of_its_runtime_class)
{
    struct desk d;
    init(&d);
    struct json pod = make(&d,
        ",'runtimeClassName':'box','nodeSelector':{'a':'b'},'tolerations':[{'key':'box','operator':"
        "'Equal','value':'v','effect':'NoSchedule'},{'key':'x','operator':'Exists'}]")
                          .body;
    check_json(json_get(pod, "spec.overhead"), "{'cpu':'250m'}");
    check_json(json_get(pod, "spec.nodeSelector"), "{'a':'b','box':'yes'}");
    struct json tolerations = json_get(pod, "spec.tolerations");
    /* Its own that the class's covers is gone; two are those that every Pod has. */
    check_int(tolerations.count, 4);
    check_json(tolerations.items[0], "{'key':'x','operator':'Exists'}");
    check_json(tolerations.items[3], "{'key':'box','operator':'Exists'}");
    check_int(make(&d, ",'runtimeClassName':'box','overhead':{'cpu':'0.25'}").status, 201);
    check_int(make(&d, ",'runtimeClassName':'plain'").status, 201);
    desk_done(&d);
}

TEST(a_pod_against_its_runtime_class_is_refused)
{
    static const struct {
        const char *more, *why;
    } cases[] = {
        { ",'runtimeClassName':'none'", "pod rejected: RuntimeClass \"none\" not found" },
        { ",'runtimeClassName':'box','nodeSelector':{'box':'no'}",
            "conflict: runtimeClass.scheduling.nodeSelector[box] = yes; pod.spec.nodeSelector[box] "
            "= no" },
        { ",'runtimeClassName':'box','overhead':{'cpu':'1'}",
            "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead" },
        { ",'runtimeClassName':'plain','overhead':{'cpu':'1'}",
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead" },
        { ",'overhead':{'cpu':'1'}",
            "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead" },
    };
    struct desk d;
    init(&d);
    for (size_t i = 0; i < lengthof(cases); i++) {
        struct desk_answer got = make(&d, cases[i].more);
        const char *message = json_get_text(got.body, "message");
        check_int(got.status, 403);
        check(text_starts(message, "pods \"p\" is forbidden: "));
        check_text(message + strlen("pods \"p\" is forbidden: "), cases[i].why);
    }
    desk_done(&d);
}
