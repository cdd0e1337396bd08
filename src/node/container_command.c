#include <stdarg.h>

#include "node/capacity.h"
#include "node/image_map.h"
#include "node/names.h"
#include "node/own_address.h"
#include "node/paths.h"
#include "node/pod_internal.h"
#include "node/program_source.h"
#include "node/volumes.h"

#define MESSAGE_PATH_DEFAULT "/dev/termination-log"
#define LEEBOARD_INSIDE "/leeboard/bin/leeboard" /* the file may be readable by us only */
#define LIBRARY_INSIDE "/leeboard/lib/address.so"
#define HOME_INSIDE "/leeboard/home" /* "/" is mirrored anyway, so this costs no extra mounts */

static bool wait_because(struct container *c, const char *reason, const char *message)
{
    if (c->running)
        return false; /* it was adopted: nothing waits */
    bool known = text_eq(c->waiting, reason) && text_eq(c->waiting_message, message);
    c->waiting = reason;
    snprintf(c->waiting_message, sizeof(c->waiting_message), "%s", message);
    if (!known && text_eq(reason, "ErrImageNeverPull"))
        pod_event(c->pod, c, true, reason, "%s", message);
    else if (!known)
        pod_event(c->pod, c, true, "Failed", "Error: %s", message);
    return false;
}

static int64_t gpus_of(struct json container, enum gpu_kind kind)
{
    struct json limits = json_get(container, "resources.limits");
    struct json count = json_member(limits, capacity_gpu_name(kind));
    int64_t n = json_is(count, JSON_INT) ? count.integer : 0;
    if (json_is(count, JSON_STR) && !str_to_int(str_of(json_text(count)), &n))
        n = 0;
    return n;
}

/* Its share of the pod's devices: "0,1". */
static const char *devices_of(struct arena *a, const struct container *c, enum gpu_kind kind)
{
    const struct pod *p = c->pod;
    int64_t from = 0;
    for (const struct container *before = p->containers; before != c; before++)
        from += gpus_of(before->spec, kind);
    const char *text = "";
    for (int64_t i = from; i < from + gpus_of(c->spec, kind); i++) {
        struct json gpu = json_item(p->gpus, (size_t)i);
        if (json_present(gpu))
            text = arena_printf(a, "%s%s%lld", text, *text ? "," : "", (long long)gpu.integer);
    }
    return text;
}

/* Tells a vendor's libraries which devices to use. NVIDIA's can also be given none. */
static void put_devices(struct json_builder *b, struct arena *a, const struct container *c)
{
    static const char *const variables[GPU_KINDS] = {
        [GPU_AMD] = "ROCR_VISIBLE_DEVICES",
        [GPU_INTEL_I915] = "ZE_AFFINITY_MASK",
        [GPU_INTEL_XE] = "ZE_AFFINITY_MASK",
    };
    struct capacity wanted = capacity_of_pod(c->pod->object);
    enum gpu_kind kind = capacity_gpu_kind(&wanted);
    if (c->pod->host->gpus->counts[GPU_NVIDIA]) {
        const char *devices = kind == GPU_NVIDIA ? devices_of(a, c, kind) : "";
        json_put(b, "CUDA_VISIBLE_DEVICES", json_str(devices));
        json_put(b, "NVIDIA_VISIBLE_DEVICES", json_str(devices));
    }
    if (kind != GPU_KINDS && variables[kind])
        json_put(b, variables[kind], json_str_or_absent(devices_of(a, c, kind)));
}

const char *container_home_inside(struct arena *a, const struct container *c)
{
    return c->pod->host->runtime->mounts ? HOME_INSIDE : container_home(a, c);
}

