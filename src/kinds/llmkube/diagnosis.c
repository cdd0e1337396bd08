/* What the pods report: why they are not scheduled, why they crashed, and what hardware they use.
 * Nothing here decides what is created; it only reports. */

#include "kinds/llmkube/isvc.h"

#include <strings.h>

#include "kinds/pods/pods_healthy.h"

/* ---- scheduling ---- */

static struct json unscheduled(struct json pod)
{
    struct json condition = json_find(json_get(pod, "status.conditions"), "type", "PodScheduled");
    bool pending = text_eq(json_get_text(pod, "status.phase"), "Pending");
    bool refused = text_eq(json_get_text(condition, "status"), "False");
    return json_if(pending && refused, condition);
}

/* The scheduler writes `Insufficient nvidia.com/gpu`; the name must end there. */
static bool lacks_resource(const char *message, const char *resource)
{
    static const char word[] = "Insufficient ";
    size_t length = strlen(resource);
    for (const char *at = strstr(message, word); at; at = strstr(at + 1, word)) {
        const char *name = at + strlen(word);
        size_t has = strcspn(name, ",; ");
        while (has > 0 && name[has - 1] == '.')
            has--;
        if (has == length && strncmp(name, resource, length) == 0)
            return true;
    }
    return false;
}

static bool lacks_gpu(const struct isvc *svc, const char *message)
{
    if (svc->gpu.count > 0 && lacks_resource(message, svc->gpu.resource_name))
        return true;
    return json_present(json_or_absent(svc->gpu.claims)) &&
           strstr(message, "cannot allocate all claims");
}

static bool lacks_volume(const struct isvc *svc, const char *message)
{
    return svc->claim && (strstr(message, "volume node affinity conflict") ||
                             strstr(message, "PersistentVolume's node affinity"));
}

struct isvc_scheduling diagnosis_scheduling(const struct isvc *svc)
{
    struct json condition = { 0 };
    json_each (pod, svc->pods) {
        condition = unscheduled(*pod);
        if (json_present(condition))
            break;
    }
    const char *message = json_get_text(condition, "message");
    const char *reason = json_get_text(condition, "reason");
    if (!message)
        return (struct isvc_scheduling){ 0 };
    struct isvc_scheduling why = { .status = reason, .message = message };
    if (lacks_gpu(svc, message)) {
        why.status = "InsufficientGPU";
        why.waiting_for =
            svc->gpu.count > 0
                ? arena_printf(
                      svc->arena, "%s: %lld", svc->gpu.resource_name, (long long)svc->gpu.count)
                : "resource claims";
    } else if (lacks_volume(svc, message)) {
        why.status = "UnbindableModelCache";
        why.message = arena_printf(svc->arena,
            "The volume of model cache claim %s is where no node for this pod can reach it: %s",
            svc->claim,
            message);
    } else if (strstr(message, "Insufficient ")) {
        why.status = "InsufficientResources";
    }
    return why;
}

/* ---- crashes ---- */

/* Last output of a container and the cause that it indicates. The first match wins. */
struct signature {
    const char *reason;
    const char *remedy;
    const char *const *words; /* case-insensitive */
};

#define WORDS(...)                                                                                 \
    (const char *const[])                                                                          \
    {                                                                                              \
        __VA_ARGS__, NULL                                                                          \
    }

/* CUDA's own messages for its errors 35, 222, 803 and 804 (llama.cpp prints them unchanged),
 * PyTorch's for the first of them (vLLM, SGLang, TGI), and the message of NVIDIA's container
 * runtime for an image whose label requires a newer driver. */
static const struct signature driver_signatures[] = {
    {
        "CUDADriverInsufficient",
        "The image needs a newer GPU driver than the node has: take an image built for an older "
        "CUDA, or nodes with a newer driver",
        WORDS("CUDA driver version is insufficient for CUDA runtime version",
            "cudaErrorInsufficientDriver", "PTX was compiled with an unsupported toolchain",
            "unsupported display driver / cuda driver combination",
            "forward compatibility was attempted on non supported HW",
            "NVIDIA driver on your system is too old", "unsatisfied condition: cuda>="),
    },
    { 0 },
};

