#include "cli/mcp/look.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/ask.h"
#include "cli/columns.h"
#include "cli/mcp/client.h"
#include "cli/up/objects.h"
#include "kinds/toolhive/toolhive.h"

#define DESCRIPTION_WIDTH 72
#define PAGES_MAX 100
#define OUTPUT_BYTES_MAX ((size_t)64 << 20)

static const struct resource *const kinds[] = { &TOOLHIVE_SERVER, &TOOLHIVE_REMOTE_PROXY };

static const char *text_or(struct json object, const char *path, const char *otherwise)
{
    const char *text = json_get_text(object, path);
    return text_empty(text) ? otherwise : text;
}

static void print_json(struct json v)
{
    cleanup(buf_done) struct buf b = BUF_INIT(OUTPUT_BYTES_MAX);
    json_print_pretty(&b, v, 2);
    puts(buf_text(&b));
}

static bool wants_json(const struct cli *cli)
{
    return text_eq(cli_text(cli, "output"), "json");
}

/* ---- finding servers ---- */

/* Those of the given namespace, or of all namespaces. */
static bool find_servers(struct ask *q, struct json *ret, struct error *err)
{
    struct arena *a = &q->cli->arena;
    const char *ns = cli_given(q->cli, "namespace") ? q->ns : NULL;
    struct json_builder all;
    json_builder_init(&all, a);
    for (size_t i = 0; i < lengthof(kinds); i++) {
        struct ask_request request = {
            .method = "GET",
            .path = resource_path(a, kinds[i], ns, NULL, NULL),
        };
        int status;
        struct json body;
        if (ask(q, &request, &status, &body, err))
            json_each (item, json_get(body, "items"))
                json_push(&all, json_with_member(a, *item, "kind", json_str(kinds[i]->kind)));
        else if (err->code != ERR_NOT_FOUND) /* not installed: there are none */
            return false;
    }
    *ret = json_list_end(&all);
    return true;
}

/* The phase of `leeboard ps`, which also reads pods; without permission for that, the phase of the
 * object itself. */
static const char *phase_of(const struct up_objects *all, struct json server)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct show_row *row = &all->rows[i];
        if (text_eq(row->kind, json_get_text(server, "kind")) &&
            text_eq(row->name, json_get_text(server, "metadata.name")) &&
            text_eq(row->ns, json_get_text(server, "metadata.namespace")))
            return row->phase;
    }
    return text_or(server, "status.phase", "Pending");
}

static struct json summary(struct arena *a, const struct up_objects *all, struct json server)
{
    const char *url = json_get_text(server, "status.url");
    return json_map(a,
        { "name", json_get(server, "metadata.name") },
        { "namespace", json_get(server, "metadata.namespace") },
        { "kind", json_get(server, "kind") },
        { "transport", json_str(text_or(server, "spec.transport", "stdio")) },
        { "phase", json_str(phase_of(all, server)) },
        { "url", json_str(url ? url : "") });
}

static bool run_list(struct ask *q, struct error *err)
{
    static const char *const columns[] = {
        "name", "namespace", "kind", "transport", "phase", "url"
    };
    static const char *const heads[] = { "NAME", "NAMESPACE", "KIND", "TRANSPORT", "PHASE", "URL" };
    struct arena *a = &q->cli->arena;
    struct json servers;
    struct json_builder rows, objects, cells;
    struct up_objects all;
    if (!find_servers(q, &servers, err))
        return false;
    struct error ignored;
    if (!up_objects_list(q, NULL, &all, &ignored))
        all = (struct up_objects){ 0 };
    json_builder_init(&rows, a);
    json_builder_init(&objects, a);
    json_builder_init(&cells, a);
    for (size_t i = 0; i < lengthof(heads); i++)
        json_push(&cells, json_str(heads[i]));
    json_push(&rows, json_list_end(&cells));
    json_each (server, servers) {
        struct json row = summary(a, &all, *server);
        json_push(&objects, row);
        json_builder_init(&cells, a);
        for (size_t i = 0; i < lengthof(columns); i++)
            json_push(&cells, json_get(row, columns[i]));
        json_push(&rows, json_list_end(&cells));
    }
    if (wants_json(q->cli))
        print_json(json_list_end(&objects));
    else if (servers.count)
        columns_print(a, json_list_end(&rows));
    else
        fprintf(stderr, "There are no MCP servers; `leeboard apply -f FILE` changes that.\n");
    return true;
}