/* The environment before the pod's own variables. */
static struct json basic_env(struct arena *a, const struct container *c)
{
    const struct pod_host *h = c->pod->host;
    struct json pod = c->pod->object, hostname = json_get(pod, "spec.hostname");
    const struct image_row *row = image_map_find(h->images, json_get_text(c->spec, "image"));
    struct json_builder b;
    json_builder_init(&b, a);
    json_put_all(&b,
        names_env(a,
            h->objects,
            json_get_text(pod, "metadata.namespace"),
            json_get_bool(pod, "spec.enableServiceLinks", true)));
    json_put(&b, "PATH", json_str(h->path));
    json_put(&b, "HOME", json_str(container_home_inside(a, c)));
    json_put(&b,
        "HOSTNAME",
        json_get_bool(pod, "spec.hostNetwork", false) ? json_str(h->node_name)
        : json_present(hostname)                      ? hostname
                                                      : json_get(pod, "metadata.name"));
    put_devices(&b, a, c);
    if (row)
        json_put_all(&b, row->env);
    return json_map_end(&b);
}

const char *container_translate(void *ctx, struct arena *a, const char *word)
{
    const struct container *c = ctx;
    return c->pod->host->runtime->mounts ? word
                                         : paths_translate(a, word, c->mounts, c->mount_count);
}

static const char *const *env_words(struct container *c, struct json env)
{
    const char **words = arena_array(&c->arena, env.count + 1, sizeof(*words));
    size_t count = 0;
    json_each_member (m, env)
        words[count++] = arena_printf(
            &c->arena, "%s=%s", m->key, container_translate(c, &c->arena, json_text(m->value)));
    return words;
}

static const struct image_row *row_of(const struct container *c)
{
    return image_map_find(c->pod->host->images, json_get_text(c->spec, "image"));
}

bool container_is_ours(const struct container *c)
{
    return image_row_is_ours(row_of(c));
}

/* The path of `leeboard` for it; NULL: its image runs another program. */
static const char *leeboard_of(const struct container *c)
{
    const struct pod_host *h = c->pod->host;
    if (!h->leeboard || !container_is_ours(c))
        return NULL;
    return h->runtime->mounts ? LEEBOARD_INSIDE : h->leeboard;
}

/* Without mounts, our own programs get the real paths of files that they expect at fixed paths. */
static struct json with_places(struct arena *a, const struct container *c, struct json env)
{
    if (!leeboard_of(c) || c->pod->host->runtime->mounts)
        return env;
    return json_overlay(a,
        env,
        json_map(a,
            { "LEEBOARD_HOSTS", json_strf(a, "%s/hosts", c->pod->directory) },
            { "LEEBOARD_RUNCONFIG", json_str("/etc/runconfig/runconfig.json") },
            { "LEEBOARD_SERVICE_ACCOUNT",
                json_str("/var/run/secrets/kubernetes.io/serviceaccount") }));
}

/* The library that binds it to the pod's address; NULL: it needs none. */
static const char *library_of(const struct container *c)
{
    const struct pod_host *h = c->pod->host;
    const struct image_row *row = row_of(c);
    bool host_network = json_get_bool(c->pod->object, "spec.hostNetwork", false);
    if (!h->own_address || !row || !row->own_address || host_network)
        return NULL;
    return h->runtime->mounts ? LIBRARY_INSIDE : h->own_address;
}

/* Sets the image's listen address variables to the pod's address. */
static struct json with_address(
    struct arena *a, const struct container *c, struct json env, const char *address)
{
    const struct image_row *row = row_of(c);
    const char *library = library_of(c);
    if (address && library) {
        const char *before = json_text(json_member(env, "LD_PRELOAD"));
        env = json_with_member(a, env, OWN_ADDRESS_VARIABLE, json_str(address));
        env = json_with_member(a,
            env,
            "LD_PRELOAD",
            json_strf(a, "%s%s%s", library, before ? " " : "", before ? before : ""));
    }
    json_each (name, row && address ? row->host_env : json_empty_list())
        env = json_with_member(a, env, json_text(*name), json_str(address));
    return env;
}

