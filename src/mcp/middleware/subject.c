#include "mcp/middleware/subject.h"

static const struct {
    const char *method;
    const char *paths[3]; /* the first one that exists counts */
    const char *fixed;
} table[] = {
    { "initialize", { "clientInfo.name" }, NULL },
    { "tools/list", { "cursor" }, NULL },
    { "prompts/list", { "cursor" }, NULL },
    { "resources/list", { "cursor" }, NULL },
    { "resources/templates/list", { "cursor" }, NULL },
    { "tasks/list", { "cursor" }, NULL },
    { "roots/list", { "cursor" }, NULL },
    { "tasks/get", { "taskId" }, NULL },
    { "tasks/cancel", { "taskId" }, NULL },
    { "tasks/result", { "taskId" }, NULL },
    { "logging/setLevel", { "level" }, NULL },
    { "completion/complete", { "ref.name", "ref.uri", "ref" }, NULL },
    { "notifications/message", { "method" }, NULL },
    { "notifications/progress", { "progressToken" }, NULL },
    { "notifications/cancelled", { "requestId" }, NULL },
    { "notifications/tasks/status", { "taskId" }, NULL },
    { "notifications/elicitation/complete", { "elicitationId" }, NULL },
    { "notifications/initialized", { NULL }, "initialized" },
    { "notifications/roots/list_changed", { NULL }, "roots" },
    { "notifications/tools/list_changed", { NULL }, "tools" },
    { "notifications/prompts/list_changed", { NULL }, "prompts" },
    { "notifications/resources/list_changed", { NULL }, "resources" },
    { "notifications/resources/updated", { NULL }, "resources" },
    { "server/discover", { NULL }, "discover" },
    { "ping", { NULL }, "ping" },
};

const char *message_subject(struct arena *a, const struct mcp_message *m)
{
    if (!m->method || !text_empty(m->resource))
        return m->resource;
    for (size_t i = 0; i < lengthof(table); i++) {
        if (!text_eq(table[i].method, m->method))
            continue;
        for (size_t k = 0; k < lengthof(table[i].paths) && table[i].paths[k]; k++) {
            struct json v = json_get(m->params, table[i].paths[k]);
            if (json_is(v, JSON_STR) && v.count)
                return json_text(v);
            if (json_is(v, JSON_INT))
                return json_to_text(a, v);
        }
        return table[i].fixed;
    }
    return NULL;
}
