#include "kinds/llmkube/settings.h"

#include "base/names.h"
#include "base/quantity.h"
#include "base/time.h"
#include "kinds/llmkube/source.h"

const struct llmkube_settings llmkube_settings_default = {
    .model_cache_path = "/models",
    .model_cache_size = "100Gi",
    .model_cache_access_mode = "ReadWriteOnce",
    .model_revalidate_interval_ms = (int64_t)60 * 60 * 1000,
    .init_container_image = "docker.io/curlimages/curl:8.18.0",
    .default_fsgroup = 102,
    .own_router_image = "leeboard-router:" LEEBOARD_VERSION,
};

/* ---- readers of values that only this family has ---- */

SETTING_READER(read_image)
{
    if (!*value)
        return setting_refuse(err, flag, value, "an image that has sh and curl");
    return setting_text(a, flag, value, to, err);
}

SETTING_READER(read_path)
{
    if (*value && *value != '/')
        return setting_refuse(err, flag, value, "an absolute path, or nothing");
    *(const char **)to = *value ? source_clean_path(a, value) : "";
    return true;
}

SETTING_READER(read_size)
{
    struct quantity size;
    if (!quantity_parse(str_of(value), &size, NULL) || quantity_value(size) <= 0)
        return setting_refuse(err, flag, value, "a size above zero, such as 100Gi");
    return setting_text(a, flag, value, to, err);
}

SETTING_READER(read_dashboard)
{
    struct str rest = str_of(value);
    const char *ns = str_dup(a, str_cut(&rest, '/'));
    bool fits =
        name_is_dns1123_label(ns) && rest.ptr && name_is_dns1123_subdomain(str_dup(a, rest));
    if (*value && !fits)
        return setting_refuse(err, flag, value, "NAMESPACE/NAME");
    return setting_text(a, flag, value, to, err);
}

SETTING_READER(read_access_mode)
{
    if (!text_eq(value, "ReadWriteOnce") && !text_eq(value, "ReadWriteMany"))
        return setting_refuse(err, flag, value, "ReadWriteOnce or ReadWriteMany");
    return setting_text(a, flag, value, to, err);
}

SETTING_READER(read_federation_role)
{
    (void)a;
    if (*value && !text_eq(value, "hub") && !text_eq(value, "edge"))
        return setting_refuse(err, flag, value, "hub or edge");
    *(bool *)to = text_eq(value, "edge");
    return true;
}

SETTING_READER(read_cache_mode)
{
    (void)a;
    if (!text_eq(value, "shared") && !text_eq(value, "perService"))
        return setting_refuse(err, flag, value, "shared or perService");
    *(enum cache_mode *)to = text_eq(value, "shared") ? CACHE_SHARED : CACHE_PER_SERVICE;
    return true;
}

SETTING_READER(read_interval)
{
    (void)a;
    int64_t ns;
    if (!time_duration_parse(value, &ns) || ns < TIME_NS_PER_S)
        return setting_refuse(
            err, flag, value, "a duration of at least a second, such as 30m or 1h");
    *(int64_t *)to = ns / TIME_NS_PER_MS;
    return true;
}

/* Items separated by commas, trimmed; empty ones are dropped. */
SETTING_READER(read_list)
{
    (void)flag, (void)err;
    struct json_builder b;
    json_builder_init(&b, a);
    for (struct str rest = str_of(value); rest.ptr;) {
        struct str item = str_trim(str_cut(&rest, ','));
        if (item.len)
            json_push(&b, json_strn(a, item.ptr, item.len));
    }
    *(struct json *)to = json_list_end(&b);
    return true;
}

SETTING_READER(read_roots)
{
    struct json items;
    if (!read_list(a, flag, value, &items, err))
        return false;
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (root, items) {
        if (root->string[0] != '/')
            return setting_refuse(err, flag, value, "absolute paths, with commas between them");
        json_push(&b, json_str(source_clean_path(a, root->string)));
    }
    *(struct json *)to = json_list_end(&b);
    return true;
}

/* KEY=VALUE items. */
SETTING_READER(read_pairs)
{
    struct json items, map = json_empty_map();
    if (!read_list(a, flag, value, &items, err))
        return false;
    json_each (item, items) {
        struct str rest = str_of(item->string);
        const char *key = str_dup(a, str_trim(str_cut(&rest, '=')));
        struct str pair = rest.ptr ? str_trim(rest) : rest;
        if (!*key || !pair.len)
            return setting_refuse(err, flag, value, flag->value);
        map = json_with_member(a, map, key, json_strn(a, pair.ptr, pair.len));
    }
    *(struct json *)to = json_or_absent(map);
    return true;
}

SETTING_READER(read_runtime_images)
{
    static const char *const runtimes[] = { "llamacpp", "vllm", "sglang", "tgi" };
    if (!read_pairs(a, flag, value, to, err))
        return false;
    json_each_member (m, *(struct json *)to) {
        size_t i = 0;
        while (i < lengthof(runtimes) && !text_eq(runtimes[i], m->key))
            i++;
        if (i == lengthof(runtimes))
            return setting_refuse(err, flag, value, "only the keys llamacpp, vllm, sglang and tgi");
    }
    return true;
}

