#include "mcp/middleware/tools.h"

struct tools {
    struct json names;  /* map of allowed names; absent: all */
    struct json given;  /* the server's name → { name, description } */
    struct json actual; /* new name → the server's name */
};

static bool read_filter(struct arena *a, struct json list, struct tools *t, struct error *err)
{
    struct json_builder names;
    json_builder_init(&names, a);
    if (json_present(list) && !json_is(list, JSON_LIST) && !json_is(list, JSON_NULL))
        return fail(err,
            ERR_INVALID,
            "parameters.filter_tools: expected list, got %s",
            json_type_name(list));
    json_each (item, list) {
        if (text_empty(json_text(*item)))
            return fail(err, ERR_INVALID, "parameters.filter_tools: a tool name must not be empty");
        json_put(&names, json_text(*item), json_bool(true));
    }
    t->names = json_or_absent(json_map_end(&names));
    return true;
}

static bool read_overrides(struct arena *a, struct json map, struct tools *t, struct error *err)
{
    struct json_builder actual;
    json_builder_init(&actual, a);
    json_each_member (m, map) {
        const char *name = json_text(json_member(m->value, "name"));
        const char *description = json_text(json_member(m->value, "description"));
        if (text_empty(m->key))
            return fail(
                err, ERR_INVALID, "parameters.tools_override: a tool name must not be empty");
        if (text_empty(name) && text_empty(description))
            return fail(
                err, ERR_INVALID, "parameters.tools_override.%s: set name or description", m->key);
        if (!text_empty(name))
            json_put(&actual, name, json_str(m->key));
    }
    t->given = map;
    t->actual = json_map_end(&actual);
    return true;
}

static void *tools_open(const struct mcp_open *o, struct json params, struct error *err)
{
    struct tools *t = arena_new(o->arena, struct tools);
    if (!read_filter(o->arena, json_member(params, "filter_tools"), t, err) ||
        !read_overrides(o->arena, json_member(params, "tools_override"), t, err))
        return NULL;
    if (json_present(t->names) || t->given.count)
        return t;
    fail(err, ERR_INVALID, "parameters: set filter_tools or tools_override");
    return NULL;
}

static bool is_allowed(const struct tools *t, const char *name)
{
    return !json_present(t->names) || json_present(json_member(t->names, name));
}

/* ---- tools/list ---- */

/* On a separate stream, an answer may belong to any request: its form decides. */
static bool list_wants(void *state, struct mcp_exchange *x, void **slot)
{
    const struct mcp_message *m = mcp_request(x);
    (void)state;
    (void)slot;
    return m->kind == MCP_NONE || text_eq(m->method, "tools/list");
}

/* Absent: the tool is not in the list. */
static struct json shown(const struct tools *t, struct arena *a, struct json tool)
{
    const char *name = json_text(json_member(tool, "name"));
    struct json given = json_member(t->given, name ? name : "");
    const char *new_name = json_text(json_member(given, "name"));
    const char *description = json_text(json_member(given, "description"));
    if (text_empty(name))
        return json_none;
    if (!text_empty(new_name)) {
        name = new_name;
        tool = json_with_member(a, tool, "name", json_str(name));
    }
    if (!text_empty(description))
        tool = json_with_member(a, tool, "description", json_str(description));
    return json_if(is_allowed(t, name), tool);
}

static enum mcp_verdict list_answer(void *state, struct mcp_exchange *x, void **slot)
{
    struct json result = mcp_reply(x)->result, list = json_member(result, "tools");
    struct arena *a = mcp_arena(x);
    struct json_builder all;
    (void)slot;
    if (!json_is(list, JSON_LIST))
        return MCP_NEXT;
    json_builder_init(&all, a);
    json_each (tool, list)
        json_push(&all, shown(state, a, *tool));
    mcp_message_set_result(x, json_with_member(a, result, "tools", json_list_end(&all)));
    return MCP_NEXT;
}

static const char *const tool_filter_parameters[] = {
    "filter_tools", "tools_override.*.name", "tools_override.*.description", NULL
};

const struct mcp_step mcp_step_tool_filter = {
    .type = "tool-filter",
    .parameters = tool_filter_parameters,
    .open = tools_open,
    .wants_answer = list_wants,
    .answer = list_answer,
};

/* ---- tools/call ---- */

static bool takes_json(struct http_headers headers)
{
    struct str accept = http_header_find(headers, "accept");
    if (!accept.len)
        return true;
    while (accept.ptr) {
        struct str type = str_cut(&accept, ',');
        type = str_trim(str_cut(&type, ';'));
        if (str_eq_nocase(type, STR("application/json")) ||
            str_eq_nocase(type, STR("application/*")) || str_eq(type, STR("*/*")))
            return true;
    }
    return false;
}

static enum mcp_verdict refuse(struct mcp_exchange *x, int status)
{
    if (status == 200)
        mcp_answer_error(x, status, -32602, "tool not found", json_none);
    else
        mcp_answer(x, status, NULL, (struct str){ 0 });
    return MCP_ANSWER;
}

static enum mcp_verdict call_message(void *state, struct mcp_exchange *x, void **slot)
{
    const struct tools *t = state;
    const struct mcp_message *m = mcp_request(x);
    (void)slot;
    if (!text_eq(m->method, "tools/call"))
        return MCP_NEXT;
    if (text_empty(m->resource))
        return refuse(x, 400);
    if (!is_allowed(t, m->resource))
        return refuse(x, takes_json(mcp_headers(x)) ? 200 : 400);
    struct json actual = json_member(t->actual, m->resource);
    if (!json_present(actual)) {
        /* Without a list of names, a renamed tool must not be reachable by its old name. */
        const char *moved = json_get_text(json_member(t->given, m->resource), "name");
        return text_empty(moved) ? MCP_NEXT : refuse(x, takes_json(mcp_headers(x)) ? 200 : 400);
    }
    return mcp_request_splice(x, "params.name", actual) ? MCP_NEXT : refuse(x, 400);
}

const struct mcp_step mcp_step_tool_call_filter = {
    .type = "tool-call-filter",
    .parameters = tool_filter_parameters,
    .open = tools_open,
    .message = call_message,
};
