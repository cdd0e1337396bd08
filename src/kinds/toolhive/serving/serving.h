#pragma once

/* Servers of ToolHive that do not speak MCP: models for embeddings, and the registry. */

#include "kinds/toolhive/toolhive.h"

extern const struct kind toolhive_embedding_server_kind;
extern const struct kind toolhive_registry_kind;
