#pragma once

/* Composite tools: workflows of a gateway. They are inline in a VirtualMCPServer, or objects of
 * kind VirtualMCPCompositeToolDefinition. */

#include "base/json.h"
#include "engine/kind.h"

extern const struct kind toolhive_composite_tool_kind;

/* The fields of step outputs that a template reads: ".steps.STEP.output.FIELD". */
struct template_refs {
    struct json_builder *fields; /* texts: ".steps.STEP.output.FIELD…"; NULL: not wanted */
};

/* Whether a text is a template of Go's text/template with the functions json, quote and fromJson.
 * Error messages are Go's. */
bool composite_template_check(struct arena *a, const char *text, const struct template_refs *refs,
    struct error *err) must_check;

/* Whether the gateway would accept this tool, as returned by document_read(). `path` is the name of
 * the tool in errors. Stops at the first error of each part; all errors are in one text. */
bool composite_tool_check(
    struct arena *a, struct json tool, const char *path, struct error *err) must_check;
