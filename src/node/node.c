#include "node/node.h"

#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>

#include "base/tree.h"
#include "base/buf.h"
#include "base/resource.h"
#include "http/client.h"
#include "http/loop.h"
#include "http/tls.h"
#include "kube/events.h"
#include "kube/file.h"
#include "node/cgroup.h"
#include "node/names.h"
#include "node/host_ports.h"
#include "node/node_internal.h"
#include "node/own_address.h"
#include "kube/objects.h"
#include "node/runtime.h"
#include "node/volumes.h"

#define GONE_GRACE_MS 2000 /* of a pod whose object was deleted: no client waits for it */
#define ADDRESSES ((uint32_t)1 << 21) /* up to 127.95; Services use the addresses after it */
#define FIRST_ADDRESS ((uint32_t)127 << 24 | (uint32_t)64 << 16)

/* ---- the table ---- */

static bool entry_is(const struct table_node *n, const void *key)
{
    return text_eq(container_of(n, struct entry, hash)->uid, key);
}

struct entry *node_entry(const struct node *n, const char *uid)
{
    struct table_node *found =
        table_find(&n->entries, table_hash(&n->entries, uid, strlen(uid)), entry_is, uid);
    return found ? container_of(found, struct entry, hash) : NULL;
}

static void write_again(void *ctx)
{
    entry_write(ctx);
}

static void ask_again(void *ctx)
{
    entry_ask_token(ctx);
}

static struct entry *entry_new(struct node *n, struct json object)
{
    struct entry *e = mem_new_of(struct entry);
    e->node = n;
    e->uid = mem_strdup(json_get_text(object, "metadata.uid"));
    e->ns = mem_strdup(json_get_text(object, "metadata.namespace"));
    e->name = mem_strdup(json_get_text(object, "metadata.name"));
    e->wanted = capacity_of_pod(object);
    timer_init(&e->again, write_again, e);
    timer_init(&e->token_again, ask_again, e);
    table_add(&n->entries, &e->hash, table_hash(&n->entries, e->uid, strlen(e->uid)));
    return e;
}

static void entry_free(struct entry *e)
{
    const struct env *env = loop_env(e->node->options.loop);
    timer_stop(env, &e->again);
    timer_stop(env, &e->token_again);
    if (e->write)
        kube_op_cancel(e->node->client, e->write);
    if (e->token)
        kube_op_cancel(e->node->client, e->token);
    if (e->pod)
        pod_free(e->pod);
    for (size_t i = 0; i < e->audience_count; i++)
        free(e->audiences[i]);
    arena_done(&e->unfit_arena);
    free(e->uid);
    free(e->ns);
    free(e->name);
    free(e);
}

