#include "apiserver/controllers/quota.h"

#include "tests/apiserver/desk.h"

#define NS "/api/v1/namespaces/default/"

static void init(struct desk *r)
{
    desk_init_builtin(r, (struct apiserver_options){ .allow_all = true });
}

static struct desk_answer make_pod(struct desk *r, const char *name, const char *resources)
{
    cleanup(buf_done) struct buf b = BUF_INIT(4096);
    buf_printf(&b,
        "{'metadata':{'name':'%s'},'spec':{'containers':[{'name':'a','image':'x','resources':%s}]}"
        "}",
        name,
        resources);
    return desk_ask(r, "POST", NS "pods", buf_text(&b));
}

static struct json used(struct desk *r, const char *name)
{
    cleanup(buf_done) struct buf b = BUF_INIT(256);
    buf_printf(&b, NS "resourcequotas/%s", name);
    return json_get(desk_do(r, "GET", buf_text(&b), NULL), "status.used");
}

TEST(a_quota_counts_from_its_beginning_and_takes_every_write_along)
{
    struct desk r;
    init(&r);
    desk_do(&r, "POST", NS "secrets", "{'metadata':{'name':'before'}}");
    desk_do(&r,
        "POST",
        NS "resourcequotas",
        "{'metadata':{'name':'q'},'spec':{'hard':{'count/"
        "secrets':'2','persistentvolumeclaims':'1'}}}");
    check_json(used(&r, "q"), "{'count/secrets':'1','persistentvolumeclaims':'0'}");
    desk_do(&r, "POST", NS "secrets", "{'metadata':{'generateName':'s-'}}");
    check_json(used(&r, "q"), "{'count/secrets':'2','persistentvolumeclaims':'0'}");
    struct desk_answer full = desk_ask(&r, "POST", NS "secrets", "{'metadata':{'name':'more'}}");
    check_int(full.status, 403);
    check_text(json_get_text(full.body, "message"),
        "secrets \"more\" is forbidden: exceeded quota: q, requested: count/secrets=1, used: "
        "count/secrets=2, limited: count/secrets=2");
    desk_do(&r, "DELETE", NS "secrets/before", NULL);
    check_json(used(&r, "q"), "{'count/secrets':'1','persistentvolumeclaims':'0'}");
    check_int(
        desk_ask(&r, "POST", NS "secrets?dryRun=All", "{'metadata':{'name':'x'}}").status, 201);
    check_json(used(&r, "q"), "{'count/secrets':'1','persistentvolumeclaims':'0'}");
    desk_ask_as(&r,
        "PATCH",
        NS "resourcequotas/q",
        "application/merge-patch+json",
        NULL,
        "{'spec':{'hard':{'persistentvolumeclaims':null,'secrets':'7'}}}");
    check_json(used(&r, "q"), "{'count/secrets':'1','secrets':'1'}");
    desk_done(&r);
}

TEST(a_quota_of_cpu_and_memory_adds_up_what_pods_ask_for)
{
    struct desk r;
    init(&r);
    desk_do(&r,
        "POST",
        NS "resourcequotas",
        "{'metadata':{'name':'q'},'spec':{'hard':{'requests.cpu':'1','memory':'1Gi'}}}");
    struct desk_answer silent = make_pod(&r, "silent", "{'requests':{'cpu':'1'}}");
    check_int(silent.status, 403);
    check_text(json_get_text(silent.body, "message"),
        "pods \"silent\" is forbidden: failed quota: q: must specify memory for: a");
    check_int(make_pod(&r, "a", "{'requests':{'cpu':'600m','memory':'512Mi'}}").status, 201);
    struct desk_answer much = make_pod(&r, "b", "{'requests':{'cpu':'500m','memory':'1Gi'}}");
    check_text(json_get_text(much.body, "message"),
        "pods \"b\" is forbidden: exceeded quota: q, requested: memory=1Gi,requests.cpu=500m, "
        "used: "
        "memory=512Mi,requests.cpu=600m, limited: memory=1Gi,requests.cpu=1");
    check_int(make_pod(&r, "b", "{'requests':{'cpu':'400m','memory':'1'}}").status, 201);
    check_json(used(&r, "q"), "{'memory':'536870913','requests.cpu':'1'}");
    desk_ask_as(&r,
        "PATCH",
        NS "pods/b/status",
        "application/merge-patch+json",
        NULL,
        "{'status':{'phase':'Failed'}}");
    check_json(used(&r, "q"), "{'memory':'512Mi','requests.cpu':'600m'}");
    desk_done(&r);
}

