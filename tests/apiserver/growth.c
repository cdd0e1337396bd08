/* No input may cost more than its size allows. Each row is a kind of input that grows: it is sent
 * with n and with 2n entries, and the processor time of the second must not be more than 2.6 times
 * that of the first. LEEBOARD_GROWTH=8 multiplies n by 8 and prints the figures. */

#include <stdlib.h>
#include <time.h>

#include "tests/apiserver/desk.h"

#define RATIO_MAX 2.6
#define MARGIN_MS 4.0 /* a busy machine */
#define ROUNDS 3

enum { OBJECT, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, APPLY_PATCH };

static const char *const media[] = {
    "application/json",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
};

struct growing {
    const char *name;
    const char *method, *target;
    int form;
    /* head, then n times item with its number in it, separated by commas, then tail */
    const char *head, *item, *tail;
    size_t n;
    const char *before_target, *before_head, *before_item, *before_tail; /* created first */
};

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

/* Entries go from the last to the first where the map or list is written for the second time, so
 * that their order is not that of what is stored. */
static struct str grow(const char *head, const char *item, const char *tail, size_t n, bool back)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    buf_add_text(&b, head);
    for (size_t i = 0; i < n; i++) {
        size_t number = back ? n - 1 - i : i;
        buf_add_char(&b, ',');
        for (const char *at = item; *at; at++)
            if (at[0] == '%') {
                buf_printf(&b, "%zu", number);
                at += 2;
            } else {
                buf_add_char(&b, *at);
            }
    }
    buf_add_text(&b, tail);
    return desk_quotes(buf_text(&b));
}

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double send_once(const struct growing *g, size_t n, int *ret_status)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ 0 });
    if (g->before_target) {
        struct str body = grow(g->before_head, g->before_item, g->before_tail, n, false);
        struct desk_stream *s = desk_open(&r, "POST", g->before_target, media[OBJECT], NULL, body);
        desk_settle(&r);
        check_int(s->status, 201);
    }
    struct str body = grow(g->head, g->item, g->tail, n, true);
    double start = cpu_ms();
    struct desk_stream *s = desk_open(&r, g->method, g->target, media[g->form], NULL, body);
    desk_settle(&r);
    double spent = cpu_ms() - start;
    *ret_status = s->status;
    desk_done(&r);
    return spent;
}

static double cost(const struct growing *g, size_t n, int *ret_status)
{
    double best = 1e9;
    for (int i = 0; i < ROUNDS; i++) {
        double spent = send_once(g, n, ret_status);
        best = spent < best ? spent : best;
    }
    return best;
}

TEST(the_cost_of_a_request_grows_with_its_size_and_no_faster)
{
    const char *flag = getenv("LEEBOARD_GROWTH");
    int64_t times = 1;
    int failed = 0;
    check(!flag || str_to_int(str_of(flag), &times));
    for (size_t i = 0; i < lengthof(rows); i++) {
        const struct growing *g = &rows[i];
        int status;
        size_t n = g->n * (size_t)times;
        double once = cost(g, n, &status), twice = cost(g, 2 * n, &status);
        if (flag)
            printf("%-48s %6zu: %8.1f ms, %8.1f ms twice, %d\n", g->name, n, once, twice, status);
        if (twice > RATIO_MAX * once + MARGIN_MS)
            failed += printf(
                "%s: %zu entries take %.1f ms, twice as many %.1f ms\n", g->name, n, once, twice);
    }
    check_int(failed, 0);
}

/* ---- attacks ---- */

static void check_attack(const struct growing *g, int want)
{
    int status;
    double spent = send_once(g, g->n, &status);
    if (getenv("LEEBOARD_GROWTH"))
        printf("%-48s %6zu: %8.1f ms, %d\n", g->name, g->n, spent, status);
    check_int(status, want);
    if (spent > 3000)
        test_fail(__FILE__, __LINE__, "%s takes %.0f ms", g->name, spent);
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

TEST(two_thousand_replacements_in_a_large_map_stay_within_the_budget)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ 0 });
    struct str body = grow(NAMED "},'data':{'a':'b'", "'k%zu':''", "}}", 40000, false);
    desk_open(&r, "POST", MAPS, media[OBJECT], NULL, body);
    desk_settle(&r);
    body = grow("[{'op':'replace','path':'/data/a','value':''}",
        "{'op':'replace','path':'/data/k%zu','value':'x'}",
        "]",
        2000,
        false);
    double start = cpu_ms();
    struct desk_stream *s = desk_open(&r, "PATCH", MAPS "/m", media[JSON_PATCH], NULL, body);
    desk_settle(&r);
    check_int(s->status, 413);
    check(cpu_ms() - start < 3000);
    /* Nothing was changed. */
    struct desk_answer got = desk_ask(&r, "GET", MAPS "/m", NULL);
    check_text(json_get_text(got.body, "data.a"), "b");
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
    double start = cpu_ms();
    struct desk_answer got =
        desk_ask_as(&r, "PATCH", MAPS "/m", media[JSON_PATCH], NULL, buf_text(&b));
    check_int(got.status, 413);
    check(cpu_ms() - start < 3000);
    desk_done(&r);
}

TEST(an_error_list_ends_with_how_many_more_there_are)
{
    struct desk r;
    desk_init_builtin(&r, (struct apiserver_options){ 0 });
    struct str body = grow(NAMED "},'data':{'a':'b'", "'?%zu':''", "}}", 150, false);
    struct desk_stream *s = desk_open(&r, "POST", MAPS, media[OBJECT], NULL, body);
    desk_settle(&r);
    check_int(s->status, 422);
    check(strstr(buf_text(&s->text), ", and 50 more"));
    desk_done(&r);
}
