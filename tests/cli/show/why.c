#include "cli/show/why.h"

#include "tests/test.h"

/* The last lines of one run's log, and a folder. */
static const char *log_end(void *ctx, struct arena *a, const char *container_id)
{
    (void)ctx, (void)a;
    return text_eq(container_id, "process://u/server/1") ? "loading\nout of luck\n \n" : "";
}

static struct show_disk no_model(void *ctx, const char *ns, const char *cache_key)
{
    (void)ctx, (void)ns, (void)cache_key;
    return (struct show_disk){ .partial = -1 };
}

static bool full;

static bool is_full(void *ctx)
{
    return *(bool *)ctx;
}

static void check_row(
    const char *objects, enum show_state state, const char *phase, const char *detail)
{
    struct show_machine machine = {
        .model = no_model, .log_end = log_end, .is_full = is_full, .folder = "/data", .ctx = &full
    };
    struct show_row *rows;
    check_int((int64_t)show_rows(test_arena(), test_json(objects), &machine, &rows), 1);
    check_text(rows[0].phase, phase);
    check_text(rows[0].detail, detail);
    check_int(rows[0].state, state);
}

/* A service that starts, with one pod of it, and one of another. */
static const char *service(const char *status, const char *pod_status)
{
    return arena_printf(test_arena(),
        "[{'kind':'InferenceService','metadata':{'namespace':'a','name':'tiny'},'status':%s},"
        "{'kind':'Pod','metadata':{'namespace':'a','name':'tiny-other-5d-x','labels':"
        "{'pod-template-hash':'5d'},'ownerReferences':[{'name':'tiny-other-5d','controller':true}]}"
        ","
        "'status':{'conditions':[{'type':'PodScheduled','status':'False',"
        "'message':'not mine'}]}},"
        "{'kind':'Pod','metadata':{'namespace':'a','name':'tiny-7f-x','labels':"
        "{'pod-template-hash':'7f'},'ownerReferences':[{'name':'tiny-7f','controller':true}]},"
        "'status':%s}]",
        status,
        pod_status);
}

static const char *starting(const char *pod_status)
{
    return service("{'phase':'Creating','desiredReplicas':1}", pod_status);
}

/* A container named server that waits. */
static const char *waiting(const char *reason, const char *message)
{
    return starting(arena_printf(test_arena(),
        "{'containerStatuses':[{'name':'server','state':{'waiting':{'reason':'%s','message':'%s'}},"
        "'lastState':{'terminated':{'exitCode':3,'containerID':'process://u/server/1'}}}]}",
        reason,
        message));
}

TEST(a_pod_that_starts_tells_how_far_it_is)
{
    check_row(starting("{}"), SHOW_WORKS, "starting", "");
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
    check_row(waiting("ContainerCreating", "waiting for a token of the service account"),
        SHOW_WORKS,
        "starting",
        "");
    check_row(waiting("ContainerCreating", "pod has unbound immediate PersistentVolumeClaims"),
        SHOW_WAITS,
        "pending",
        "pod has unbound immediate PersistentVolumeClaims");
}

TEST(a_pod_that_cannot_start_tells_what_is_missing)
{
    check_row(waiting("ErrImageNeverPull", "no program for image x"),
        SHOW_FAILED,
        "no program",
        "server: no program for image x");
    check_row(waiting("CreateContainerConfigError", "no key a in ConfigMap b"),
        SHOW_FAILED,
        "no settings",
        "server: no key a in ConfigMap b");
    check_row(waiting("ContainerCreating", "MountVolume.SetUp failed for volume v"),
        SHOW_FAILED,
        "no volume",
        "MountVolume.SetUp failed for volume v");
}

TEST(a_pod_that_crashes_tells_its_code_and_its_last_line)
{
    check_row(waiting("CrashLoopBackOff", "back-off 10s"),
        SHOW_FAILED,
        "crashing",
        "server: exit code 3: out of luck (leeboard logs tiny -n a)");
    check_row(starting("{'containerStatuses':[{'name':'server','state':{'waiting':{'reason':"
                       "'CrashLoopBackOff'}},'lastState':{'terminated':{'exitCode':137,"
                       "'reason':'OOMKilled','message':'one\\ntwo\\n'}}}]}"),
        SHOW_FAILED,
        "crashing",
        "server: OOMKilled: two (leeboard logs tiny -n a)");
    check_row(starting("{'containerStatuses':[{'name':'server','state':{'waiting':{'reason':"
                       "'CrashLoopBackOff'}},'lastState':{'terminated':{'exitCode':139,"
                       "'reason':'Error'}}}]}"),
        SHOW_FAILED,
        "crashing",
        "server: exit code 139 (Segmentation fault) (leeboard logs tiny -n a)");
    check_row(starting("{'initContainerStatuses':[{'name':'fetch','state':{'waiting':{'reason':"
                       "'CrashLoopBackOff'}},'lastState':{'terminated':{'exitCode':3}}}]}"),
        SHOW_FAILED,
        "crashing",
        "fetch: exit code 3 (leeboard logs tiny -n a -c fetch)");
}

TEST(the_first_error_among_the_last_lines_of_a_log_tells_most)
{
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
                      "'CrashLoopBackOff'}},'lastState':{'terminated':{'exitCode':1,'message':"
                      "'%s'}}}]}",
                      said[i][0])),
            SHOW_FAILED,
            "crashing",
            arena_printf(
                test_arena(), "server: exit code 1: %s (leeboard logs tiny -n a)", said[i][1]));
}

