#include "kinds/llmkube/storage.h"

#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"
#include "kinds/llmkube/storage_program.h"

/* How one model is staged for one pod. */
struct staging {
    struct arena *arena;
    const struct llmkube_settings *settings;
    const struct model *model;
    const struct storage_options *options;
    bool cached;        /* into the claim, under the cache key; else into an emptyDir */
    bool several;       /* files are listed */
    const char *volume; /* name of the volume at /models */
    const char *dir;    /* CACHE_DIR; "" for a single file in an emptyDir */
    const char *path;   /* of the file to serve */
};

/* ---- parts of a pod ---- */

static struct json claim_volume(
    struct arena *a, const char *name, const char *claim, bool read_only)
{
    return json_fields(a,
        { "name", json_str(name) },
        { "persistentVolumeClaim.claimName", json_str(claim) },
        { "persistentVolumeClaim.readOnly", json_true_or_absent(read_only) });
}

static struct json mount(struct arena *a, const char *volume, const char *path, bool read_only)
{
    return json_fields(a,
        { "name", json_str(volume) },
        { "mountPath", json_str(path) },
        { "readOnly", json_true_or_absent(read_only) });
}

static struct json env(struct arena *a, const char *name, const char *value)
{
    return json_fields(a, { "name", json_str(name) }, { "value", json_str_or_absent(value) });
}

/* The volume that is mounted at /models. */
static struct json models_volume(const struct staging *s)
{
    if (s->cached)
        return claim_volume(s->arena, s->volume, s->options->claim, false);
    bool limited = s->options->ephemeral && !text_empty(s->options->ephemeral_size);
    struct json limit = json_if(limited, json_str(s->options->ephemeral_size));
    return json_map(s->arena,
        { "name", json_str(s->volume) },
        { "emptyDir", json_map(s->arena, { "sizeLimit", limit }) });
}

static bool mounts_host_file(const struct staging *s)
{
    return s->cached && s->model->source.origin == SOURCE_LOCAL &&
           source_allowed(s->settings, &s->model->source);
}

/* A file of the node needs no certificates, but upstream's template has them anyway. */
static bool trusts_more(const struct staging *s)
{
    return s->settings->ca_cert_configmap;
}

static struct json volumes(const struct staging *s)
{
    struct arena *a = s->arena;
    struct json host = json_fields(a,
        { "name", json_str("host-model") },
        { "hostPath.path", json_str(s->model->source.path) },
        { "hostPath.type", json_str("File") });
    struct json certificates = json_fields(a,
        { "name", json_str("custom-ca-cert") },
        { "configMap.name", json_str(s->settings->ca_cert_configmap) });
    return json_list(a,
        models_volume(s),
        json_if(mounts_host_file(s), host),
        json_if(trusts_more(s), certificates));
}

/* Values from users are passed to the program in the environment, never in its text. */
static struct json downloader_env(const struct staging *s)
{
    struct arena *a = s->arena;
    const struct source *source = &s->model->source;
    bool s3 = source->origin == SOURCE_S3;
    const char *from =
        s->several && source->origin == SOURCE_HF_REPO ? source_repo_base(a, source) : source->text;
    const char *names = "";
    struct json files = model_files(a, s->model);
    for (uint32_t i = 0; i < files.count; i++)
        names = arena_printf(a, "%s%s%s", names, i ? "\n" : "", files.items[i].string);
    return json_list(a,
        env(a, "MODEL_SOURCE", from),
        env(a, "CACHE_DIR", s->dir),
        s->several ? env(a, "MODEL_FILES", names) : env(a, "MODEL_PATH", s->path),
        json_if(s3, env(a, "S3_BUCKET", source->host)),
        s3 ? env(a, s->several ? "S3_PREFIX" : "S3_KEY", source->path) : json_none);
}

static struct json downloader(const struct staging *s)
{
    struct arena *a = s->arena;
    const struct model *m = s->model;
    struct json secret = json_fields(a, { "secretRef.name", json_str(m->secret_name) });
    return json_fields(a,
        { "name", json_str("model-downloader") },
        { "image", json_str(s->settings->init_container_image) },
        { "command",
            json_list(a,
                json_str("sh"),
                json_str("-c"),
                json_str(storage_fetch_program(a, s->settings, m, s->cached))) },
        { "env", downloader_env(s) },
        { "envFrom", json_if(m->secret_name, json_list(a, secret)) },
        { "volumeMounts",
            json_list(a,
                mount(a, s->volume, "/models", false),
                json_if(
                    mounts_host_file(s), mount(a, "host-model", "/host-model/model.gguf", true)),
                json_if(trusts_more(s), mount(a, "custom-ca-cert", "/custom-certs", true))) },
        { "securityContext.allowPrivilegeEscalation", json_bool(false) },
        { "securityContext.readOnlyRootFilesystem", json_bool(false) },
        { "securityContext.capabilities.drop", json_list(a, json_str("ALL")) },
        { "securityContext.runAsUser", json_get(s->options->pod_security, "runAsUser") },
        { "securityContext.runAsGroup", json_get(s->options->pod_security, "runAsGroup") },
        { "terminationMessagePolicy", json_str("FallbackToLogsOnError") });
}

