/* No input may cost more than its size allows. Each row is a kind of input that grows: it is sent
 * with n and with 2n entries, and the processor time of the second must not be more than 2.6 times
 * that of the first. LEEBOARD_GROWTH=8 multiplies n by 8 and prints the figures. */

#include <stdlib.h>

#include "tests/apiserver/growing.h"

#define MAPS "/api/v1/namespaces/default/configmaps"
#define PODS "/api/v1/namespaces/default/pods"
#define RBAC "/apis/rbac.authorization.k8s.io/v1"
#define NAMED "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'m'"
#define POD "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'},'spec':{"
#define ONE_CONTAINER "'containers':[{'name':'c','image':'i'}]"

/* Every name ends in its number, so that no two are equal. */
static const struct growing rows[] = {
    { "unknown fields of a review",
        "POST",
        "/apis/authentication.k8s.io/v1/selfsubjectreviews?fieldValidation=Strict",
        OBJECT,
        "{'apiVersion':'authentication.k8s.io/v1','kind':'SelfSubjectReview'",
        "'u%zu':1",
        "}",
        4000 },
    { "unknown fields, warned of", "POST", MAPS, OBJECT, NAMED "}", "'u%zu':1", "}", 4000 },
    { "unknown fields, strict",
        "POST",
        MAPS "?fieldValidation=Strict",
        OBJECT,
        NAMED "}",
        "'u%zu':1",
        "}",
        4000 },
    { "bad keys", "POST", MAPS, OBJECT, NAMED "},'data':{'a':'b'", "'?%zu':''", "}}", 4000 },
    { "good keys", "POST", MAPS, OBJECT, NAMED "},'data':{'a':'b'", "'k%zu':''", "}}", 4000 },
    { "labels", "POST", MAPS, OBJECT, NAMED ",'labels':{'a':'b'", "'k%zu':''", "}}}", 2000 },
    { "finalizers",
        "POST",
        MAPS,
        OBJECT,
        NAMED ",'finalizers':['a.b/c'",
        "'a.b/f%zu'",
        "]}}",
        2000 },
    { "owner references",
        "POST",
        MAPS,
        OBJECT,
        NAMED ",'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'a','uid':'a'}",
        "{'apiVersion':'v1','kind':'Pod','name':'o%zu','uid':'u%zu'}",
        "]}}",
        2000 },
    { "environment",
        "POST",
        PODS,
        OBJECT,
        POD "'containers':[{'name':'c','image':'i','env':[{'name':'A','value':''}",
        "{'name':'E%zu','value':''}",
        "]}]}}",
        1000 },
    { "tolerations",
        "POST",
        PODS,
        OBJECT,
        POD ONE_CONTAINER ",'tolerations':[{'operator':'Exists'}",
        "{'key':'k%zu','operator':'Exists'}",
        "]}}",
        1000 },
    { "rules of a role",
        "POST",
        RBAC "/namespaces/default/roles",
        OBJECT,
        "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'Role','metadata':{'name':'r'},"
        "'rules':[{'verbs':['get'],'apiGroups':[''],'resources':['a']}",
        "{'verbs':['get'],'apiGroups':[''],'resources':['r%zu']}",
        "]}",
        1000 },
    { "subjects of a binding",
        "POST",
        RBAC "/namespaces/default/rolebindings",
        OBJECT,
        "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'RoleBinding','metadata':"
        "{'name':'r'},'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'Role','name':'x'},"
        "'subjects':[{'kind':'User','name':'a'}",
        "{'kind':'User','name':'u%zu'}",
        "]}",
        1000 },
    { "merge patch",
        "PATCH",
        MAPS "/m",
        MERGE_PATCH,
        "{'data':{'b':''",
        "'n%zu':'x'",
        "}}",
        2000,
        MAPS,
        NAMED "},'data':{'a':'b'",
        "'k%zu':''",
        "}}" },
    { "apply of many keys",
        "PATCH",
        MAPS "/m?fieldManager=x&force=true",
        APPLY_PATCH,
        NAMED "},'data':{'b':''",
        "'k%zu':'x'",
        "}}",
        1000,
        MAPS,
        NAMED "},'data':{'a':'b'",
        "'k%zu':''",
        "}}" },
};

TEST(the_cost_of_a_request_grows_with_its_size_and_no_faster)
{
    const char *flag = getenv("LEEBOARD_GROWTH");
    int64_t times = 1;
    int failed = 0;
    check(!flag || str_to_int(str_of(flag), &times));
    for (size_t i = 0; i < lengthof(rows); i++)
        failed += !growing_is_fair(&rows[i], rows[i].n * (size_t)times, flag != NULL);
    check_int(failed, 0);
}

/* ---- attacks ---- */

#ifdef __SANITIZE_ADDRESS__
#define ATTACK_MS 30000 /* of a processor, with the sanitizers */
#else
#define ATTACK_MS 3000
#endif