static bool resolve_mounts(struct container *c, struct json env, struct error *err)
{
    struct arena *a = &c->arena;
    struct pod *p = c->pod;
    const char *message = json_get_text(c->spec, "terminationMessagePath");
    if (text_empty(message) || message[0] != '/' || strstr(message, "/."))
        message = MESSAGE_PATH_DEFAULT;
    message = arena_strdup(a, message); /* the pod's object may be replaced while it runs */
    struct root_mount more[6] = { { .from = container_message_file(a, c), .to = message } };
    if (p->host->runtime->mounts) {
        more[1] = (struct root_mount){ .from = arena_printf(a, "%s/hosts", p->directory),
            .to = "/etc/hosts" };
        more[2] = (struct root_mount){ .from = container_home(a, c), .to = HOME_INSIDE };
        more[3] = (struct root_mount){ .from = p->host->leeboard, .to = leeboard_of(c) };
        more[more[3].to ? 4 : 3] =
            (struct root_mount){ .from = p->host->own_address, .to = library_of(c) };
    }
    if (!volumes_mounts(a, c->spec, p->places, env, more, &c->mounts, &c->mount_count, err))
        return false;
    c->message_mount = paths_mount_at(message, c->mounts, c->mount_count);
    c->message_below = c->message_mount ? message + strlen(c->message_mount->to) : NULL;
    return true;
}

/* The error message, with where to get the program. */
static const char *without_program(struct arena *a, const struct container *c,
    const struct image_request *request, const char *message)
{
    const struct image_row *row = image_map_find(c->pod->host->images, request->image);
    struct json words = request->command.count ? request->command : json_if(row, row->program);
    const char *source = program_source(a, words, c->pod->host->gpus);
    return *source ? arena_printf(a, "%s. %s", message, source) : message;
}

bool container_resolve(struct container *c, const char *const **ret_argv)
{
    struct pod *p = c->pod;
    struct error err;
    arena_done(&c->arena);
    arena_init(&c->arena, ARENA_LIMIT_DEFAULT);
    struct arena *a = &c->arena;
    struct pod_view view = pod_view(p);
    struct json env;
    c->message_mount = NULL;
    c->cgroup[0] = NULL;
    bool host_network = json_get_bool(p->object, "spec.hostNetwork", false);
    c->user = container_user(a, c);
    c->no_new_privs = container_no_new_privs(c);
    const char *refusal = container_user_refusal(a, c);
    if (refusal)
        return wait_because(c, "CreateContainerConfigError", refusal);
    if (!fields_env(a, &view, c->spec, basic_env(a, c), &env, &err) ||
        !resolve_mounts(c, env, &err))
        return wait_because(c, "CreateContainerConfigError", err.text);
    env = with_address(a, c, with_places(a, c, env), host_network ? NULL : p->ip);
    struct image_request request = { .image = json_get_text(c->spec, "image"),
        .command = fields_expand_list(a, json_get(c->spec, "command"), env),
        .args = fields_expand_list(a, json_get(c->spec, "args"), env),
        .address = host_network ? NULL : p->ip,
        .path = p->host->path,
        .leeboard = leeboard_of(c),
        .user = p->host->runtime->users ? c->user : NULL,
        .mounts = c->mounts,
        .mount_count = c->mount_count };
    const char *const *argv;
    if (!image_map_argv(p->host->images, a, &request, &argv, &err))
        return wait_because(c, "ErrImageNeverPull", without_program(a, c, &request, err.text));
    c->envp = env_words(c, env);
    const char **words = (const char **)(uintptr_t)argv;
    for (size_t i = 0; words[i]; i++)
        words[i] = container_translate(c, a, words[i]);
    const char *cwd = json_get_text(c->spec, "workingDir");
    c->cwd = text_empty(cwd) ? container_home_inside(a, c) : container_translate(c, a, cwd);
    *ret_argv = argv;
    return true;
}