TEST(a_pod_that_does_not_fit_waits_unless_it_never_will)
{
    static const char pod[] = "{'conditions':[{'type':'PodScheduled','status':'False','message':"
                              "'0/1 nodes are available: 1 Insufficient nvidia.com/gpu.%s'}]}";
    check_row(starting(arena_printf(test_arena(), pod, "")),
        SHOW_WAITS,
        "pending",
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
    check_row(starting(arena_printf(test_arena(),
                  pod,
                  " preemption: 0/1 nodes are available: 1 Preemption is not helpful for "
                  "scheduling.")),
        SHOW_FAILED,
        "pending",
        "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.");
}

/* A workload of the service whose pods are refused. */
static const char *refused(const char *status, const char *condition)
{
    return arena_printf(test_arena(),
        "[{'kind':'InferenceService','metadata':{'namespace':'a','name':'tiny'},'status':%s},"
        "{'kind':'Deployment','metadata':{'namespace':'a','name':'tiny','ownerReferences':"
        "[{'kind':'InferenceService','name':'tiny','controller':true}]},"
        "'status':{'conditions':[%s]}}]",
        status,
        condition);
}

TEST(pods_that_the_server_refuses_are_told_with_its_words)
{
    static const char failure[] =
        "{'type':'ReplicaFailure','status':'True','reason':'FailedCreate','message':'forbidden'}";
    check_row(refused("{'phase':'Creating'}", failure), SHOW_FAILED, "refused", "forbidden");
    check_row(refused("{'phase':'Ready'}", failure),
        SHOW_FAILED,
        "refused",
        "what is new of it: forbidden");
    check_row(refused("{'phase':'Creating'}",
                  "{'type':'Progressing','status':'False','reason':'ReplicaSetCreateError',"
                  "'message':'too long'}"),
        SHOW_FAILED,
        "refused",
        "too long");
    check_row("[{'kind':'StatefulSet','status':{'conditions':[{'type':'ReplicaFailure','status':"
              "'True','message':'no claim'}]}}]",
        SHOW_FAILED,
        "refused",
        "0/1  no claim");
}

TEST(a_model_that_cannot_be_fetched_is_told_even_while_it_is_tried_again)
{
    static const char status[] =
        "{'phase':'Creating','conditions':[{'type':'ModelTransferHealthy','status':'False',"
        "'reason':'%s','message':'it said so'}]}";
    static const char running[] =
        "{'initContainerStatuses':[{'name':'model-downloader','state':{'running':{}}}]}";
    check_row(service(arena_printf(test_arena(), status, "ModelSourceNotFound"), running),
        SHOW_FAILED,
        "no model",
        "it said so");
    check_row(service(arena_printf(test_arena(), status, "ModelTransferOutOfSpace"), running),
        SHOW_FAILED,
        "no space",
        "no space left in /data: free some (`leeboard models remove --unused`), or take another "
        "disk with --data");
}

TEST(what_is_on_its_way_says_when_the_disk_is_full)
{
    full = true;
    check_row(starting("{}"),
        SHOW_FAILED,
        "no space",
        "no space left in /data: free some (`leeboard models remove --unused`), or take another "
        "disk with --data");
    check_row(
        "[{'kind':'InferenceService','status':{'phase':'Stopped'}}]", SHOW_READY, "stopped", "");
    full = false;
}

TEST(a_job_tells_how_many_are_done_and_how_the_last_one_failed)
{
    static const char job[] =
        "[{'kind':'Job','metadata':{'namespace':'a','name':'j'},'spec':{'completions':3},"
        "'status':%s},"
        "{'kind':'Pod','metadata':{'namespace':'a','name':'j-x','ownerReferences':[{'kind':'Job',"
        "'name':'j','controller':true}]},'status':{'phase':'Failed','containerStatuses':["
        "{'name':'server','state':{'terminated':{'exitCode':3,'finishedAt':'2026-11-15T17:00:00Z',"
        "'containerID':'process://u/server/1'}}}]}},"
        "{'kind':'Pod','metadata':{'namespace':'a','name':'x','ownerReferences':[{'kind':"
        "'StatefulSet','name':'j','controller':true}]},'status':{'conditions':[{'type':"
        "'PodScheduled','status':'False'}]}}]";
    check_row(arena_printf(test_arena(), job, "{'succeeded':1,'failed':1}"),
        SHOW_WORKS,
        "trying again",
        "1/3  1 failed, the last one: server: exit code 3: out of luck");
    check_row(arena_printf(test_arena(),
                  job,
                  "{'failed':2,'conditions':[{'type':'Failed','status':'True','message':"
                  "'too often'}]}"),
        SHOW_FAILED,
        "failed",
        "0/3  too often  2 failed, the last one: server: exit code 3: out of luck");
    check_row(arena_printf(test_arena(),
                  job,
                  "{'succeeded':3,'conditions':[{'type':'Complete','status':'True'}]}"),
        SHOW_READY,
        "done",
        "3/3");
}

TEST(a_pod_of_nobody_has_a_row_of_its_own)
{
    static const char pod[] = "[{'kind':'Pod','metadata':{'name':'p'},'status':%s}]";
    check_row(arena_printf(test_arena(), pod, "{'phase':'Succeeded'}"), SHOW_READY, "done", "");
    check_row(arena_printf(test_arena(),
                  pod,
                  "{'phase':'Failed','containerStatuses':[{'name':'server','state':{'terminated':"
                  "{'exitCode':1,'finishedAt':'2026-11-15T17:00:00Z'}}}]}"),
        SHOW_FAILED,
        "failed",
        "server: exit code 1");
    check_row(arena_printf(test_arena(),
                  pod,
                  "{'phase':'Pending','containerStatuses':[{'name':'server','state':{'waiting':"
                  "{'reason':'ErrImageNeverPull','message':'no program'}}}]}"),
        SHOW_FAILED,
        "no program",
        "server: no program");
}
