/* leeboard ps and why: what runs, and why something is not ready. */

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "apiserver/core/table.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/yaml.h"
#include "cli/columns.h"
#include "cli/show/show.h"
#include "cli/show/why.h"
#include "cli/up/folder.h"
#include "cli/up/objects.h"
#include "cli/up/tasks.h"
#include "http/loop.h"

#define LOOK_MS 500 /* how often to check whether it still runs */

struct ps {
    struct arena *arena;
    struct up_objects all;
    struct up_task *tasks;
    size_t task_count;
    int64_t now_ms;
};

static const char *size_text(struct arena *a, int64_t bytes)
{
    static const char *const units[] = { "KiB", "MiB", "GiB", "TiB" };
    double value = (double)bytes / 1024;
    size_t i = 0;
    for (; value >= 1024 && i + 1 < lengthof(units); i++)
        value /= 1024;
    return bytes ? arena_printf(a, value < 10 ? "%.1f %s" : "%.0f %s", value, units[i]) : "";
}

static const char *const heads[] = {
    "NAME", "KIND", "PHASE", "ENDPOINT", "RESTARTS", "MEMORY", "AGE", "NAMESPACE", "WHY"
};
#define NARROW_COLUMNS 7

static const char *why_of(const struct show_row *row)
{
    return row->state == SHOW_READY ? "" : row->detail;
}

struct pods {
    bool any;
    int64_t restarts, bytes;
};

static struct pods pods_of(const struct ps *p, const struct show_row *row, struct json object)
{
    struct pods pods = { 0 };
    bool may = !text_eq(row->kind, "Model") && !text_eq(row->kind, "ModelArtifact");
    json_each (pod, p->all.objects) {
        if (!may || !text_eq(json_get_text(*pod, "kind"), "Pod") || !show_why_belongs(*pod, object))
            continue;
        pods.any = true;
        pods.bytes += up_tasks_bytes(p->tasks, p->task_count, json_get_text(*pod, "metadata.uid"));
        json_each (status, json_get(*pod, "status.containerStatuses"))
            pods.restarts += json_get_int(*status, "restartCount", 0);
    }
    return pods;
}

static struct json endpoint_of(struct json object)
{
    struct json endpoint = json_get(object, "status.endpoint");
    return json_present(endpoint) ? endpoint : json_get(object, "status.url");
}

static struct json row_of(struct ps *p, const struct show_row *row, bool wide)
{
    struct arena *a = p->arena;
    struct json object = up_objects_find(&p->all, row);
    struct pods pods = pods_of(p, row, object);
    const char *endpoint = json_text(endpoint_of(object));
    const char *cells[] = {
        row->name,
        row->kind,
        row->phase,
        endpoint ? endpoint : "",
        pods.any ? arena_printf(a, "%lld", (long long)pods.restarts) : "",
        size_text(a, pods.bytes),
        table_age(a, json_get_text(object, "metadata.creationTimestamp"), p->now_ms),
        row->ns,
        why_of(row),
    };
    struct json_builder list;
    json_builder_init(&list, a);
    for (size_t i = 0; i < (wide ? lengthof(cells) : NARROW_COLUMNS); i++)
        json_push(&list, json_str(cells[i]));
    return json_list_end(&list);
}

static void print_rows(struct ps *p, bool wide)
{
    struct json_builder rows, head;
    json_builder_init(&rows, p->arena);
    json_builder_init(&head, p->arena);
    for (size_t i = 0; i < (wide ? lengthof(heads) : NARROW_COLUMNS); i++)
        json_push(&head, json_str(heads[i]));
    json_push(&rows, json_list_end(&head));
    for (size_t i = 0; i < p->all.count; i++)
        json_push(&rows, row_of(p, &p->all.rows[i], wide));
    columns_print(p->arena, json_list_end(&rows));
}

/* For programs: numbers are printed as JSON numbers. */
static struct json list_of(struct ps *p)
{
    struct arena *a = p->arena;
    struct json_builder list;
    json_builder_init(&list, a);
    for (size_t i = 0; i < p->all.count; i++) {
        const struct show_row *row = &p->all.rows[i];
        struct json object = up_objects_find(&p->all, row);
        struct pods pods = pods_of(p, row, object);
        json_push(&list,
            json_fields(a,
                { "name", json_str(row->name) },
                { "namespace", json_str(row->ns) },
                { "kind", json_str(row->kind) },
                { "phase", json_str(row->phase) },
                { "ready", json_bool(row->state == SHOW_READY) },
                { "endpoint", endpoint_of(object) },
                { "restarts", json_if(pods.any, json_int(pods.restarts)) },
                { "memoryBytes", json_if(pods.any, json_int(pods.bytes)) },
                { "created", json_get(object, "metadata.creationTimestamp") },
                { "why", json_str_or_absent(why_of(row)) }));
    }
    return json_list_end(&list);
}

static void print_list(struct ps *p, bool as_json)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 20);
    if (as_json)
        json_print_pretty(&b, list_of(p), 2);
    else
        yaml_print(&b, list_of(p));
    fputs(buf_text(&b), stdout);
    if (as_json)
        putchar('\n');
}

