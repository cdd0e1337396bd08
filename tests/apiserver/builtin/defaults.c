#include "apiserver/builtin/defaults.h"

#include "tests/apiserver/desk.h"

#define NS "/api/v1/namespaces/default/"
#define STORAGE "/apis/storage.k8s.io/v1/storageclasses"
#define PRIORITY "/apis/scheduling.k8s.io/v1/priorityclasses"

static void init(struct desk *r)
{
    desk_init_builtin(r, (struct apiserver_options){ .allow_all = true });
}

static struct json make_claim(struct desk *r, const char *name, const char *class_name)
{
    cleanup(buf_done) struct buf b = BUF_INIT(1024);
    buf_printf(&b,
        "{'metadata':{'name':'%s'},'spec':{%s'accessModes':['ReadWriteOnce'],"
        "'resources':{'requests':{'storage':'1Gi'}}}}",
        name,
        class_name);
    struct json claim = desk_do(r, "POST", NS "persistentvolumeclaims", buf_text(&b));
    return json_get(claim, "spec.storageClassName");
}

static struct json make_pod(struct desk *r, const char *name, const char *spec)
{
    cleanup(buf_done) struct buf b = BUF_INIT(1024);
    buf_printf(&b,
        "{'metadata':{'name':'%s'},'spec':{%s'containers':[{'name':'a','image':'x'}]}}",
        name,
        spec);
    return desk_do(r, "POST", NS "pods", buf_text(&b));
}

TEST(a_claim_that_names_no_class_gets_the_first_by_name_of_the_newest_that_are_marked)
{
    struct desk r;
    init(&r);
    check(!json_present(make_claim(&r, "early", "")));
    static const char *const names[] = { "b", "a", "c" };
    for (size_t i = 0; i < lengthof(names); i++) {
        cleanup(buf_done) struct buf b = BUF_INIT(1024);
        buf_printf(&b,
            "{'metadata':{'name':'%s','annotations':{'storageclass.kubernetes.io/"
            "is-default-class':'%s'}},'provisioner':'x'}",
            names[i],
            i == 2 ? "false" : "true");
        desk_do(&r, "POST", STORAGE, buf_text(&b));
    }
    check_text(json_text(make_claim(&r, "silent", "")), "a");
    check_text(json_text(make_claim(&r, "none", "'storageClassName':'',")), "");
    check_text(json_text(make_claim(&r, "own", "'storageClassName':'c',")), "c");
    desk_done(&r);
}

TEST(a_pod_that_names_no_priority_gets_the_one_that_is_for_all)
{
    struct desk r;
    init(&r);
    desk_do(&r,
        "POST",
        PRIORITY,
        "{'metadata':{'name':'usual'},'value':7,'globalDefault':true,'preemptionPolicy':'Never'}");
    struct json spec = json_member(make_pod(&r, "a", ""), "spec");
    check_text(json_get_text(spec, "priorityClassName"), "usual");
    check_int(json_get_int(spec, "priority", 0), 7);
    check_text(json_get_text(spec, "preemptionPolicy"), "Never");
    struct desk_answer second = desk_ask(
        &r, "POST", PRIORITY, "{'metadata':{'name':'second'},'value':1,'globalDefault':true}");
    check_int(second.status, 403);
    desk_done(&r);
}

TEST(a_pod_tells_where_its_node_is)
{
    struct desk r;
    init(&r);
    desk_do(&r,
        "POST",
        "/api/v1/nodes",
        "{'metadata':{'name':'n','labels':{'topology.kubernetes.io/zone':'z','other':'x'}}}");
    struct json labels = json_get(make_pod(&r, "a", "'nodeName':'n',"), "metadata.labels");
    check_json(labels, "{'topology.kubernetes.io/zone':'z'}");
    check(!json_present(json_get(make_pod(&r, "b", "'nodeName':'m',"), "metadata.labels")));
    desk_done(&r);
}