/* curl prints its exit code in brackets, our download script the server's status, and libc what is
 * wrong with a disk. */
static const struct signature transfer_signatures[] = {
    {
        "ModelSourceUntrusted",
        "The server's certificate is not trusted: give its CA to the operator with "
        "--ca-cert-configmap; the ConfigMap must be in this namespace",
        WORDS("curl: (51)", "curl: (60)", "curl: (77)", "curl: (83)"),
    },
    {
        "ModelSourceUnauthorized",
        "The server refuses the credentials: see spec.sourceSecretRef of the Model",
        WORDS("ERROR: HTTP 401", "ERROR: HTTP 403", "ERROR: HTTP 407", "returned error: 401",
            "returned error: 403", "returned error: 407"),
    },
    {
        "ModelSourceNotFound",
        "The server does not have it: see spec.source of the Model",
        WORDS("ERROR: HTTP 404", "ERROR: HTTP 410", "returned error: 404", "returned error: 410"),
    },
    {
        "ModelTransferOutOfSpace",
        "Give the cache a larger volume, or raise spec.resources.ephemeralStorage",
        WORDS("No space left on device", "Disk quota exceeded"),
    },
    {
        "ModelSourceUnreachable",
        "See the address, the cluster's DNS, and network policies for egress",
        WORDS("curl: (5)", "curl: (6)", "curl: (7)", "curl: (28)", "curl: (35)", "curl: (52)",
            "curl: (56)", "curl: (97)"),
    },
    { 0 },
};

struct finding {
    const struct signature *what;
    const char *line; /* the matching line */
    const char *node;
};

#define LINE_MAX_BYTES 200

