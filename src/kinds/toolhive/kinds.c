#include "kinds/toolhive/composite_tool.h"
#include "kinds/toolhive/config/config.h"
#include "kinds/toolhive/mcp_server.h"
#include "kinds/toolhive/serving/serving.h"
#include "kinds/toolhive/toolhive.h"
#include "kinds/toolhive/virtual_mcp_server.h"

const struct kind *const toolhive_kinds[] = {
    &toolhive_server_kind,
    &toolhive_remote_proxy_kind,
    &toolhive_group_kind,
    &toolhive_server_entry_kind,
    &toolhive_tool_config_kind,
    &toolhive_external_auth_config_kind,
    &toolhive_oidc_config_kind,
    &toolhive_authz_config_kind,
    &toolhive_telemetry_config_kind,
    &toolhive_webhook_config_kind,
    &toolhive_virtual_server_kind,
    &toolhive_composite_tool_kind,
    &toolhive_embedding_server_kind,
    &toolhive_registry_kind,
    NULL,
};

/* Upstream's operator writes under the name of its binary. */
const char *const toolhive_predecessors[] = { "thv-operator", "manager", NULL };
