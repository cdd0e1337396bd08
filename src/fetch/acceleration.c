/* pod.acceleration: llama.cpp logs how many layers it gave to which GPU. The log is the only place
 * that shows a silent fallback to the CPU. */

#include "base/str.h"
#include "fetch/internal.h"
#include "kube/client.h"

#define LOG_LINES 2048
#define LOG_BYTES_MAX ((int64_t)1 << 20)

struct acceleration {
    struct effect_run run;
    struct kube_op *op;
};

static void stop(struct effect_run *run)
{
    struct acceleration *l = container_of(run, struct acceleration, run);
    if (l->op)
        kube_op_cancel(run->fetch->options.kube, l->op);
}

/* "offloaded 33/33 layers to GPU" */
static bool read_layers(struct str line, int64_t *ret_done, int64_t *ret_all)
{
    static const char before[] = "offloaded ";
    const char *at = memmem(line.ptr, line.len, before, strlen(before));
    if (!at || !memmem(line.ptr, line.len, " layers to GPU", 14))
        return false;
    struct str rest = { at + strlen(before), line.len - (size_t)(at - line.ptr) - strlen(before) };
    struct str done = str_cut(&rest, '/');
    return rest.ptr && str_to_int(done, ret_done) && str_to_int(str_cut(&rest, ' '), ret_all);
}

/* The tag of the device that a model buffer is on: "CUDA0 model buffer size = …". */
static struct str read_device(struct str line)
{
    static const char mark[] = " model buffer size";
    const char *at = memmem(line.ptr, line.len, mark, strlen(mark));
    if (!at)
        return (struct str){ 0 };
    const char *from = at;
    while (from > line.ptr && from[-1] != ' ' && from[-1] != ':')
        from--;
    struct str device = { from, (size_t)(at - from) };
    return str_starts(device, STR("CPU")) ? (struct str){ 0 } : device;
}

static void came(void *ctx, const struct kube_reply *reply)
{
    struct acceleration *l = ctx;
    struct arena *a = &l->run.arena;
    l->op = NULL;
    if (reply->error.code != ERR_NONE) {
        struct error err = reply->error;
        run_end(&l->run, json_none, &err);
        return;
    }
    int64_t done = -1, all = -1;
    const char *device = NULL;
    for (struct str rest = reply->text; rest.ptr;) {
        struct str line = str_cut(&rest, '\n');
        struct str found = read_device(line);
        if (found.len && !device)
            device = str_dup(a, found);
        int64_t d, n;
        if (read_layers(line, &d, &n)) {
            done = d;
            all = n;
        }
    }
    run_end(&l->run,
        json_fields(a,
            { "device", json_str(device) },
            { "layersOffloaded", json_if(done >= 0, json_int(done)) },
            { "layersTotal", json_if(all >= 0, json_int(all)) }),
        NULL);
}

static void start(struct effect_run *run)
{
    struct acceleration *l = container_of(run, struct acceleration, run);
    run->stop = stop;
    l->op = kube_pod_log(run->fetch->options.kube,
        &(struct kube_log){
            .ns = json_get_text(run->args, "namespace"),
            .pod = json_get_text(run->args, "pod"),
            .container = json_get_text(run->args, "container"),
            .tail_lines = LOG_LINES,
            .limit_bytes = LOG_BYTES_MAX,
        },
        (struct kube_then){ came, l });
}

const struct effect_type effect_acceleration = {
    "pod.acceleration",
    sizeof(struct acceleration),
    start,
};
