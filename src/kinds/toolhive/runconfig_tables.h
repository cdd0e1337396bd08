#pragma once

/* Tables of the Go structs in runconfig.json, for document_json(). */

#include "kinds/toolhive/document.h"

extern const struct document_field run_config_fields[];
/* For embedded_auth_server_config, and for authserver-config.yaml of a VirtualMCPServer. */
extern const struct document_field auth_server_fields[];
/* For telemetry_config, and for config.yaml. */
extern const struct document_field telemetry_fields[];
