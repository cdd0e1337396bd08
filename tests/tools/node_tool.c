/* A node against the API server of $KUBECONFIG, for tests/cluster/test_node.py.
 *
 *   node_tool NAME DIRECTORY [--images=FILE] [--no-mounts] [--back-off-ms=N]
 *
 * SIGTERM ends all pods and then the tool; SIGKILL leaves them to the next one. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "http/loop.h"
#include "kube/config.h"
#include "kube/file.h"
#include "kube/http_transport.h"
#include "node/image_map.h"
#include "node/node.h"
#include "node/process_runtime.h"

struct tool {
    struct loop *loop;
    struct node *node;
};

static void stopped(void *ctx)
{
    struct tool *t = ctx;
    loop_stop(t->loop);
}

static void told_to_end(void *ctx, int number)
{
    (void)number;
    struct tool *t = ctx;
    node_stop(t->node, stopped, t);
}

static bool read_flags(char **argv, struct arena *a, struct image_map *images,
    struct process_runtime_options *runtime, struct node_options *node, struct error *err)
{
    for (; *argv; argv++) {
        struct str value = str_of(*argv), name = str_cut(&value, '='), text;
        if (str_eq(name, STR("--no-mounts"))) {
            runtime->no_mounts = true;
        } else if (str_eq(name, STR("--back-off-ms"))) {
            if (!str_to_int(value, &node->back_off_ms))
                return fail(err, ERR_INVALID, "%s", *argv);
        } else if (str_eq(name, STR("--images"))) {
            if (!file_read(a, value.ptr, 1 << 20, &text, err) ||
                !image_map_add(images, text, value.ptr, err))
                return false;
        } else {
            return fail(err, ERR_INVALID, "unknown: %s", *argv);
        }
    }
    return true;
}

static int run(struct tool *t, char **argv, struct arena *a, struct error *err)
{
    struct kube_config config;
    struct kube_config_options from = { 0 };
    struct process_runtime_options how = { 0 };
    struct image_map *images = image_map_new();
    struct node_options options = {
        .loop = t->loop,
        .images = images,
        .name = argv[1],
        .directory = argv[2],
        .path = getenv("PATH"),
    };
    kube_config_from_environment(&from);
    if (!read_flags(argv + 3, a, images, &how, &options, err) ||
        !kube_config_load(a, &from, &config, err))
        return 1;
    struct http_transport *http =
        http_transport_new(t->loop, &(struct http_transport_options){ .config = &config }, err);
    if (!http)
        return 1;
    struct process_runtime *runtime = process_runtime_new(t->loop, &how);
    options.transport = http_transport_kube(http);
    options.runtime = process_runtime_node(runtime);
    t->node = node_new(&options, err);
    if (!t->node)
        return 1;
    struct loop_signal *term = loop_signal_new(t->loop, SIGTERM, told_to_end, t);
    node_start(t->node);
    loop_run(t->loop);
    loop_signal_free(term);
    node_free(t->node);
    process_runtime_free(runtime);
    http_transport_free(http);
    image_map_free(images);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: node_tool NAME DIRECTORY [FLAG…]\n");
        return 2;
    }
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct error err = { 0 };
    struct tool t = { .loop = loop_new() };
    int code = run(&t, argv, &a, &err);
    if (code)
        fprintf(stderr, "%s\n", err.text);
    else
        loop_free(t.loop);
    return code;
}
