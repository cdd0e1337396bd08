#include "kinds/toolhive/toolhive.h"

#include "base/str.h"

/* The proxy is this program; upstream's image works, too. The gateway is upstream's. */
#define GATEWAY_IMAGE "ghcr.io/stacklok/toolhive/vmcp:v0.44.0"
#define REGISTRY_IMAGE "ghcr.io/stacklok/thv-registry-api:v1.3.0"

const struct toolhive_settings toolhive_settings_default = {
    .own_runner_image = "leeboard-mcp:" LEEBOARD_VERSION,
    .vmcp_image = GATEWAY_IMAGE,
    .registry_api_image = REGISTRY_IMAGE,
    .proxy_host = "0.0.0.0",
    .redis_secret_key = "redis-password",
    .migrate = true,
    .use_config_map = true,
};

SETTING_READER(read_image)
{
    if (!*value)
        return setting_refuse(err, flag, value, "an image");
    return setting_text(a, flag, value, to, err);
}

#define TO(member) offsetof(struct toolhive_settings, member)

const struct setting toolhive_flags[] = {
    { "toolhive-runner-image",
        "IMAGE",
        "",
        "Proxy image of MCPServers and MCPRemoteProxies (TOOLHIVE_RUNNER_IMAGE); empty: Leeboard's "
        "own, and a running proxy keeps its image until its object changes.",
        setting_text,
        TO(runner_image) },
    { "vmcp-image",
        "IMAGE",
        GATEWAY_IMAGE,
        "Gateway image of new VirtualMCPServers (VMCP_IMAGE).",
        read_image,
        TO(vmcp_image) },
    { "toolhive-registry-api-image",
        "IMAGE",
        REGISTRY_IMAGE,
        "Image of MCPRegistries (TOOLHIVE_REGISTRY_API_IMAGE).",
        read_image,
        TO(registry_api_image) },
    { "toolhive-proxy-host",
        "ADDRESS",
        "0.0.0.0",
        "Address that MCP proxies listen on (TOOLHIVE_PROXY_HOST).",
        setting_text,
        TO(proxy_host) },
    { "toolhive-default-image-pull-secrets",
        "NAMES",
        "",
        "Pull secrets of all MCP workloads, with commas between them.",
        setting_text,
        TO(image_pull_secrets) },
    { "toolhive-default-redis-addr",
        "ADDRESS",
        "",
        "Redis of MCP sessions where an object names none.",
        setting_text,
        TO(redis_addr) },
    { "toolhive-default-redis-secret-name",
        "NAME",
        "",
        "Secret with the password of that Redis.",
        setting_text,
        TO(redis_secret_name) },
    { "toolhive-default-redis-secret-key",
        "KEY",
        "redis-password",
        "Key in that Secret.",
        setting_text,
        TO(redis_secret_key) },
    { "operator-openshift",
        NULL,
        "false",
        "MCP pods get no numeric user and group ids (OPERATOR_OPENSHIFT).",
        setting_switch,
        TO(openshift) },
    { "toolhive-skip-update-check",
        NULL,
        "false",
        "MCP proxies report no usage metrics (TOOLHIVE_SKIP_UPDATE_CHECK).",
        setting_switch,
        TO(skip_update_check) },
    { "toolhive-enable-storage-version-migrator",
        NULL,
        "true",
        "Rewrite objects of ToolHive's kinds that are stored in an old version.",
        setting_switch,
        TO(migrate) },
    { "enable-experimental-features",
        NULL,
        "false",
        "Accepted for ToolHive's command lines; has no effect, as in ToolHive 0.44.0.",
        setting_switch,
        TO(experimental) },
    { "toolhive-use-configmap",
        NULL,
        "true",
        "Accepted for ToolHive's command lines; has no effect, as in ToolHive 0.44.0.",
        setting_switch,
        TO(use_config_map) },
    { 0 },
};

const char *toolhive_variable(struct arena *a, const char *flag)
{
    char *name = arena_strdup(a, flag);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
    return name;
}
