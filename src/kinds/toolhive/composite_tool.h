#pragma once

/* Composite tools: workflows of a gateway. They come inline in a VirtualMCPServer, or as a
 * VirtualMCPCompositeToolDefinition. */

#include "base/json.h"
#include "engine/kind.h"

extern const struct kind toolhive_composite_tool_kind;

/* What a template reads of the output of steps: ".steps.STEP.output.FIELD". */
struct template_refs {
    struct json_builder *fields; /* texts: ".steps.STEP.output.FIELD…"; NULL: not wanted */
};

/* Whether a text is a template of Go's text/template with the functions json, quote and fromJson.
 * Errors are Go's. */
bool composite_template_check(struct arena *a, const char *text, const struct template_refs *refs,
    struct error *err) must_check;

/* Whether the gateway would take this tool, as document_read() made it. `path` is how errors name
 * it. Stops at the first error of each part; the errors stand in one text. */
bool composite_tool_check(
    struct arena *a, struct json tool, const char *path, struct error *err) must_check;
