#include "tests/node/place.h"

#include "node/image_map.h"
#include "node/process_runtime.h"

static bool in_use(void *ctx, const char *ip)
{
    (void)ip;
    return ((struct place *)ctx)->in_use;
}

void place_start_node(struct place *p, const char *cgroups)
{
    struct error err;
    p->runtime =
        process_runtime_new(p->loop, &(struct process_runtime_options){ .log_bytes_max = 2000 });
    p->node = node_new(&(struct node_options){ .loop = p->loop,
                           .transport = &p->harbor.transport,
                           .runtime = process_runtime_node(p->runtime),
                           .images = p->images,
                           .name = "here",
                           .directory = p->harbor.dir,
                           .path = "/usr/bin:/bin",
                           .back_off_ms = 50,
                           .cgroups = cgroups,
                           .host_ports = true,
                           .in_use = in_use,
                           .in_use_ctx = p },
        &err);
    if (!p->node)
        test_fail(__FILE__, __LINE__, "%s", err.text);
    node_start(p->node);
}

void place_open_with(struct place *p, const char *cgroups)
{
    *p = (struct place){ 0 };
    harbor_open(&p->harbor);
    p->loop = p->harbor.loop;
    p->images = image_map_new();
    place_start_node(p, cgroups);
}

void place_open(struct place *p)
{
    place_open_with(p, "/no/cgroups/here");
}

static void has_stopped(void *ctx)
{
    ((struct place *)ctx)->stopped = true;
}

void place_stop(struct place *p)
{
    node_stop(p->node, has_stopped, p);
    await(p, p->stopped);
}

void place_close(struct place *p)
{
    place_stop(p);
    node_free(p->node);
    process_runtime_free(p->runtime);
    image_map_free(p->images);
    harbor_close(&p->harbor);
}

void run_pod_with(struct place *p, const char *name, const char *script, const char *of_container,
    const char *of_pod)
{
    harbor_do(&p->harbor,
        "POST",
        PODS,
        arena_printf(test_arena(),
            "{'metadata': {'name': '%s'}, 'spec': {'nodeName': 'here', "
            "'automountServiceAccountToken': false, 'terminationGracePeriodSeconds': 5, "
            "'containers': [{'name': 'main', 'image': 'busybox', "
            "'command': ['sh', '-c', '%s']%s}]%s}}",
            name,
            script,
            of_container,
            of_pod));
}

void run_pod(struct place *p, const char *name, const char *script, const char *of_container)
{
    run_pod_with(p, name, script, of_container, "");
}

struct json pod_now(struct place *p, const char *name)
{
    return harbor_do(&p->harbor, "GET", arena_printf(test_arena(), PODS "/%s", name), NULL);
}

bool is_ready(struct place *p, const char *name)
{
    return json_get_bool(pod_now(p, name), "status.containerStatuses.0.ready", false);
}