/* ---- the flags ---- */

#define TO(member) offsetof(struct llmkube_settings, member)

const struct setting llmkube_flags[] = {
    { "model-cache-path",
        "PATH",
        "/models",
        "Directory of the operator's own model copies; empty: no cache in pods either.",
        read_path,
        TO(model_cache_path) },
    { "model-cache-size",
        "QUANTITY",
        "100Gi",
        "Size of a new model cache claim.",
        read_size,
        TO(model_cache_size) },
    { "model-cache-storage-class",
        "NAME",
        "",
        "Storage class of a new model cache claim; empty: the cluster's default.",
        setting_text,
        TO(model_cache_storage_class) },
    { "model-cache-access-mode",
        "MODE",
        "ReadWriteOnce",
        "Access mode of the shared cache claim: ReadWriteOnce or ReadWriteMany.",
        read_access_mode,
        TO(model_cache_access_mode) },
    { "model-cache-mode",
        "MODE",
        "shared",
        "One cache claim for a namespace (shared) or for each service (perService).",
        read_cache_mode,
        TO(model_cache_mode) },
    { "runtime-images",
        "RUNTIME=IMAGE,...",
        "",
        "Default images of the runtimes llamacpp, vllm, sglang and tgi.",
        read_runtime_images,
        TO(runtime_images) },
    { "allowed-host-path-roots",
        "PATH,...",
        "",
        "Directories for local model sources. Default: local sources are refused.",
        read_roots,
        TO(allowed_host_path_roots) },
    { "allowed-remote-hosts",
        "HOST,...",
        "",
        "Hosts the operator may read model headers from although their address is not public.",
        read_list,
        TO(allowed_remote_hosts) },
    { "emit-scrape-annotations",
        NULL,
        "false",
        "Put prometheus.io annotations on serving pods.",
        setting_switch,
        TO(emit_scrape_annotations) },
    { "gpu-sharing-shared-pool-selector",
        "KEY=VALUE,...",
        "",
        "Labels of the nodes whose GPUs are time-sliced, for gpuSharing mode shared.",
        read_pairs,
        TO(gpu_sharing_shared_pool_selector) },
    { "gpu-sharing-vram-per-device-gib",
        "GIB",
        "0",
        "GPU memory of one device, for GPUQuotas with vramBytes; 0: not known.",
        setting_int,
        TO(gpu_sharing_vram_per_device_gib) },
    { "model-revalidate-interval",
        "DURATION",
        "1h",
        "How often a source is asked whether it has changed.",
        read_interval,
        TO(model_revalidate_interval_ms) },
    { "ca-cert-configmap",
        "NAME",
        "",
        "ConfigMap in the workload's namespace with certificates that downloads trust too.",
        setting_text,
        TO(ca_cert_configmap) },
    { "init-container-image",
        "IMAGE",
        "docker.io/curlimages/curl:8.18.0",
        "Image of the containers that fetch models; needs sh and curl.",
        read_image,
        TO(init_container_image) },
    { "default-fsgroup",
        "GID",
        "102",
        "FsGroup of serving pods that name none; 0: none (OpenShift assigns its own).",
        setting_int,
        TO(default_fsgroup) },
    { "dri-render-gid",
        "GID",
        "0",
        "Group of /dev/dri/renderD*, added to pods that use it; 0: none.",
        setting_int,
        TO(dri_render_gid) },
    { "enable-pyrra-slo",
        NULL,
        "false",
        "Make Pyrra objectives for services with spec.slo.",
        setting_switch,
        TO(enable_pyrra_slo) },
    { "grafana-dashboard-source",
        "NAMESPACE/NAME",
        "",
        "ConfigMap with the dashboard that Grafana objects are made from.",
        read_dashboard,
        TO(grafana_dashboard_source) },
    { "router-proxy-image",
        "IMAGE",
        "",
        "Image of the routers of ModelRouters that name none; empty: Leeboard's own, and a running "
        "router keeps its image until its ModelRouter changes.",
        setting_text,
        TO(router_proxy_image) },
    { "default-litellm-url",
        "URL",
        "",
        "Address of back ends with provider litellm that name none.",
        setting_text,
        TO(default_litellm_url) },
    { "federation-role",
        "ROLE",
        "hub",
        "Part in a federation: hub (says how FederatedClusters are) or edge (reports to a hub).",
        read_federation_role,
        TO(federation_is_edge) },
    { "federation-datacenter-kubeconfig",
        "FILE",
        "",
        "Of an edge: the kubeconfig of the hub's cluster.",
        setting_text,
        TO(federation_datacenter_kubeconfig) },
    { "federation-cluster-name",
        "NAME",
        "",
        "Of an edge: the name of its FederatedCluster there.",
        setting_text,
        TO(federation_cluster_name) },
    { 0 },
};
