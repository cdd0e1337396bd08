#include "cli/embedded.h"

#include "base/embed.h"
#include "base/hash.h"
#include "base/yaml.h"

EMBED(crd_federated_clusters, "api/federation.llmkube.dev_federatedclusters.yaml");
EMBED(crd_models, "api/inference.llmkube.dev_models.yaml");
EMBED(crd_inference_services, "api/inference.llmkube.dev_inferenceservices.yaml");
EMBED(crd_model_routers, "api/inference.llmkube.dev_modelrouters.yaml");
EMBED(crd_gpu_quotas, "api/inference.llmkube.dev_gpuquotas.yaml");
EMBED(crd_model_pools, "api/inference.llmkube.dev_modelpools.yaml");
EMBED(crd_lora_adapters, "api/inference.llmkube.dev_loraadapters.yaml");
EMBED(crd_model_services, "api/model.otterscale.io_modelservices.yaml");
EMBED(crd_model_artifacts, "api/model.otterscale.io_modelartifacts.yaml");
EMBED(crd_embedding_servers, "api/toolhive.stacklok.dev_embeddingservers.yaml");
EMBED(crd_authz_configs, "api/toolhive.stacklok.dev_mcpauthzconfigs.yaml");
EMBED(crd_external_auth_configs, "api/toolhive.stacklok.dev_mcpexternalauthconfigs.yaml");
EMBED(crd_mcp_groups, "api/toolhive.stacklok.dev_mcpgroups.yaml");
EMBED(crd_oidc_configs, "api/toolhive.stacklok.dev_mcpoidcconfigs.yaml");
EMBED(crd_registries, "api/toolhive.stacklok.dev_mcpregistries.yaml");
EMBED(crd_remote_proxies, "api/toolhive.stacklok.dev_mcpremoteproxies.yaml");
EMBED(crd_server_entries, "api/toolhive.stacklok.dev_mcpserverentries.yaml");
EMBED(crd_mcp_servers, "api/toolhive.stacklok.dev_mcpservers.yaml");
EMBED(crd_telemetry_configs, "api/toolhive.stacklok.dev_mcptelemetryconfigs.yaml");
EMBED(crd_tool_configs, "api/toolhive.stacklok.dev_mcptoolconfigs.yaml");
EMBED(crd_webhook_configs, "api/toolhive.stacklok.dev_mcpwebhookconfigs.yaml");
EMBED(crd_composite_tools, "api/toolhive.stacklok.dev_virtualmcpcompositetooldefinitions.yaml");
EMBED(crd_virtual_servers, "api/toolhive.stacklok.dev_virtualmcpservers.yaml");

const char *const embedded_crd_texts[] = {
    crd_models,
    crd_inference_services,
    crd_model_routers,
    crd_gpu_quotas,
    crd_model_pools,
    crd_lora_adapters,
    crd_federated_clusters,
    crd_model_services,
    crd_model_artifacts,
    crd_embedding_servers,
    crd_authz_configs,
    crd_external_auth_configs,
    crd_mcp_groups,
    crd_oidc_configs,
    crd_registries,
    crd_remote_proxies,
    crd_server_entries,
    crd_mcp_servers,
    crd_telemetry_configs,
    crd_tool_configs,
    crd_webhook_configs,
    crd_composite_tools,
    crd_virtual_servers,
    NULL,
};

struct json embedded_crds(struct arena *a)
{
    struct json_builder list;
    json_builder_init(&list, a);
    for (size_t i = 0; embedded_crd_texts[i]; i++) {
        struct json documents;
        struct error err;
        bool ok = yaml_parse_all(a, str_of(embedded_crd_texts[i]), "api", &documents, &err);
        assert(ok); /* tests/crds/check also parses them */
        json_push_all(&list, documents);
    }
    return json_list_end(&list);
}

const char *embedded_crds_digest(struct arena *a)
{
    struct sha256 h;
    sha256_init(&h);
    for (size_t i = 0; embedded_crd_texts[i]; i++)
        sha256_add(&h, embedded_crd_texts[i], strlen(embedded_crd_texts[i]));
    return arena_strndup(a, sha256_end_hex(&h, a), 16);
}

/* The same five as in upstream's chart; pods that name a missing class are refused. */
static const struct {
    const char *name;
    int64_t value;
    bool never_preempts;
} priorities[] = {
    { "llmkube-critical", 1000000, false },
    { "llmkube-high", 100000, false },
    { "llmkube-normal", 10000, false },
    { "llmkube-low", 1000, false },
    { "llmkube-batch", 100, true },
};

struct json embedded_priority_classes(struct arena *a)
{
    struct json labels = json_map(a,
        { "app.kubernetes.io/name", json_str("leeboard") },
        { "app.kubernetes.io/managed-by", json_str("leeboard") });
    struct json_builder list;
    json_builder_init(&list, a);
    for (size_t i = 0; i < lengthof(priorities); i++)
        json_push(&list,
            json_fields(a,
                { "apiVersion", json_str("scheduling.k8s.io/v1") },
                { "kind", json_str("PriorityClass") },
                { "metadata.name", json_str(priorities[i].name) },
                { "metadata.labels", labels },
                { "value", json_int(priorities[i].value) },
                { "preemptionPolicy", json_if(priorities[i].never_preempts, json_str("Never")) }));
    return json_list_end(&list);
}
