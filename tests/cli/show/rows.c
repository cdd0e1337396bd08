#include "cli/show/rows.h"

#include "tests/test.h"

static struct show_row only_row(const char *objects)
{
    struct show_row *rows;
    check_int((int64_t)show_rows(test_arena(), test_json(objects), NULL, &rows), 1);
    return rows[0];
}

static void check_row(
    const char *objects, enum show_state state, const char *phase, const char *detail)
{
    struct show_row row = only_row(objects);
    check_text(row.phase, phase);
    check_text(row.detail, detail);
    check_int(row.state, state);
}

TEST(rows_come_in_the_order_of_kind_namespace_and_name_and_children_have_none)
{
    struct show_row *rows;
    size_t count = show_rows(test_arena(),
        test_json("[{'kind':'InferenceService','metadata':{'namespace':'a','name':'x'}},"
                  "{'kind':'Widget','metadata':{'namespace':'a','name':'w'}},"
                  "{'kind':'Model','metadata':{'namespace':'b','name':'a'}},"
                  "{'kind':'Model','metadata':{'namespace':'a','name':'z'}},"
                  "{'kind':'Model','metadata':{'namespace':'a','name':'b'}},"
                  "{'kind':'Pod','metadata':{'namespace':'a','name':'p'}},"
                  "{'kind':'Deployment','metadata':{'namespace':'a','name':'x',"
                  "'ownerReferences':[{'name':'x','controller':true}]}}]"),
        NULL,
        &rows);
    static const char *const want[] = { "a/b", "a/z", "b/a", "a/x", "a/p", "a/w" };
    check_int((int64_t)count, lengthof(want));
    for (size_t i = 0; i < count; i++)
        check_text(arena_printf(test_arena(), "%s/%s", rows[i].ns, rows[i].name), want[i]);
}

TEST(a_model_is_pending_ready_or_failed_with_the_words_of_its_conditions)
{
    check_row("[{'kind':'Model','metadata':{'name':'m'}}]", SHOW_WAITS, "pending", "");
    check_row("[{'kind':'Model','status':{'phase':'Pending','conditions':[{'type':'Progressing',"
              "'message':'claim is not bound'}]}}]",
        SHOW_WAITS,
        "pending",
        "claim is not bound");
    check_row("[{'kind':'Model','status':{'phase':'Ready','size':'1 GiB','conditions':[{'type':"
              "'SourceDrifted','reason':'SourceUnusable','message':'it is gone'}]}}]",
        SHOW_FAILED,
        "no file",
        "it is gone");
    check_row("[{'kind':'Model','status':{'phase':'Ready','size':'637.8 MiB'}}]",
        SHOW_READY,
        "ready",
        "637.8 MiB");
    check_row("[{'kind':'Model','status':{'phase':'Ready','size':'0'}}]", SHOW_READY, "ready", "");
    check_row("[{'kind':'Model','status':{'phase':'Failed','conditions':[{'type':'Degraded',"
              "'message':'no such file'}]}}]",
        SHOW_FAILED,
        "failed",
        "no such file");
}

TEST(a_service_that_waits_or_failed_says_why_at_length)
{
    static const char *const phases[][2] = { { "Failed", "failed" }, { "Pending", "pending" } };
    for (size_t i = 0; i < lengthof(phases); i++)
        check_row(
            arena_printf(test_arena(),
                "[{'kind':'InferenceService','status':{'phase':'%s','conditions':["
                "{'type':'Degraded','message':'short'},{'type':'Progressing','message':'short'},"
                "{'type':'Ready','status':'False','message':'at length'}]}}]",
                phases[i][0]),
            i ? SHOW_WAITS : SHOW_FAILED,
            phases[i][1],
            "at length");
}

static struct show_disk half_of_one_key(void *ctx, const char *ns, const char *key)
{
    (void)ctx;
    bool half = text_eq(ns, "team") && text_eq(key, "abc");
    return (struct show_disk){ text_eq(key, "whole"), half ? 50 : -1 };
}

static bool never(void *ctx)
{
    (void)ctx;
    return false;
}

TEST(a_model_that_a_pod_fetches_is_pulled_although_its_status_says_ready)
{
    struct show_machine machine = { .model = half_of_one_key, .is_full = never };
    struct show_row *rows;
    check_int((int64_t)show_rows(test_arena(),
                  test_json("[{'kind':'Model','metadata':{'namespace':'team','name':'a'},"
                            "'status':{'phase':'Ready','cacheKey':'abc',"
                            "'sourceContentLength':200}},"
                            "{'kind':'Model','metadata':{'namespace':'team','name':'b'},"
                            "'status':{'phase':'Ready','cacheKey':'abc',"
                            "'sourceContentLength':20}},"
                            "{'kind':'Model','metadata':{'namespace':'team','name':'c'},"
                            "'status':{'phase':'Ready','cacheKey':'other','conditions':[{'type':"
                            "'Available','reason':'WorkloadResolved'}]}},"
                            "{'kind':'Model','metadata':{'namespace':'team','name':'d'},"
                            "'status':{'phase':'Ready','cacheKey':'whole','conditions':[{'type':"
                            "'Available','reason':'WorkloadResolved'}]}}]"),
                  &machine,
                  &rows),
        4);
    check_text(rows[0].phase, "pulling");
    check_int(rows[0].state, SHOW_WORKS);
    check_int(rows[0].bytes, 50);
    check_int(rows[0].total, 200);
    check_int(rows[1].total, 0);        /* more came than it is long: the length is not known */
    check_text(rows[2].phase, "found"); /* nobody fetches it yet */
    check_int(rows[2].state, SHOW_READY);
    check_text(rows[3].phase, "ready");
}

