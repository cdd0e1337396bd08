#pragma once

#include "mcp/middleware.h"

/* Metrics at /metrics and spans and metrics to an OTLP collector, under ToolHive's names. */
extern const struct mcp_step mcp_step_telemetry;
