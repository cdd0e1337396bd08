#include "kinds/toolhive/mcp_server.h"
#include "kinds/toolhive/toolhive.h"

const struct kind *const toolhive_kinds[] = {
    &toolhive_server_kind,
    &toolhive_group_kind,
    &toolhive_server_entry_kind,
    NULL,
};

/* Upstream's operator writes under the name of its binary. */
const char *const toolhive_predecessors[] = { "thv-operator", "manager", NULL };