/* One line of a container's output: without control characters, truncated between characters. */
static const char *line_around(struct arena *a, const char *text, const char *at)
{
    const char *from = at, *to = at + strcspn(at, "\n");
    while (from > text && from[-1] != '\n')
        from--;
    struct str line = str_trim((struct str){ from, (size_t)(to - from) });
    bool cut = line.len > LINE_MAX_BYTES;
    if (cut)
        line.len = LINE_MAX_BYTES;
    while (cut && line.len > 0 && ((unsigned char)line.ptr[line.len] & 0xc0) == 0x80)
        line.len--;
    char *copy = arena_printf(a, "%.*s%s", (int)line.len, line.ptr, cut ? "…" : "");
    for (char *c = copy; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = ' ';
    return copy;
}

static bool match(
    struct arena *a, const struct signature *signatures, const char *message, struct finding *ret)
{
    for (const struct signature *s = signatures; s->reason; s++) {
        for (const char *const *word = s->words; *word; word++) {
            const char *at = strcasestr(message, *word);
            if (!at)
                continue;
            ret->what = s;
            ret->line = line_around(a, message, at);
            return true;
        }
    }
    return false;
}

/* Examines the present or last termination of a container. */
static bool examine(
    struct arena *a, const struct signature *signatures, struct json status, struct finding *ret)
{
    static const char *const states[] = { "state.terminated", "lastState.terminated" };
    for (size_t i = 0; i < lengthof(states); i++) {
        struct json ended = json_get(status, states[i]);
        const char *message = json_get_text(ended, "message");
        if (message && json_get_int(ended, "exitCode", 0) != 0 &&
            match(a, signatures, message, ret))
            return true;
    }
    return false;
}

static bool is_downloader(const char *name)
{
    return text_eq(name, "model-downloader") || text_eq(name, "draft-model-downloader") ||
           text_eq(name, "model-cache-prep");
}

/* The result for all containers of one role, over all pods. */
struct inspection {
    struct finding finding; /* what NULL: none */
    bool well;              /* one succeeded */
};

static struct json server_status(const struct isvc *svc, struct json pod)
{
    return json_find(
        json_get(pod, "status.containerStatuses"), "name", svc->runtime->container_name);
}

static struct inspection inspect_servers(const struct isvc *svc)
{
    struct inspection found = { 0 };
    json_each (pod, svc->pods) {
        struct json status = server_status(svc, *pod);
        /* A container that runs now has recovered; another pod may still be crashing. */
        if (json_get_bool(status, "ready", false))
            found.well = true;
        else if (!found.finding.what &&
                 examine(svc->arena, driver_signatures, status, &found.finding))
            found.finding.node = json_get_text(*pod, "spec.nodeName");
    }
    return found;
}

static void inspect_downloads(const struct isvc *svc, struct json pod, struct inspection *found)
{
    struct json statuses = json_get(pod, "status.initContainerStatuses");
    bool any = false, all = true;
    json_each (status, statuses) {
        if (!is_downloader(json_get_text(*status, "name")))
            continue;
        bool done = json_get_int(*status, "state.terminated.exitCode", -1) == 0;
        any = true;
        all = all && done;
        if (!done && !found->finding.what &&
            examine(svc->arena, transfer_signatures, *status, &found->finding))
            found->finding.node = json_get_text(pod, "spec.nodeName");
    }
    found->well = found->well || (any && all);
}

/* A finding stays until the opposite was seen: the absence of pods proves nothing. */
static void plan_finding(struct isvc *svc, const char *condition, const struct inspection *found,
    const char *begins, const char *well_reason, const char *well_message)
{
    const struct finding *f = &found->finding;
    struct json before = isvc_condition(svc, condition);
    if (!f->what && json_present(before) && found->well) {
        plan_condition(svc->out, condition, true, well_reason, "%s", well_message);
        return;
    }
    if (!f->what) {
        isvc_condition_keep(svc, condition);
        return;
    }
    const char *message = arena_printf(svc->arena,
        "%s: %s%s%s. %s",
        begins,
        f->line,
        f->node ? " on node " : "",
        f->node ? f->node : "",
        f->what->remedy);
    plan_condition(svc->out, condition, false, f->what->reason, "%s", message);
    if (!text_eq(json_get_text(before, "reason"), f->what->reason))
        plan_event(svc->out, true, f->what->reason, "%s", message);
}

void diagnosis_crashes(struct isvc *svc)
{
    struct inspection servers = inspect_servers(svc), downloads = { 0 };
    json_each (pod, svc->pods)
        inspect_downloads(svc, *pod, &downloads);
    plan_finding(svc,
        "DriverCompatible",
        &servers,
        "The server cannot use the GPU driver",
        "RuntimeStarted",
        "The server started with the node's GPU driver");
    plan_finding(svc,
        "ModelTransferHealthy",
        &downloads,
        "The weights could not be fetched",
        "ModelTransferSucceeded",
        "The weights were fetched");
}

/* ---- pods that do not run ---- */

void diagnosis_pods(struct isvc *svc)
{
    pods_plan_healthy(svc->in, svc->out, svc->pods);
}

/* ---- acceleration ---- */

/* What llama.cpp printed about the layers on the GPU. It prints it once, so the log need not be
 * read again. */
struct json diagnosis_acceleration(struct isvc *svc)
{
    bool says = text_eq(svc->runtime->name, "llamacpp") && svc->gpu.present && svc->ready > 0;
    if (!says)
        return json_none;
    json_each (pod, svc->pods) {
        struct json status = server_status(svc, *pod);
        if (!json_get_bool(status, "ready", false))
            continue;
        struct json args = json_map(svc->arena,
            { "namespace", json_str(svc->ns) },
            { "pod", json_get(*pod, "metadata.name") },
            { "container", json_str(svc->runtime->container_name) });
        plan_effect(svc->out, "pod.acceleration", args, 0);
        struct json result = json_get(view_fact(svc->in, "pod.acceleration", args), "result");
        if (json_present(result))
            return json_or_absent(json_fields(svc->arena,
                { "device", json_get(result, "device") },
                { "layersOffloaded", json_get(result, "layersOffloaded") },
                { "layersTotal", json_get(result, "layersTotal") }));
        break;
    }
    return json_get(isvc_status(svc), "acceleration");
}