/* for (each_entry(e, n)) … at(&e_at) … */
#define each_entry(e, n)                                                                           \
    struct table_cursor e##_at = table_first(&(n)->entries);                                       \
    e##_at.node;                                                                                   \
    table_next(&e##_at)

static struct entry *at(const struct table_cursor *c)
{
    return container_of(c->node, struct entry, hash);
}

struct entry *node_entry_named(struct node *n, const char *ns, const char *name)
{
    for (each_entry(e, n))
        if (!at(&e_at)->gone && text_eq(at(&e_at)->ns, ns) && text_eq(at(&e_at)->name, name))
            return at(&e_at);
    return NULL;
}

/* ---- resources, devices, addresses ---- */

static bool holds(const struct entry *e)
{
    return (e->pod || e->binding) && !e->ended;
}

const char *entry_unfit(struct arena *a, const struct entry *e, bool *ret_look_again)
{
    struct capacity used = { { 0 } };
    struct node *n = e->node;
    const char *why = capacity_unknown(a, e->unbound);
    *ret_look_again = false;
    for (each_entry(o, n)) {
        const struct entry *other = at(&o_at);
        if (other == e || !holds(other))
            continue;
        capacity_add(&used, &other->wanted);
        if (!why)
            why = host_ports_clash(
                a, e->unbound, other->pod ? pod_object(other->pod) : other->unbound);
    }
    if (!why)
        why = capacity_lacks(a, &n->capacity, &used, &e->wanted, n->gpus.text);
    if (!why && n->host.host_ports) {
        why = host_ports_taken(a, e->unbound, n->host.host_ip);
        *ret_look_again = why;
    }
    return why;
}

static bool device_is_used(struct node *n, enum gpu_kind kind, int64_t device)
{
    for (each_entry(o, n)) {
        if (!at(&o_at)->pod || at(&o_at)->ended || capacity_gpu_kind(&at(&o_at)->wanted) != kind)
            continue;
        json_each (gpu, pod_gpus(at(&o_at)->pod))
            if (gpu->integer == device)
                return true;
    }
    return false;
}

static const char *devices_file(struct arena *a, const struct entry *e)
{
    return arena_printf(a, "%s/pods/%s/gpus", e->node->options.directory, e->uid);
}

/* The devices that it had, if another process assigned them. */
static struct json devices_for(struct arena *a, struct entry *e)
{
    struct str text;
    struct json had;
    if (file_read(a, devices_file(a, e), 4096, &text, NULL) && json_parse(a, text, &had, NULL))
        return had;
    struct json_builder b;
    json_builder_init(&b, a);
    enum gpu_kind kind = capacity_gpu_kind(&e->wanted);
    int64_t left = kind == GPU_KINDS ? 0 : e->wanted.amounts[CAPACITY_GPU + kind];
    for (int64_t i = 0; left > 0 && i < e->node->capacity.amounts[CAPACITY_GPU + kind]; i++)
        if (!device_is_used(e->node, kind, i)) {
            json_push(&b, json_int(i));
            left--;
        }
    return json_list_end(&b);
}

static void note_devices(struct arena *a, const struct entry *e)
{
    FILE *f = pod_gpus(e->pod).count ? fopen(devices_file(a, e), "we") : NULL;
    if (!f)
        return;
    fputs(json_to_text(a, pod_gpus(e->pod)), f);
    fclose(f);
}

static bool address_is_used(struct node *n, const char *address)
{
    for (each_entry(o, n))
        if (at(&o_at)->pod && text_eq(pod_ip(at(&o_at)->pod), address))
            return true;
    return false;
}

/* The address that it had, or one derived from its uid, so that addresses are seldom reused. */
static const char *address_for(struct arena *a, struct entry *e, struct json object)
{
    if (json_get_bool(object, "spec.hostNetwork", false))
        return e->node->host.host_ip;
    const char *old = json_get_text(object, "status.podIP");
    if (text_starts(old, "127.") && !address_is_used(e->node, old))
        return old;
    for (uint32_t i = (uint32_t)(e->hash.hash % ADDRESSES);; i = (i + 1) % ADDRESSES) {
        uint32_t ip = FIRST_ADDRESS + i;
        const char *text =
            arena_printf(a, "%u.%u.%u.%u", ip >> 24, ip >> 16 & 255, ip >> 8 & 255, ip & 255);
        if ((ip & 255) != 0 && (ip & 255) != 255 && !address_is_used(e->node, text))
            return text;
    }
}

/* ---- pods ---- */

static void tell_stopped(void *ctx)
{
    struct node *n = ctx;
    void (*stopped)(void *ctx) = take(n->stopped);
    if (n->host.cgroups)
        cgroups_remove(n->host.cgroups, NULL);
    if (stopped)
        stopped(n->stopped_ctx);
}

void node_look_whether_stopped(struct node *n)
{
    if (!n->stopped)
        return;
    for (each_entry(e, n)) {
        const struct entry *e = at(&e_at);
        if (e->pod && (!pod_stopped(e->pod) || e->write))
            return;
    }
    timer_set(loop_env(n->options.loop), &n->stop_told, 0);
}

static void try_unbound(struct node *n)
{
    for (each_entry(e, n))
        if (!at(&e_at)->pod && !n->stopped)
            entry_write(at(&e_at));
}

static void entry_remove(struct entry *e)
{
    struct node *n = e->node;
    table_remove(&n->entries, &e->hash);
    entry_free(e);
    try_unbound(n);
}

static struct entry *entry_of(struct node *n, const struct pod *p)
{
    struct entry *e = node_entry(n, json_get_text(pod_object(p), "metadata.uid"));
    assert(e && e->pod == p);
    return e;
}

static void pod_changed(void *ctx, struct pod *p)
{
    struct node *n = ctx;
    struct entry *e = entry_of(n, p);
    node_logs_wake(n, e->uid);
    node_sessions_wake(n, e->uid);
    if (e->gone && pod_stopped(p)) {
        tree_remove(pod_directory(p), NULL);
        if (n->host.cgroups)
            cgroups_remove(n->host.cgroups, e->uid);
        entry_remove(e);
    } else {
        entry_write(e);
    }
    node_look_whether_stopped(n);
}

static void pod_wants_token(void *ctx, struct pod *p, const char *audience)
{
    struct node *n = ctx;
    struct entry *e = node_entry(n, json_get_text(pod_object(p), "metadata.uid"));
    size_t i = 0;
    if (!e || !e->pod)
        return; /* it was just created, and asks again */
    while (i < e->audience_count && !text_eq(e->audiences[i], audience))
        i++;
    if (i == lengthof(e->audiences))
        return;
    if (i == e->audience_count)
        e->audiences[e->audience_count++] = mem_strdup(audience);
    if (!e->token && !timer_is_set(&e->token_again)) {
        e->audience_next = i;
        entry_ask_token(e);
    }
}

static void tell_of_pod(void *ctx, const struct pod *p, const char *field, bool warning,
    const char *reason, const char *note)
{
    node_event(ctx, pod_object(p), field, warning, reason, note);
}

static bool has_ended(struct json object)
{
    const char *phase = json_get_text(object, "status.phase");
    return text_eq(phase, "Succeeded") || text_eq(phase, "Failed");
}

static void take_pod(struct node *n, struct entry *e, struct json object)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    bool ended = has_ended(object), freed = ended && !e->ended;
    e->ended = ended;
    if (e->pod) {
        pod_set(e->pod, object);
    } else {
        const char *address = address_for(&a, e, object);
        e->pod = pod_new(&n->host, object, address, devices_for(&a, e));
        note_devices(&a, e);
        entry_is_bound(e);
        if (n->stopped)
            pod_stop(e->pod, 0);
    }
    if (freed)
        try_unbound(n);
}