static bool find_server(struct ask *q, const char *name, struct json *ret, struct error *err)
{
    struct json servers;
    cleanup(buf_done) struct buf names = BUF_INIT(OUTPUT_BYTES_MAX);
    *ret = json_none;
    if (!find_servers(q, &servers, err))
        return false;
    json_each (server, servers) {
        const char *other = json_get_text(*server, "metadata.name");
        const char *ns = json_get_text(*server, "metadata.namespace");
        buf_printf(&names, "%s%s", names.len ? ", " : "", other);
        if (text_eq(other, name) && (!json_present(*ret) || text_eq(ns, q->ns)))
            *ret = *server;
    }
    return json_present(*ret) || fail(err,
                                     ERR_NOT_FOUND,
                                     "no MCP server is called %s; there is %s",
                                     name,
                                     names.len ? buf_text(&names) : "none");
}

static struct mcp_client *connect(struct ask *q, const char *name, struct error *err)
{
    struct json server;
    if (!find_server(q, name, &server, err))
        return NULL;
    const char *phase = text_or(server, "status.phase", "Pending");
    const char *url = json_get_text(server, "status.url");
    if (text_empty(url) || !text_eq(phase, "Ready")) {
        fail(err,
            ERR_UNAVAILABLE,
            "%s is %s: %s; `leeboard why %s` may say more",
            name,
            phase,
            text_or(server, "status.message", "nothing is known yet"),
            name);
        return NULL;
    }
    const char *fragment = strchr(url, '#');
    struct mcp_client_options options = {
        .arena = &q->cli->arena,
        .loop = q->loop,
        .url =
            arena_strndup(&q->cli->arena, url, fragment ? (size_t)(fragment - url) : strlen(url)),
        .token = cli_text(q->cli, "token"),
    };
    if (text_eq(json_get_text(server, "kind"), "MCPRemoteProxy") && !strchr(options.url + 8, '/'))
        options.url = arena_printf(&q->cli->arena, "%s/mcp", options.url);
    return mcp_client_open(&options, err);
}

/* ---- tools ---- */

/* "text, count?": a question mark means optional. */
static const char *arguments_of(struct arena *a, struct json schema)
{
    const char *text = "";
    json_each_member (m, json_get(schema, "properties")) {
        bool needed = false;
        json_each (name, json_get(schema, "required"))
            needed = needed || text_eq(json_text(*name), m->key);
        text = arena_printf(a, "%s%s%s%s", text, *text ? ", " : "", m->key, needed ? "" : "?");
    }
    return text;
}

/* The first line, truncated. */
static const char *short_text(struct arena *a, const char *text)
{
    size_t length = strcspn(text, "\n");
    bool cut = length > DESCRIPTION_WIDTH;
    while (cut && length > DESCRIPTION_WIDTH)
        for (length--; length && (text[length] & 0xC0) == 0x80;)
            length--;
    return arena_printf(a, "%.*s%s", (int)length, text, cut ? "…" : "");
}

static bool list_tools(struct ask *q, struct mcp_client *c, struct json *ret, struct error *err)
{
    struct arena *a = &q->cli->arena;
    struct json_builder all;
    const char *cursor = NULL;
    json_builder_init(&all, a);
    for (int page = 0; page < PAGES_MAX; page++) {
        struct json result;
        struct json params = json_map(a, { "cursor", json_str(cursor) });
        if (!mcp_client_ask(c, "tools/list", params, &result, err))
            return false;
        json_push_all(&all, json_get(result, "tools"));
        cursor = json_get_text(result, "nextCursor");
        if (text_empty(cursor))
            break;
    }
    *ret = json_list_end(&all);
    return true;
}

static void print_tools(struct arena *a, struct json tools)
{
    struct json_builder rows;
    json_builder_init(&rows, a);
    json_push(
        &rows, json_list(a, json_str("TOOL"), json_str("ARGUMENTS"), json_str("DESCRIPTION")));
    json_each (tool, tools)
        json_push(&rows,
            json_list(a,
                json_str(text_or(*tool, "name", "")),
                json_str(arguments_of(a, json_get(*tool, "inputSchema"))),
                json_str(short_text(a, text_or(*tool, "description", "")))));
    columns_print(a, json_list_end(&rows));
}

