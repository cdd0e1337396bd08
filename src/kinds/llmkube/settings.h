#pragma once

/* Settings that affect what LLMKube kinds create: LLMKube's own flags, under the same names. */

#include "base/base.h"
#include "base/json.h"
#include "base/setting.h"

enum cache_mode { CACHE_SHARED, CACHE_PER_SERVICE };

struct llmkube_settings {
    const char *model_cache_path;          /* "/models"; "" switches caching in pods off */
    const char *model_cache_size;          /* "100Gi" */
    const char *model_cache_storage_class; /* NULL: the cluster's default */
    const char *model_cache_access_mode;   /* "ReadWriteOnce" or "ReadWriteMany" */
    enum cache_mode model_cache_mode;
    struct json runtime_images;          /* { "llamacpp": "image", … }; absent: none */
    struct json allowed_host_path_roots; /* list of cleaned absolute paths; empty: local refused */
    struct json allowed_remote_hosts;    /* list of host names */
    bool emit_scrape_annotations;
    struct json gpu_sharing_shared_pool_selector; /* node labels; absent: not configured */
    int64_t gpu_sharing_vram_per_device_gib;
    int64_t model_revalidate_interval_ms; /* one hour */
    const char *ca_cert_configmap;        /* NULL: none */
    const char *init_container_image;
    int64_t default_fsgroup; /* 102; ≤ 0: none */
    int64_t dri_render_gid;  /* 0: none */
    bool enable_pyrra_slo;
    const char *grafana_dashboard_source;         /* "namespace/name" or NULL */
    const char *router_proxy_image;               /* for ModelRouter; NULL: our own */
    const char *own_router_image;                 /* for new routers; existing ones keep theirs */
    const char *default_litellm_url;              /* for ModelRouter; NULL: none */
    bool federation_is_edge;                      /* this cluster reports to another one */
    const char *federation_datacenter_kubeconfig; /* of the other cluster; NULL: none */
    const char *federation_cluster_name;          /* of our object there; NULL: none */
    const char *intel_gpu_resource;               /* from the environment, or NULL */
    const char *claims; /* directory of all claims, on one machine; or NULL */
    /* No cluster: status.endpoint has the Service's address because no DNS knows its name, and the
     * cache needs no preparation because all containers run as one user. */
    bool one_machine;
};

/* Upstream's defaults. */
extern const struct llmkube_settings llmkube_settings_default;

extern const struct setting llmkube_flags[]; /* the last one has no name */