static void pod_put(struct node *n, struct json object)
{
    const char *uid = json_get_text(object, "metadata.uid");
    const char *at_node = json_get_text(object, "spec.nodeName");
    struct entry *e = node_entry(n, uid);
    bool leaving = json_present(json_get(object, "metadata.deletionTimestamp"));
    bool gated = json_get(object, "spec.schedulingGates").count > 0;
    if (text_eq(at_node, n->options.name)) {
        take_pod(n, e ? e : entry_new(n, object), object);
        return;
    }
    if (!text_empty(at_node) || leaving || gated || has_ended(object)) {
        if (e && !e->pod)
            entry_remove(e);
        return;
    }
    if (!e)
        e = entry_new(n, object);
    arena_done(&e->unfit_arena);
    arena_init(&e->unfit_arena, ARENA_LIMIT_DEFAULT);
    e->unbound = json_copy(&e->unfit_arena, object);
    if (!n->stopped)
        entry_write(e);
}

static void pod_gone(struct entry *e)
{
    e->gone = true;
    if (e->pod)
        pod_stop(e->pod, pod_stopped(e->pod) ? 0 : GONE_GRACE_MS);
    else
        entry_remove(e);
}

/* ---- watch events ---- */

/* Slices change often, names seldom. */
static void look_at_names(void *ctx)
{
    struct node *n = ctx;
    struct buf b = BUF_INIT((size_t)4 << 20);
    names_hosts(&b, n->objects, NULL);
    if (!text_eq(n->names, buf_text(&b))) {
        free(n->names);
        n->names = mem_strdup(buf_text(&b));
        for (each_entry(e, n))
            if (at(&e_at)->pod)
                pod_names_changed(at(&e_at)->pod);
    }
    buf_done(&b);
}

