#pragma once

/* Tables of the Go structs in config.yaml of a VirtualMCPServer. */

#include "kinds/toolhive/document.h"

extern const struct document_field vmcp_config_fields[];
/* A composite tool: an item of compositeTools, and the spec of a
 * VirtualMCPCompositeToolDefinition. */
extern const struct document_field composite_tool_fields[];