static void check_attack(const struct growing *g, int want)
{
    struct growing_cost cost = growing_send(g, g->n);
    if (getenv("LEEBOARD_GROWTH"))
        printf("%-48s %6zu: %8.1f ms, %d\n", g->name, g->n, cost.ms, cost.status);
    check_int(cost.status, want);
    if (cost.ms > ATTACK_MS)
        test_fail(__FILE__, __LINE__, "%s takes %.0f ms", g->name, cost.ms);
}

TEST(forty_thousand_unknown_fields_do_not_block)
{
    struct growing g = rows[0];
    g.n = 40000;
    check_attack(&g, 400);
}

TEST(a_hundred_thousand_bad_keys_do_not_block)
{
    const struct growing g = {
        "bad keys", "POST", MAPS, OBJECT, NAMED "},'data':{'a':'b'", "'?%zu':''", "}}", 100000
    };
    check_attack(&g, 422);
}

TEST(a_hundred_thousand_containers_do_not_block)
{
    const struct growing g = {
        "empty containers", "POST", PODS, OBJECT, POD "'containers':[{}", "{}", "]}}", 100000
    };
    check_attack(&g, 413);
}

TEST(twenty_thousand_owner_references_do_not_block)
{
    const struct growing g = { "owner references",
        "POST",
        MAPS,
        OBJECT,
        NAMED ",'ownerReferences':[{'apiVersion':'v1','kind':'Pod','name':'a','uid':'a'}",
        "{'apiVersion':'v1','kind':'Pod','name':'o%zu','uid':'u%zu'}",
        "]}}",
        20000 };
    check_attack(&g, 201);
}

TEST(eight_thousand_volumes_do_not_block)
{
    const struct growing g = { "volumes",
        "POST",
        PODS,
        OBJECT,
        POD ONE_CONTAINER ",'volumes':[{'name':'v','emptyDir':{}}",
        "{'name':'v%zu','emptyDir':{}}",
        "]}}",
        8000 };
    check_attack(&g, 201);
}

/* Entries that are not read count as none, as those that are malformed. */
TEST(sixteen_thousand_managed_fields_do_not_block)
{
    const struct growing g = { "managed fields",
        "POST",
        MAPS,
        OBJECT,
        NAMED ",'managedFields':[{'manager':'m','operation':'Update','apiVersion':'v1',"
              "'fieldsType':'FieldsV1','fieldsV1':{'f:data':{'f:a':{}}}}",
        "{'manager':'m%zu','operation':'Update','apiVersion':'v1','fieldsType':'FieldsV1',"
        "'fieldsV1':{'f:data':{'f:a':{}}}}",
        "]}}",
        16000 };
    check_attack(&g, 201);
}

TEST(a_list_map_in_another_order_does_not_block)
{
    const struct growing g = { "environment in another order",
        "PATCH",
        PODS "/p",
        STRATEGIC_PATCH,
        "{'spec':{'containers':[{'name':'c','env':[{'name':'A','value':''}",
        "{'name':'E%zu','value':''}",
        "]}]}}",
        10000,
        PODS,
        POD "'containers':[{'name':'c','image':'i','env':[{'name':'A','value':''}",
        "{'name':'E%zu','value':''}",
        "]}]}}" };
    check_attack(&g, 422); /* it cannot be changed */
}

/* ---- rights ---- */

static const char *const no_groups[] = { "system:authenticated", NULL };
static const struct api_user tenant = { .name = "tenant", .uid = "", .groups = no_groups };

static void give_admin(struct desk *r)
{
    desk_do(r,
        "POST",
        RBAC "/namespaces/default/rolebindings",
        "{'metadata':{'name':'t'},'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':"
        "'ClusterRole','name':'admin'},'subjects':[{'kind':'User','name':'tenant',"
        "'apiGroup':'rbac.authorization.k8s.io'}]}");
}

static const char *quoted(const char *item, size_t n)
{
    const char *text = growing_text("'x'", item, "", n, false).ptr;
    return text;
}

TEST(a_role_of_two_thousand_verbs_and_resources_does_not_block)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ 0 });
    give_admin(&r);
    r.user = &tenant;
    const char *body = arena_printf(test_arena(),
        "{'metadata':{'name':'big'},'rules':[{'apiGroups':[''],'verbs':[%s],'resources':[%s]}]}",
        quoted("'v%zu'", 2000),
        quoted("'r%zu'", 2000));
    double start = growing_cpu_ms();
    struct desk_answer got =
        desk_ask(&r, "POST", RBAC "/namespaces/default/roles", desk_quotes(body).ptr);
    check(growing_cpu_ms() - start < 3000);
    check_int(got.status, 413);
    desk_done(&r);
}