static void pods_gone(struct node *n, const char *ns, const char *name)
{
    struct entry *found = node_entry_named(n, ns, name);
    if (found)
        pod_gone(found);
}

static void object_changed(
    void *ctx, const struct resource *kind, const char *ns, const char *name, struct json object)
{
    struct node *n = ctx;
    if (!n->loaded)
        return;
    if (kind == &RESOURCE_POD && json_present(object)) {
        /* A pod with the name of an earlier one whose deletion the watch did not show. */
        struct entry *e = node_entry(n, json_get_text(object, "metadata.uid"));
        if (!e)
            pods_gone(n, ns, name);
        pod_put(n, object);
    } else if (kind == &RESOURCE_POD) {
        pods_gone(n, ns, name);
    } else if (kind == &RESOURCE_SERVICE || kind == &RESOURCE_ENDPOINT_SLICE) {
        timer_set(loop_env(n->options.loop), &n->names_look, 0);
    } else {
        for (each_entry(e, n))
            if (at(&e_at)->pod && (!ns || text_eq(at(&e_at)->ns, ns)))
                pod_wake(at(&e_at)->pod);
    }
}

/* ---- folders of an earlier process whose pods were deleted ---- */

static void ignore_end(void *ctx)
{
    (void)ctx;
}

static void kill_left(struct node *n, const char *pod_folder)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const struct node_runtime *r = n->options.runtime;
    const char *containers = arena_printf(&a, "%s/containers", pod_folder);
    DIR *names = opendir(containers);
    for (struct dirent *c; names && (c = readdir(names));) {
        const char *folder = arena_printf(&a, "%s/%s", containers, c->d_name);
        DIR *runs = c->d_name[0] == '.' ? NULL : opendir(folder);
        for (struct dirent *run; runs && (run = readdir(runs));) {
            struct runtime_task *task = r->adopt(r->self,
                arena_printf(&a, "%s/%s", folder, run->d_name),
                (struct runtime_watch){ ignore_end, NULL });
            if (!task)
                continue;
            r->stop(r->self, task, true);
            r->release(r->self, task);
        }
        if (runs)
            closedir(runs);
    }
    if (names)
        closedir(names);
}

static void sweep(struct node *n)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *pods = arena_printf(&a, "%s/pods", n->options.directory);
    DIR *folders = opendir(pods);
    for (struct dirent *e; folders && (e = readdir(folders));) {
        if (e->d_name[0] == '.' || node_entry(n, e->d_name))
            continue;
        const char *folder = arena_printf(&a, "%s/%s", pods, e->d_name);
        kill_left(n, folder);
        tree_remove(folder, NULL);
    }
    if (folders)
        closedir(folders);
    if (n->host.cgroups)
        cgroups_remove(n->host.cgroups, NULL);
}

static void put_each(void *ctx, struct json object)
{
    pod_put(ctx, object);
}

static void all_loaded(void *ctx)
{
    struct node *n = ctx;
    n->loaded = true;
    objects_each(n->objects, &RESOURCE_POD, put_each, n);
    sweep(n);
}

/* ---- life ---- */

static bool make_folders(struct node *n, struct error *err)
{
    static const char *const folders[] = { "", "/pods" };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < lengthof(folders); i++) {
        const char *path = arena_printf(&a, "%s%s", n->options.directory, folders[i]);
        if ((mkdir(path, 0700) && errno != EEXIST) || chmod(path, 0700))
            return fail_errno(err, errno, "%s: the node needs it for its pods", path);
    }
    return true;
}

