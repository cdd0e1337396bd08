#include "cli/show_rows.h"

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
    static const char *const want[] = { "a/b", "a/z", "b/a", "a/x", "a/w" };
    check_int((int64_t)count, lengthof(want));
    for (size_t i = 0; i < count; i++)
        check_text(arena_printf(test_arena(), "%s/%s", rows[i].namespace, rows[i].name), want[i]);
}

TEST(a_model_is_pending_copying_ready_or_failed_with_the_words_of_its_conditions)
{
    check_row("[{'kind':'Model','metadata':{'name':'m'}}]", SHOW_WAITS, "pending", "");
    check_row("[{'kind':'Model','status':{'phase':'Pending','conditions':[{'type':'Progressing',"
              "'message':'claim is not bound'}]}}]",
        SHOW_WAITS,
        "pending",
        "claim is not bound");
    check_row("[{'kind':'Model','status':{'phase':'Copying','conditions':[{'type':'Progressing',"
              "'message':'30% of 2 GiB'}]}}]",
        SHOW_WORKS,
        "copying",
        "30% of 2 GiB");
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

static struct show_disk half_of_one_key(void *ctx, const char *namespace, const char *key)
{
    (void)ctx;
    bool half = text_eq(namespace, "team") && text_eq(key, "abc");
    return (struct show_disk){ text_eq(key, "whole"), half ? 50 : -1 };
}

TEST(a_model_that_a_pod_fetches_is_pulled_although_its_status_says_ready)
{
    struct show_fetched fetched = { half_of_one_key, NULL };
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
                  &fetched,
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

static struct show_disk full_disk(void *ctx, const char *namespace, const char *key)
{
    (void)namespace, (void)key;
    return (
        struct show_disk){ .partial = 50 << 20, .place = "/data", .free_bytes = *(int64_t *)ctx };
}

TEST(a_model_that_the_disk_has_no_room_for_says_how_much_is_missing)
{
    int64_t free_bytes = 50 << 20;
    struct show_fetched fetched = { full_disk, &free_bytes };
    struct json objects = test_json("[{'kind':'Model','metadata':{'name':'a'},'status':{'phase':"
                                    "'Ready','cacheKey':'k','sourceContentLength':104857600}}]");
    struct show_row *rows;
    check_int((int64_t)show_rows(test_arena(), objects, &fetched, &rows), 1);
    check_text(rows[0].phase, "pulling");
    free_bytes = 3 << 20;
    check_int((int64_t)show_rows(test_arena(), objects, &fetched, &rows), 1);
    check_text(rows[0].phase, "no space");
    check_int(rows[0].state, SHOW_FAILED);
    check_text(rows[0].detail,
        "48 MiB more are needed in /data: make room, or start with --data on another disk");
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

/* A service that starts, with one pod of it. */
static const char *starting(const char *pod_status)
{
    return arena_printf(test_arena(),
        "[{'kind':'InferenceService','metadata':{'namespace':'a','name':'tiny'},"
        "'status':{'phase':'Creating','desiredReplicas':1}},"
        "{'kind':'Pod','metadata':{'namespace':'a','name':'tiny-other-5d-x','labels':"
        "{'pod-template-hash':'5d'},'ownerReferences':[{'name':'tiny-other-5d'}]},"
        "'status':{'conditions':[{'type':'PodScheduled','status':'False',"
        "'message':'not mine'}]}},"
        "{'kind':'Pod','metadata':{'namespace':'a','name':'tiny-7f-x','labels':"
        "{'pod-template-hash':'7f'},'ownerReferences':[{'name':'tiny-7f','controller':true}]},"
        "'status':%s}]",
        pod_status);
}

TEST(the_pods_of_a_service_tell_why_it_is_not_ready)
{
    check_row(starting("{}"), SHOW_WORKS, "starting", "");
    check_row(starting("{'conditions':[{'type':'PodScheduled','status':'False','message':"
                       "'0/1 nodes are available: 1 Insufficient nvidia.com/gpu.'}]}"),
        SHOW_WAITS,
        "pending",
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
    check_row(
        starting("{'initContainerStatuses':[{'name':'model-downloader','started':true,'state':"
                 "{'running':{}}}],'containerStatuses':[{'name':'server','state':"
                 "{'waiting':{'reason':'PodInitializing'}}}]}"),
        SHOW_WORKS,
        "starting",
        "waits for its model");
    check_row(starting("{'initContainerStatuses':[{'name':'side','ready':true,'state':"
                       "{'running':{}}}],'containerStatuses':[{'name':'server','state':"
                       "{'running':{}}}]}"),
        SHOW_WORKS,
        "starting",
        "runs, not ready yet");
    check_row(starting("{'containerStatuses':[{'name':'server','state':{'waiting':{'reason':"
                       "'CrashLoopBackOff','message':'back-off 10s'}},'lastState':{'terminated':"
                       "{'exitCode':3}}}]}"),
        SHOW_FAILED,
        "crashing",
        "server: exit code 3 (leeboard logs tiny -n a)");
    check_row(starting("{'initContainerStatuses':[{'name':'fetch','state':{'waiting':{'reason':"
                       "'CrashLoopBackOff'}},'lastState':{'terminated':{'exitCode':3}}}]}"),
        SHOW_FAILED,
        "crashing",
        "fetch: exit code 3 (leeboard logs tiny -n a -c fetch)");
    static const char *const said[][2] = {
        { "loading\\n0.1 E load: error loading model: cut\\n0.2 E exiting due to an error\\n",
            "error loading model: cut" },
        { "Traceback\\n  raise ValueError(x)\\nValueError: no such file",
            "ValueError: no such file" },
        { "one\\nsh: 1: gone: not found\\n\\n", "sh: 1: gone: not found" },
        { "no terror here, nor errors", "no terror here, nor errors" },
    };
    for (size_t i = 0; i < lengthof(said); i++)
        check_row(starting(arena_printf(test_arena(),
                      "{'containerStatuses':[{'name':'server','state':{'waiting':{'reason':"
                      "'CrashLoopBackOff'}},'lastState':{'terminated':{'message':'%s'}}}]}",
                      said[i][0])),
            SHOW_FAILED,
            "crashing",
            arena_printf(test_arena(), "server: %s (leeboard logs tiny -n a)", said[i][1]));
    check_row(starting("{'containerStatuses':[{'name':'server','state':{'waiting':{'reason':"
                       "'ErrImageNeverPull','message':'no program for image x'}}}]}"),
        SHOW_FAILED,
        "no program",
        "server: no program for image x");
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
    check_row("[{'kind':'Widget','metadata':{'deletionTimestamp':'2026-11-15T17:00:00Z'}}]",
        SHOW_WORKS,
        "leaving",
        "");
}