TEST(five_thousand_bindings_to_an_aggregated_role_cost_little)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ 0 });
    for (int i = 0; i < 5000; i++)
        desk_do(&r,
            "POST",
            RBAC "/namespaces/default/rolebindings",
            arena_printf(test_arena(),
                "{'metadata':{'name':'b%d'},'roleRef':{'apiGroup':'rbac.authorization.k8s.io',"
                "'kind':'ClusterRole','name':'admin'},'subjects':[{'kind':'User','name':'tenant',"
                "'apiGroup':'rbac.authorization.k8s.io'}]}",
                i));
    r.user = &tenant;
    double start = growing_cpu_ms();
    check_int(desk_ask(&r, "GET", MAPS, NULL).status, 200);
    desk_do(&r,
        "POST",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        "{'spec':{'namespace':'default'}}");
    desk_do(&r,
        "POST",
        RBAC "/namespaces/default/roles",
        "{'metadata':{'name':'small'},'rules':[{'apiGroups':[''],'verbs':['get'],'resources':"
        "['pods']}]}");
    check(growing_cpu_ms() - start < 1000);
    desk_done(&r);
}

TEST(eighty_thousand_errors_of_a_custom_resource_do_not_block)
{
    const struct growing g = { "bad values of a custom resource",
        "POST",
        "/apis/t.io/v1/namespaces/default/xs",
        OBJECT,
        "{'apiVersion':'t.io/v1','kind':'X','metadata':{'name':'x'},'map':{'a':'b'",
        "'k%zu':1",
        "}}",
        80000,
        .setup_target = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        .setup_body = "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
                      "'metadata':{'name':'xs.t.io'},'spec':{'group':'t.io','scope':'Namespaced',"
                      "'names':{'plural':'xs','kind':'X'},'versions':[{'name':'v1','served':true,"
                      "'storage':true,'schema':{'openAPIV3Schema':{'type':'object','properties':"
                      "{'map':{'type':'object','additionalProperties':{'type':'string'}}}}}}]}}" };
    check_attack(&g, 422);
}

TEST(two_thousand_replacements_in_a_large_map_are_cheap)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ 0 });
    struct str body = growing_text(NAMED "},'data':{'a':'b'", "'k%zu':''", "}}", 40000, false);
    desk_open(&r, "POST", MAPS, growing_media[OBJECT], NULL, body);
    desk_settle(&r);
    body = growing_text("[{'op':'replace','path':'/data/a','value':''}",
        "{'op':'replace','path':'/data/k%zu','value':'x'}",
        "]",
        2000,
        false);
    double start = growing_cpu_ms();
    struct desk_stream *s =
        desk_open(&r, "PATCH", MAPS "/m", growing_media[JSON_PATCH], NULL, body);
    desk_settle(&r);
    check_int(s->status, 200);
    check(growing_cpu_ms() - start < 3000);
    struct desk_answer got = desk_ask(&r, "GET", MAPS "/m", NULL);
    check_text(json_get_text(got.body, "data.a"), "");
    check_text(json_get_text(got.body, "data.k1999"), "x");
    desk_done(&r);
}

TEST(a_patch_that_doubles_by_copy_is_refused)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ 0 });
    desk_do(&r, "POST", MAPS, "{'metadata':{'name':'m'},'data':{'a':'b'}}");
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)1 << 20);
    buf_add_text(&b, "[{'op':'add','path':'/x','value':['xxxxxxxx']}");
    for (int i = 0; i < 40; i++)
        buf_add_text(&b, ",{'op':'copy','from':'/x','path':'/x/-'}");
    buf_add_text(&b, "]");
    double start = growing_cpu_ms();
    struct desk_answer got =
        desk_ask_as(&r, "PATCH", MAPS "/m", growing_media[JSON_PATCH], NULL, buf_text(&b));
    check_int(got.status, 413);
    check(growing_cpu_ms() - start < 3000);
    desk_done(&r);
}

TEST(an_error_list_ends_with_how_many_more_there_are)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ 0 });
    struct str body = growing_text(NAMED "},'data':{'a':'b'", "'?%zu':''", "}}", 150, false);
    struct desk_stream *s = desk_open(&r, "POST", MAPS, growing_media[OBJECT], NULL, body);
    desk_settle(&r);
    check_int(s->status, 422);
    check(strstr(buf_text(&s->text), ", and 50 more"));
    desk_done(&r);
}

/* The first client that asks makes a document for all; the others get the same bytes. */
TEST(documents_that_are_equal_for_all_are_made_once)
{
    static const char *const documents[] = { "/openapi/v3/api/v1", "/openapi/v3/apis/apps/v1" };
    for (size_t i = 0; i < lengthof(documents); i++) {
        struct desk r;
        desk_init_builtin(&r, (struct apiserver_options){ 0 });
        double first = 0, later = 1e9;
        for (int round = 0; round < 6; round++) {
            double start = growing_cpu_ms();
            struct desk_stream *s = desk_open(&r, "GET", documents[i], NULL, NULL, STR(""));
            double ms = growing_cpu_ms() - start;
            desk_settle(&r);
            check_int(s->status, 200);
            if (round == 0)
                first = ms;
            else if (ms < later)
                later = ms;
        }
        if (later > first / 4)
            test_fail(__FILE__, __LINE__, "%s: %.2f ms, then %.2f", documents[i], first, later);
        desk_done(&r);
    }
}