TEST(a_quota_with_a_scope_counts_only_what_is_in_it)
{
    struct desk r;
    init(&r);
    desk_do(&r,
        "POST",
        NS "resourcequotas",
        "{'metadata':{'name':'q'},'spec':{'hard':{'pods':'1'},'scopes':['BestEffort']}}");
    check_int(make_pod(&r, "a", "{'requests':{'cpu':'1'}}").status, 201);
    check_json(used(&r, "q"), "{'pods':'0'}");
    check_int(make_pod(&r, "b", "{}").status, 201);
    check_int(make_pod(&r, "c", "{}").status, 403);
    check_int(make_pod(&r, "d", "{'limits':{'cpu':'1'}}").status, 201);
    desk_done(&r);
}

TEST(a_quota_of_a_class_of_volume_attributes_counts_the_claims_that_name_it)
{
    static const char claim[] = "{'metadata':{'name':'%s'},'spec':{'accessModes':['ReadWriteOnce'],"
                                "'resources':{'requests':{'storage':'1Gi'}}%s}}";
    static const char fast[] = ",'volumeAttributesClassName':'fast'";
    static const struct {
        const char *name, *more;
        int status;
    } made[] = { { "a", "", 201 }, { "b", fast, 201 }, { "c", fast, 403 }, { "d", "", 201 } };
    struct desk r;
    init(&r);
    desk_do(&r,
        "POST",
        NS "resourcequotas",
        "{'metadata':{'name':'q'},'spec':{'hard':{'persistentvolumeclaims':'1'},'scopeSelector':{"
        "'matchExpressions':[{'scopeName':'VolumeAttributesClass','operator':'In','values':["
        "'fast']}]}}}");
    for (size_t i = 0; i < lengthof(made); i++) {
        cleanup(buf_done) struct buf b = BUF_INIT(1024);
        buf_printf(&b, claim, made[i].name, made[i].more);
        check_int(
            desk_ask(&r, "POST", NS "persistentvolumeclaims", buf_text(&b)).status, made[i].status);
    }
    check_json(used(&r, "q"), "{'persistentvolumeclaims':'1'}");
    struct desk_answer moved = desk_ask_as(&r,
        "PATCH",
        NS "persistentvolumeclaims/a/status",
        "application/merge-patch+json",
        NULL,
        "{'status':{'currentVolumeAttributesClassName':'fast'}}");
    check_int(moved.status, 403);
    desk_done(&r);
}

TEST(what_another_controller_counted_too_early_is_put_right)
{
    static const char path[] = NS "resourcequotas/q/status",
                      patch[] = "application/merge-patch+json";
    struct desk r;
    init(&r);
    desk_do(&r,
        "POST",
        NS "resourcequotas",
        "{'metadata':{'name':'q'},'spec':{'hard':{'count/secrets':'1'}}}");
    desk_ask_as(&r, "PATCH", path, patch, NULL, "{'status':{'used':{'count/secrets':'1'}}}");
    check_json(used(&r, "q"), "{'count/secrets':'0'}");
    check_int(desk_ask(&r, "POST", NS "secrets", "{'metadata':{'name':'a'}}").status, 201);
    /* A limit that is not that of the spec is somebody's own idea: it stays. */
    desk_ask_as(&r,
        "PATCH",
        path,
        patch,
        NULL,
        "{'status':{'hard':{'count/secrets':'9'},'used':{'count/secrets':'5'}}}");
    check_json(used(&r, "q"), "{'count/secrets':'5'}");
    desk_done(&r);
}

TEST(a_quota_that_is_not_enforced_says_so)
{
    struct desk r;
    init(&r);
    struct desk_answer got = desk_ask(&r,
        "POST",
        NS "resourcequotas",
        "{'metadata':{'name':'q'},'spec':{'hard':{'limits.example.com/x':'1','pods':'1'}}}");
    check_int(got.status, 201);
    check_text(got.warnings[0],
        "299 - \"spec.hard[limits.example.com/x]: this server does not count this\"");
    check(!got.warnings[1]);
    check_json(used(&r, "q"), "{'pods':'0'}");
    desk_done(&r);
}