struct node *node_new(const struct node_options *options, struct error *err)
{
    static const struct resource *const kinds[] = { &RESOURCE_POD,
        &RESOURCE_CONFIG_MAP,
        &RESOURCE_SECRET,
        &RESOURCE_PVC,
        &NODE_PERSISTENT_VOLUME,
        &RESOURCE_SERVICE,
        &RESOURCE_ENDPOINT_SLICE,
        NULL };
    struct node *n = mem_new_of(struct node);
    const struct env *env = loop_env(options->loop);
    arena_init(&n->arena, ARENA_LIMIT_DEFAULT);
    n->options = *options;
    n->options.name = arena_strdup(&n->arena, options->name);
    n->options.directory = arena_strdup(&n->arena, options->directory);
    n->options.path = arena_strdup(&n->arena, options->path);
    n->options.leeboard = arena_strdup(&n->arena, options->leeboard);
    n->gpus = gpus_find(&n->arena, "");
    n->capacity = capacity_of_machine(&n->gpus);
    table_init(&n->entries, env->random(env->ctx), env->random(env->ctx));
    timer_init(&n->stop_told, tell_stopped, n);
    timer_init(&n->names_look, look_at_names, n);
    node_logs_init(n);
    node_sessions_init(n);
    n->client = kube_client_new(options->transport, env);
    n->events = event_recorder_new(n->client,
        env,
        &(struct event_recorder_options){ .controller = NODE_MANAGER, .instance = options->name });
    n->objects = objects_new(
        options->transport, env, kinds, (struct objects_watch){ object_changed, all_loaded, n });
    struct error no_groups = { 0 };
    struct cgroups *groups = cgroups_new(options->cgroups ? options->cgroups : "/sys/fs/cgroup",
        arena_printf(&n->arena, "leeboard-%s", options->name),
        &no_groups);
    n->host = (struct pod_host){ .loop = options->loop,
        .http = http_client_new(options->loop, &(struct http_client_options){ 0 }),
        .tls = tls_client_new(&(struct tls_client_options){ .verify_off = true }, err),
        .runtime = options->runtime,
        .cgroups = groups,
        .no_cgroups = arena_strdup(&n->arena, no_groups.text),
        .objects = n->objects,
        .images = options->images,
        .node_name = n->options.name,
        .host_ip = "127.0.0.1",
        .path = n->options.path,
        .leeboard = n->options.leeboard,
        .directory = n->options.directory,
        .gpus = &n->gpus,
        .allocatable = capacity_to_json(&n->arena, &n->capacity),
        .back_off_ms = options->back_off_ms,
        .host_ports = options->host_ports,
        .in_use = options->in_use,
        .in_use_ctx = options->in_use_ctx,
        .event = tell_of_pod,
        .changed = pod_changed,
        .token = pod_wants_token,
        .ctx = n };
    if (!n->host.tls || !make_folders(n, err)) {
        node_free(n);
        return NULL;
    }
    /* A full disk must not keep pods from running. */
    n->host.own_address = own_address_install(&n->arena, n->options.directory, NULL);
    return n;
}

void node_free(struct node *n)
{
    if (!n)
        return;
    assert(!n->log_streams && !n->open_sessions);
    timer_stop(loop_env(n->options.loop), &n->stop_told);
    timer_stop(loop_env(n->options.loop), &n->names_look);
    for (each_entry(e, n)) {
        struct entry *e = at(&e_at);
        table_remove(&n->entries, &e->hash);
        entry_free(e);
    }
    table_done(&n->entries);
    objects_free(n->objects);
    event_recorder_free(n->events);
    kube_client_free(n->client);
    http_client_free(n->host.http);
    tls_context_unref(n->host.tls);
    cgroups_free(n->host.cgroups);
    arena_done(&n->arena);
    free(n->names);
    free(n);
}

void node_start(struct node *n)
{
    node_register(n);
    objects_start(n->objects);
}

void node_stop(struct node *n, void (*done)(void *ctx), void *ctx)
{
    n->stopped = done;
    n->stopped_ctx = ctx;
    for (each_entry(e, n)) {
        struct pod *p = at(&e_at)->pod;
        if (p)
            pod_stop(
                p, json_get_int(pod_object(p), "spec.terminationGracePeriodSeconds", 30) * 1000);
    }
    node_look_whether_stopped(n);
}

void node_kill(struct node *n)
{
    for (each_entry(e, n))
        if (at(&e_at)->pod)
            pod_stop(at(&e_at)->pod, 0);
}