TEST(a_service_is_ready_with_its_endpoint)
{
    check_row("[{'kind':'InferenceService','status':{'phase':'Ready','readyReplicas':1,"
              "'desiredReplicas':1,'endpoint':'http://tiny/v1'}}]",
        SHOW_READY,
        "ready",
        "http://tiny/v1");
    check_row("[{'kind':'InferenceService','status':{'phase':'Ready','readyReplicas':2,"
              "'desiredReplicas':2,'endpoint':'http://tiny/v1'}}]",
        SHOW_READY,
        "ready",
        "2/2  http://tiny/v1");
    check_row(
        "[{'kind':'InferenceService','status':{'phase':'Stopped'}}]", SHOW_READY, "stopped", "");
    check_row("[{'kind':'InferenceService','status':{'phase':'WaitingForGPU','conditions':["
              "{'type':'GPUAvailable','message':'ask for less'}]}}]",
        SHOW_WAITS,
        "waiting",
        "ask for less");
}

TEST(a_service_without_a_ready_pod_is_not_ready_whatever_is_stored)
{
    static const char stored[] =
        "[{'kind':'InferenceService','metadata':{'namespace':'a','name':'tiny'},"
        "'status':{'phase':'Ready'}},"
        "{'kind':'Pod','metadata':{'namespace':'a','name':'tiny-x',"
        "'ownerReferences':[{'name':'tiny','controller':true}]},"
        "'status':{'conditions':[{'type':'Ready','status':'%s'}]}}]";
    check_row(arena_printf(test_arena(), stored, "False"), SHOW_WORKS, "starting", "");
    check_row(arena_printf(test_arena(), stored, "True"), SHOW_READY, "ready", "");
}

TEST(kinds_that_nobody_knows_are_read_by_phase_and_conditions)
{
    check_row("[{'kind':'ConfigMap','data':{}}]", SHOW_READY, "ready", "");
    check_row("[{'kind':'ModelService','status':{'phase':'Running','conditions':[{'type':'Ready',"
              "'status':'False','message':'1/2 replicas ready'}]}}]",
        SHOW_WORKS,
        "running",
        "1/2 replicas ready");
    check_row("[{'kind':'ModelArtifact','status':{'phase':'Succeeded'}}]", SHOW_READY, "ready", "");
    check_row("[{'kind':'ModelArtifact','status':{'phase':'Failed','conditions':[{'type':'Ready',"
              "'status':'False','message':'no such model'}]}}]",
        SHOW_FAILED,
        "failed",
        "no such model");
    check_row("[{'kind':'Deployment','metadata':{'generation':2},'spec':{'replicas':2},'status':"
              "{'observedGeneration':1,'readyReplicas':2}}]",
        SHOW_WORKS,
        "starting",
        "2/2");
    check_row("[{'kind':'Deployment','metadata':{'generation':2},'spec':{'replicas':2},'status':"
              "{'observedGeneration':2,'readyReplicas':2}}]",
        SHOW_READY,
        "ready",
        "2/2");
    check_row("[{'kind':'PersistentVolumeClaim','metadata':{'deletionTimestamp':"
              "'2026-11-15T17:00:00Z'},'status':{'conditions':[{'type':'leeboard.dev/NotRemoved',"
              "'status':'True','message':'removing /x: busy'}]}},"
              "{'kind':'PersistentVolumeClaim','metadata':{'name':'quiet'}}]",
        SHOW_FAILED,
        "not removed",
        "removing /x: busy. Check what is in there; it is tried again every minute");
    check_row("[{'kind':'CronJob','metadata':{'name':'c'}}]",
        SHOW_FAILED,
        "not run",
        "nothing starts CronJobs on one machine: make its Jobs with `kubectl create job "
        "--from=cronjob/NAME`, from the machine's own cron if need be");
    check_row("[{'kind':'Widget','metadata':{'deletionTimestamp':'2026-11-15T17:00:00Z'}}]",
        SHOW_WORKS,
        "leaving",
        "");
}

TEST(a_proxy_is_ready_with_all_its_pods_and_says_where)
{
#define SERVER                                                                                     \
    "{'kind':'MCPServer','metadata':{'name':'s'},'status':{'phase':'Ready','url':'http://x/mcp'}}"
#define POD(READY)                                                                                 \
    "{'kind':'Pod','metadata':{'name':'s-0','ownerReferences':[{'kind':'StatefulSet','name':'s',"  \
    "'controller':true}]},'status':{'conditions':[{'type':'Ready','status':'" READY "'}]}}"
#define SET "{'kind':'StatefulSet','metadata':{'name':'s','labels':{'toolhive':'true'}}}"
    check_row("[" SERVER "," SET "," POD("True") "]", SHOW_READY, "ready", "http://x/mcp");
    check_row("[" SERVER "," SET "," POD("False") "]", SHOW_WORKS, "starting", "");
    check_row("[{'kind':'MCPServer','metadata':{'name':'s'},'status':{'phase':'Failed','message':"
              "'no such group'}}]",
        SHOW_FAILED,
        "failed",
        "no such group");
    check_row("[{'kind':'ModelRouter','metadata':{'name':'r'},'status':{'phase':'Ready',"
              "'endpoint':'http://y'}}]",
        SHOW_READY,
        "ready",
        "http://y");
}