static bool run_tools(struct ask *q, struct mcp_client *c, struct error *err)
{
    struct json tools;
    if (!list_tools(q, c, &tools, err))
        return false;
    if (wants_json(q->cli))
        print_json(tools);
    else
        print_tools(&q->cli->arena, tools);
    return true;
}

/* ---- call ---- */

static bool read_arguments(struct cli *cli, struct json *ret, struct error *err)
{
    *ret = json_empty_map();
    if (cli->argument_count < 4)
        return true;
    const char *text = cli->arguments[3];
    if (!json_parse(&cli->arena, str_of(text), ret, err))
        return fail_in(err, "the tool's arguments, %s", text);
    return json_is(*ret, JSON_MAP) ||
           fail(err, ERR_INVALID, "the tool's arguments are a JSON object, such as {\"a\": 1}");
}

/* Prints text as it is, and everything else as one line of JSON. */
static void print_content(struct arena *a, struct json result, FILE *to)
{
    json_each (item, json_get(result, "content")) {
        bool text = text_eq(json_get_text(*item, "type"), "text");
        fprintf(to, "%s\n", text ? text_or(*item, "text", "") : json_to_text(a, *item));
    }
    struct json structured = json_get(result, "structuredContent");
    if (!json_get(result, "content").count && json_present(structured))
        fprintf(to, "%s\n", json_to_text(a, structured));
}

static bool run_call(struct ask *q, struct mcp_client *c, struct error *err)
{
    struct arena *a = &q->cli->arena;
    struct json arguments, result;
    const char *tool = q->cli->arguments[2];
    if (!read_arguments(q->cli, &arguments, err) ||
        !mcp_client_ask(c,
            "tools/call",
            json_map(a, { "name", json_str(tool) }, { "arguments", arguments }),
            &result,
            err))
        return false;
    bool failed = json_get_bool(result, "isError", false);
    if (wants_json(q->cli))
        print_json(result);
    else
        print_content(a, result, failed ? stderr : stdout);
    return !failed || fail(err, ERR_INVALID, "the tool %s says that it failed", tool);
}

/* ---- the commands ---- */

static const struct look {
    const char *word;
    size_t arguments_min, arguments_max;
    bool (*run)(struct ask *q, struct mcp_client *c, struct error *err);
    const char *usage;
} looks[] = {
    { "list", 1, 1, NULL, "write leeboard mcp list" },
    { "tools",
        2,
        2,
        run_tools,
        "write leeboard mcp tools NAME; `leeboard mcp list` has the names" },
    { "call",
        3,
        4,
        run_call,
        "write leeboard mcp call NAME TOOL [JSON]; `leeboard mcp tools NAME` has the tools" },
};

static const struct look *look_of(const struct cli *cli)
{
    for (size_t i = 0; cli->argument_count && i < lengthof(looks); i++)
        if (text_eq(cli->arguments[0], looks[i].word))
            return &looks[i];
    return NULL;
}

bool mcp_look_is(const struct cli *cli)
{
    return look_of(cli);
}

int mcp_look(struct cli *cli)
{
    const struct look *look = look_of(cli);
    const char *output = cli_text(cli, "output");
    struct ask q = { 0 };
    struct error err;
    if (cli->argument_count < look->arguments_min || cli->argument_count > look->arguments_max)
        return cli_usage(cli, "%s", look->usage);
    if (output && !text_eq(output, "json"))
        return cli_usage(cli, "--output is json, not %s", output);
    bool ok = ask_open(cli, &q, &err);
    if (ok && !look->run) {
        ok = run_list(&q, &err);
    } else if (ok) {
        struct mcp_client *c = connect(&q, cli->arguments[1], &err);
        ok = c && look->run(&q, c, &err);
        mcp_client_close(c);
    }
    ask_close(&q);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

const struct cli_flag mcp_look_flags[] = {
    { "output", 'o', "FORMAT", NULL, "Of list, tools and call: json, for programs." },
    { "token", 0, "TOKEN", NULL, "Of tools and call: the bearer token for the server." },
    { 0 },
};