/* Runs as root: other users lose their capabilities when the shell starts chown. */
static struct json preparer(const struct staging *s)
{
    struct arena *a = s->arena;
    int64_t group = json_get_int(s->options->pod_security, "fsGroup", s->settings->default_fsgroup);
    return json_fields(a,
        { "name", json_str("model-cache-prep") },
        { "image", json_str(s->settings->init_container_image) },
        { "command",
            json_list(
                a, json_str("sh"), json_str("-c"), json_str(storage_prepare_program(a, group))) },
        { "volumeMounts", json_list(a, mount(a, s->volume, "/models", false)) },
        { "securityContext.runAsUser", json_int(0) },
        { "securityContext.allowPrivilegeEscalation", json_bool(false) },
        { "securityContext.readOnlyRootFilesystem", json_bool(true) },
        { "securityContext.capabilities.drop", json_list(a, json_str("ALL")) },
        { "securityContext.capabilities.add", json_list(a, json_str("CHOWN"), json_str("FOWNER")) },
        { "securityContext.seccompProfile.type", json_str("RuntimeDefault") },
        { "terminationMessagePolicy", json_str("FallbackToLogsOnError") });
}

/* ---- the whole ---- */

static struct storage mounted_claim(struct arena *a, const struct source *source)
{
    return (struct storage){
        .volumes = json_list(a, claim_volume(a, "model-source", source->host, true)),
        .mounts = json_list(a, mount(a, "model-source", "/model-source", true)),
        .init_containers = json_empty_list(),
        .model_path = arena_printf(a, "/model-source/%s", source->path),
    };
}

/* A file or directory of this machine, mounted read-only at its own path, so that other parts of
 * the model next to it are found. The API server refuses a mount path with a colon. */
static struct storage file_in_place(struct arena *a, const struct model *m)
{
    const char *path = m->source.path;
    if (strchr(path, ':'))
        path = arena_printf(a, "/models/%s", model_file_name(a, m));
    if (strchr(path, ':'))
        path = arena_printf(a, "/models/%s.gguf", m->key);
    struct json volume = json_fields(
        a, { "name", json_str("host-model") }, { "hostPath.path", json_str(m->source.path) });
    return (struct storage){
        .volumes = json_list(a, volume),
        .mounts = json_list(a, mount(a, "host-model", path, true)),
        .init_containers = json_empty_list(),
        .model_path = path,
        .file_etag = m->etag,
    };
}

/* The path of one of several files, without `./` and the like. */
static const char *in_dir(const struct staging *s, const char *file)
{
    return source_clean_path(s->arena, arena_printf(s->arena, "%s/%s", s->dir, file));
}

struct storage storage_of(struct arena *a, const struct llmkube_settings *settings,
    const struct model *m, const struct storage_options *o)
{
    if (m->source.origin == SOURCE_PVC)
        return mounted_claim(a, &m->source);
    if (model_is_in_place(settings, m))
        return file_in_place(a, m);
    struct staging s = {
        .arena = a,
        .settings = settings,
        .model = m,
        .options = o,
        .cached = o->claim && !o->ephemeral && *m->cache_key,
        .several = model_has_files(m) && m->files.count,
    };
    s.volume = s.cached ? "model-cache" : "model-storage";
    const char *own_name = arena_printf(a, "/models/%s-%s", o->ns, m->name);
    s.dir = s.cached ? arena_printf(a, "/models/%s", m->cache_key) : s.several ? own_name : "";
    s.path = s.several  ? in_dir(&s, m->files.items[0].string)
             : s.cached ? arena_printf(a, "%s/%s", s.dir, model_file_name(a, m))
                        : arena_printf(a, "%s.gguf", own_name);
    bool prepare = s.cached && !settings->one_machine;
    return (struct storage){
        .volumes = volumes(&s),
        .mounts = json_list(a, mount(a, s.volume, "/models", true)),
        .init_containers = json_list(a, json_if(prepare, preparer(&s)), downloader(&s)),
        .model_path = s.path,
        .staged_dir = s.several ? s.dir : NULL,
        .mmproj_path = s.several && m->mmproj ? in_dir(&s, m->mmproj) : NULL,
    };
}

/* ---- claims ---- */

static struct json cache_claim(
    struct arena *a, const struct llmkube_settings *s, const char *name, const char *access_mode)
{
    return json_fields(a,
        { "metadata.name", json_str(name) },
        { "metadata.labels",
            json_map(a,
                { "app.kubernetes.io/name", json_str("llmkube") },
                { "app.kubernetes.io/component", json_str("model-cache") },
                { "app.kubernetes.io/managed-by", json_str("llmkube-controller") }) },
        { "spec.accessModes", json_list(a, json_str(access_mode)) },
        { "spec.storageClassName", json_str_or_absent(s->model_cache_storage_class) },
        { "spec.resources.requests.storage", json_str(s->model_cache_size) });
}

struct json storage_shared_claim(struct arena *a, const struct llmkube_settings *s)
{
    return cache_claim(a, s, STORAGE_SHARED_CLAIM, s->model_cache_access_mode);
}

struct json storage_service_claim(
    struct arena *a, const struct llmkube_settings *s, const char *service)
{
    return cache_claim(a, s, arena_printf(a, "%s-model-cache", service), "ReadWriteOnce");
}
