/* leeboard ps: what runs, for people. */

#include <stdio.h>

#include "apiserver/core/table.h"
#include "base/str.h"
#include "cli/columns.h"
#include "cli/show/why.h"
#include "cli/up/folder.h"
#include "cli/up/objects.h"
#include "cli/up/tasks.h"
#include "http/loop.h"

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

static struct json row_of(struct ps *p, const struct show_row *row)
{
    struct arena *a = p->arena;
    struct json object = up_objects_find(&p->all, row);
    int64_t restarts = 0, bytes = 0;
    bool pods = false;
    bool may = !text_eq(row->kind, "Model") && !text_eq(row->kind, "ModelArtifact");
    json_each (pod, p->all.objects) {
        if (!may || !text_eq(json_get_text(*pod, "kind"), "Pod") || !show_why_belongs(*pod, object))
            continue;
        pods = true;
        bytes += up_tasks_bytes(p->tasks, p->task_count, json_get_text(*pod, "metadata.uid"));
        json_each (status, json_get(*pod, "status.containerStatuses"))
            restarts += json_get_int(*status, "restartCount", 0);
    }
    const char *endpoint = json_get_text(object, "status.endpoint");
    return json_list(a,
        json_str(row->name),
        json_str(row->kind),
        json_str(row->phase),
        json_str(endpoint ? endpoint : ""),
        pods ? json_strf(a, "%lld", (long long)restarts) : json_str(""),
        json_str(size_text(a, bytes)),
        json_str(table_age(a, json_get_text(object, "metadata.creationTimestamp"), p->now_ms)));
}

static bool print_rows(struct ps *p)
{
    struct json_builder rows;
    json_builder_init(&rows, p->arena);
    static const char *const heads[] = {
        "NAME", "KIND", "PHASE", "ENDPOINT", "RESTARTS", "MEMORY", "AGE"
    };
    struct json_builder head;
    json_builder_init(&head, p->arena);
    for (size_t i = 0; i < lengthof(heads); i++)
        json_push(&head, json_str(heads[i]));
    json_push(&rows, json_list_end(&head));
    for (size_t i = 0; i < p->all.count; i++)
        json_push(&rows, row_of(p, &p->all.rows[i]));
    columns_print(p->arena, json_list_end(&rows));
    return true;
}

/* What keeps a row from being ready stands below the table. */
static void print_reasons(const struct ps *p)
{
    for (size_t i = 0; i < p->all.count; i++) {
        const struct show_row *row = &p->all.rows[i];
        if (row->state != SHOW_READY && *row->detail)
            printf("%s %s: %s\n", row->kind, row->name, row->detail);
    }
}

static int run(struct cli *cli)
{
    struct ps p = { .arena = &cli->arena };
    struct ask q = { 0 };
    struct error err;
    const char *folder;
    if (!up_folder(cli, &folder, &err))
        return cli_fail(cli, &err);
    bool ok = ask_open_running(cli, folder, &q, &err) && up_objects_list(&q, folder, &p.all, &err);
    if (ok) {
        p.task_count = up_tasks(&cli->arena, folder, &p.tasks);
        p.now_ms = env_wall_ms(loop_env(q.loop));
        if (p.all.count)
            print_rows(&p);
        else
            fprintf(stderr, "Nothing is there; `leeboard apply -f FILE` changes that.\n");
        print_reasons(&p);
    }
    ask_close(&q);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

const struct cli_command cli_ps = {
    .name = "ps",
    .summary = "Show what `leeboard up` runs, with endpoints, restarts and memory.",
    .flags = (const struct cli_flag *const[]){ up_folder_flags, NULL },
    .run = run,
};