/* Prints below the table why rows are not ready. */
static void print_reasons(const struct ps *p)
{
    for (size_t i = 0; i < p->all.count; i++) {
        const struct show_row *row = &p->all.rows[i];
        if (row->state != SHOW_READY && *row->detail)
            printf("%s %s: %s\n", row->kind, row->name, row->detail);
    }
}

static void interrupt(void *ctx, int number)
{
    (void)number;
    *(bool *)ctx = true;
}

static bool is_interrupted(void *ctx)
{
    return *(bool *)ctx;
}

/* Shows the display of `up` until the user stops it or nothing runs any more. */
static int follow(struct cli *cli, const char *folder)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct loop_signal *signals[lengthof(numbers)];
    struct ask q = { 0 };
    struct error err;
    bool enough = false;
    if (!ask_open_running(cli, folder, &q, &err)) {
        ask_close(&q);
        return cli_fail(cli, &err);
    }
    for (size_t i = 0; i < lengthof(numbers); i++)
        signals[i] = loop_signal_new(q.loop, numbers[i], interrupt, &enough);
    struct show *show = show_new(&(struct show_options){
        .loop = q.loop,
        .transport = q.kube,
        .resources = up_resources,
        .fd = STDOUT_FILENO,
        .folder = folder,
    });
    while (!enough && up_folder_runs(folder))
        loop_run_until(q.loop, is_interrupted, &enough, LOOK_MS);
    show_free(show);
    for (size_t i = 0; i < lengthof(numbers); i++)
        loop_signal_free(signals[i]);
    ask_close(&q);
    if (!enough)
        fprintf(stderr, "leeboard has ended on %s\n", folder);
    return CLI_OK;
}

static int run(struct cli *cli)
{
    struct ps p = { .arena = &cli->arena };
    struct ask q = { 0 };
    struct error err;
    const char *folder;
    if (!up_folder(cli, &folder, &err))
        return cli_fail(cli, &err);
    const char *output = cli_text(cli, "output");
    bool as_json = text_eq(output, "json"), as_yaml = text_eq(output, "yaml");
    bool wide = text_eq(output, "wide");
    if (output && !as_json && !as_yaml && !wide)
        return cli_usage(cli, "--output is json, yaml or wide, not %s", output);
    if (cli_on(cli, "watch"))
        return output ? cli_usage(
                            cli, "--watch has the lines of `leeboard up`; --output has no effect")
                      : follow(cli, folder);
    bool ok = ask_open_running(cli, folder, &q, &err) && up_objects_list(&q, folder, &p.all, &err);
    if (ok) {
        p.task_count = up_tasks(&cli->arena, folder, &p.tasks);
        p.now_ms = env_wall_ms(loop_env(q.loop));
        if (as_json || as_yaml)
            print_list(&p, as_json);
        else if (p.all.count)
            print_rows(&p, wide);
        else
            fprintf(stderr, "Nothing is there; `leeboard apply -f FILE` changes that.\n");
        if (!output)
            print_reasons(&p);
    }
    ask_close(&q);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

static const struct cli_flag flags[] = {
    { "output",
        'o',
        "FORMAT",
        NULL,
        "json or yaml, for programs; wide: with namespace and cause in the table." },
    { "watch", 'w', NULL, "false", "Keep running and show each change, like `leeboard up`." },
    { 0 },
};

const struct cli_command cli_ps = {
    .name = "ps",
    .summary = "Show what `leeboard up` runs, with endpoints, restarts and memory.",
    .flags = (const struct cli_flag *const[]){ flags, up_folder_flags, NULL },
    .run = run,
};

/* ---- why ---- */

static bool fail_no_such(const struct ps *p, const char *name, struct error *err)
{
    cleanup(buf_done) struct buf names = BUF_INIT(4096);
    for (size_t i = 0; i < p->all.count; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", p->all.rows[i].name);
    return fail(err,
        ERR_NOT_FOUND,
        "nothing is called %s; there is %s",
        name,
        p->all.count ? buf_text(&names) : "nothing");
}

static bool print_why(const struct ps *p, const char *name, struct error *err)
{
    bool found = false;
    for (size_t i = 0; i < p->all.count; i++) {
        const struct show_row *row = &p->all.rows[i];
        if (!text_eq(row->name, name))
            continue;
        found = true;
        bool more = row->state != SHOW_READY && *row->detail;
        printf("%s %s is %s%s%s\n",
            row->kind,
            name,
            row->phase,
            more ? ": " : "",
            more ? row->detail : "");
    }
    return found || fail_no_such(p, name, err);
}

static int run_why(struct cli *cli)
{
    struct ps p = { .arena = &cli->arena };
    struct ask q = { 0 };
    struct error err;
    const char *folder;
    if (cli->argument_count != 1)
        return cli_usage(cli, "say which: leeboard why NAME; `leeboard ps` has the names");
    if (!up_folder(cli, &folder, &err))
        return cli_fail(cli, &err);
    bool ok = ask_open_running(cli, folder, &q, &err) &&
              up_objects_list(&q, folder, &p.all, &err) && print_why(&p, cli->arguments[0], &err);
    ask_close(&q);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

const struct cli_command cli_why = {
    .name = "why",
    .summary = "Say why something that `leeboard up` runs is not ready.",
    .arguments = "NAME",
    .flags = (const struct cli_flag *const[]){ up_folder_flags, NULL },
    .run = run_why,
};
