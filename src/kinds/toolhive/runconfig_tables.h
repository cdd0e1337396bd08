#pragma once

/* Tables of the Go structs in runconfig.json, for document_json(). */

#include "kinds/toolhive/document.h"

extern const struct document_field run_config_fields[];
/* Of embedded_auth_server_config; authserver-config.yaml of a VirtualMCPServer has it too. */
extern const struct document_field auth_server_fields[];
/* Of telemetry_config; config.yaml has it too. */
extern const struct document_field telemetry_fields[];
