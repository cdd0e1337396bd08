/* leeboard apply, delete and get: a small subset of kubectl, for machines without it. */

#include <stdio.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/yaml.h"
#include "cli/apply.h"
#include "cli/check.h"
#include "cli/columns.h"
#include "cli/input.h"
#include "cli/up/folder.h"

#define FIELD_MANAGER "leeboard-cli"
#define OUTPUT_BYTES_MAX ((size_t)256 << 20)

/* ---- apply and delete: each object of the files ---- */

bool apply_find_target(struct ask *q, struct json object, struct apply_target *t, struct error *err)
{
    const char *version = json_get_text(object, "apiVersion");
    const char *kind = json_get_text(object, "kind");
    t->name = json_get_text(object, "metadata.name");
    if (!version || !kind || text_empty(t->name))
        return fail(err, ERR_INVALID, "an object without apiVersion, kind or metadata.name");
    if (!ask_resource_of_kind(q, version, kind, &t->resource, err))
        return false;
    const char *ns = json_get_text(object, "metadata.namespace");
    t->ns = t->resource.cluster_scoped ? NULL : ns ? ns : q->ns;
    t->path = resource_path(&q->cli->arena, &t->resource, t->ns, t->name, NULL);
    return true;
}

bool apply_object(struct ask *q, struct json object, struct apply_target *t,
    const char **ret_outcome, struct error *err)
{
    struct arena *a = &q->cli->arena;
    if (!apply_find_target(q, object, t, err))
        return false;
    int status;
    struct json before = { 0 }, after;
    if (!ask(q, &(struct ask_request){ .method = "GET", .path = t->path }, &status, &before, err) &&
        err->code != ERR_NOT_FOUND)
        return false;
    struct ask_request patch = {
        .method = "PATCH",
        .path = arena_printf(a, "%s?fieldManager=" FIELD_MANAGER "&force=true", t->path),
        .content_type = "application/apply-patch+yaml",
        .body = object,
    };
    if (!ask(q, &patch, &status, &after, err))
        return false;
    const char *was = json_get_text(before, "metadata.resourceVersion");
    bool same = text_eq(was, json_get_text(after, "metadata.resourceVersion"));
    *ret_outcome = status == 201 ? "created" : same ? "unchanged" : "changed";
    return true;
}

/* ---- all objects are checked before one is applied ---- */

bool apply_is_brought(struct json objects, struct json object)
{
    struct str group = str_of(json_get_text(object, "apiVersion"));
    group = group.ptr ? str_cut(&group, '/') : group;
    json_each (crd, objects)
        if (text_eq(json_get_text(*crd, "kind"), "CustomResourceDefinition") &&
            text_eq(json_get_text(*crd, "spec.names.kind"), json_get_text(object, "kind")) &&
            str_eq(str_of(json_get_text(*crd, "spec.group")), group))
            return true;
    return false;
}

static bool brings_namespace(struct json objects, const char *name)
{
    json_each (object, objects)
        if (text_eq(json_get_text(*object, "kind"), "Namespace") &&
            text_eq(json_get_text(*object, "metadata.name"), name))
            return true;
    return false;
}

static bool check_one(struct ask *q, struct json objects, struct json object, struct error *err)
{
    struct apply_target t;
    struct json answer;
    int status;
    int64_t install_ms = q->install_ms;
    q->install_ms = 0; /* no later CRD defines this kind */
    bool found = apply_find_target(q, object, &t, err);
    q->install_ms = install_ms;
    if (!found)
        return false;
    struct ask_request patch = {
        .method = "PATCH",
        .path = arena_printf(&q->cli->arena,
            "%s?fieldManager=" FIELD_MANAGER "&force=true&dryRun=All&fieldValidation=Strict",
            t.path),
        .content_type = "application/apply-patch+yaml",
        .body = object,
    };
    return ask_patiently(q, &patch, &status, &answer, err) ||
           (err->code == ERR_NOT_FOUND && brings_namespace(objects, t.ns));
}

/* Adds a line about an object that the server refuses, unless our own check, which also suggests
 * the nearest names, has one. */
static void add_refusal(const struct inputs *in, size_t i, const char *message, struct buf *own)
{
    struct json object = inputs_list(in).items[i];
    const char *kind = json_get_text(object, "kind"),
               *name = json_get_text(object, "metadata.name");
    const char *subject = arena_printf(in->arena, " %s/%s: ", kind ? kind : "?", name ? name : "?");
    if (!strstr(buf_text(own), subject))
        buf_printf(own, "%s\n", check_explain(in, i, message));
}

bool apply_check(struct ask *q, struct inputs *in, struct error *err)
{
    struct json objects = inputs_list(in);
    cleanup(buf_done) struct buf lines = BUF_INIT(OUTPUT_BYTES_MAX);
    size_t bad = 0;
    for (uint32_t i = 0; i < objects.count; i++) {
        struct json object = objects.items[i];
        if (apply_is_brought(objects, object) || check_one(q, objects, object, err))
            continue;
        if (err->code == ERR_UNAVAILABLE || err->code == ERR_UNAUTHORIZED)
            return false;
        if (!bad++)
            check_inputs(in, &lines);
        add_refusal(in, i, err->text, &lines);
    }
    if (!bad)
        return true;
    const char *text = buf_text(&lines), *last = text + lines.len - 1;
    while (last > text && last[-1] != '\n')
        last--;
    fprintf(stderr, "%.*s", (int)(last - text), text);
    return fail(err, ERR_INVALID, "%.*s; nothing was applied", (int)strcspn(last, "\n"), last);
}

bool apply_and_print(struct ask *q, struct json object, struct error *err)
{
    struct apply_target t;
    const char *outcome;
    if (!apply_object(q, object, &t, &outcome, err))
        return false;
    printf("%s/%s %s\n", t.resource.plural, t.name, outcome);
    return true;
}

static bool delete_one(struct ask *q, struct json object, struct error *err)
{
    struct apply_target t;
    int status;
    struct json answer;
    if (!apply_find_target(q, object, &t, err))
        return false;
    struct ask_request request = { .method = "DELETE", .path = t.path };
    bool deleted = ask(q, &request, &status, &answer, err);
    if (!deleted && err->code != ERR_NOT_FOUND)
        return false;
    printf("%s/%s %s\n", t.resource.plural, t.name, deleted ? "deleted" : "was not there");
    return true;
}

bool apply_read_files(struct cli *cli, bool *ret_given, struct inputs *ret, struct error *err)
{
    struct inputs in;
    inputs_init(&in, &cli->arena);
    *ret_given = false;
    for (size_t i = 0; i < cli->count; i++) {
        if (!text_eq(cli->names[i], "filename"))
            continue;
        *ret_given = true;
        if (!input_read(&in, cli->values[i], err))
            return false;
    }
    *ret = in;
    return true;
}

void apply_name_error(struct json object, struct error *err)
{
    const char *kind = json_get_text(object, "kind");
    const char *name = json_get_text(object, "metadata.name");
    fail_in(err, "%s/%s", kind ? kind : "?", name ? name : "?");
}

/* Applies or deletes each object; a failure does not stop the others. */
static int each_object(
    struct cli *cli, bool check, bool (*one)(struct ask *q, struct json object, struct error *err))
{
    struct ask q;
    struct error err;
    struct inputs objects;
    bool given;
    if (!apply_read_files(cli, &given, &objects, &err))
        return cli_fail(cli, &err);
    if (!given)
        return cli_usage(cli, "say which manifests: -f FILE, DIR or -");
    int code = CLI_OK;
    if (!ask_open(cli, &q, &err) || (check && !apply_check(&q, &objects, &err))) {
        code = cli_fail(cli, &err);
    } else {
        json_each (object, inputs_list(&objects))
            if (!one(&q, *object, &err)) {
                apply_name_error(*object, &err);
                code = cli_fail(cli, &err);
            }
    }
    ask_close(&q);
    return code;
}

static int run_apply(struct cli *cli)
{
    return each_object(cli, true, apply_and_print);
}

static int run_delete(struct cli *cli)
{
    return each_object(cli, false, delete_one);
}

/* ---- get: the server's table ---- */

static const char *cell_text(struct arena *a, struct json cell)
{
    if (json_is(cell, JSON_STR))
        return cell.string;
    return json_present(cell) && !json_is(cell, JSON_NULL) ? json_to_text(a, cell) : "";
}

static const char *upper(struct arena *a, const char *text)
{
    char *copy = arena_strdup(a, text);
    for (char *c = copy; *c; c++)
        if (*c >= 'a' && *c <= 'z')
            *c = (char)(*c - 'a' + 'A');
    return copy;
}

/* Rows of strings, headings first; with a column for the namespace if all are listed. */
static struct json table_rows(struct arena *a, struct json table, bool wide, bool namespaces)
{
    struct json_builder rows, head;
    json_builder_init(&rows, a);
    json_builder_init(&head, a);
    struct json columns = json_member(table, "columnDefinitions");
    if (namespaces)
        json_push(&head, json_str("NAMESPACE"));
    json_each (c, columns)
        if (wide || json_get_int(*c, "priority", 0) == 0)
            json_push(&head, json_str(upper(a, json_get_text(*c, "name"))));
    json_push(&rows, json_list_end(&head));
    json_each (r, json_member(table, "rows")) {
        struct json_builder row;
        json_builder_init(&row, a);
        if (namespaces)
            json_push(&row, json_get(*r, "object.metadata.namespace"));
        size_t i = 0;
        json_each (c, columns) {
            struct json cell = json_item(json_member(*r, "cells"), i++);
            if (wide || json_get_int(*c, "priority", 0) == 0)
                json_push(&row, json_str(cell_text(a, cell)));
        }
        json_push(&rows, json_list_end(&row));
    }
    return json_list_end(&rows);
}

static void print_object(struct cli *cli, struct json object)
{
    struct buf b = BUF_INIT(OUTPUT_BYTES_MAX);
    if (text_eq(cli_text(cli, "output"), "json"))
        json_print_pretty(&b, object, 0);
    else
        yaml_print(&b, object);
    fputs(buf_text(&b), stdout);
    if (b.len && b.ptr[b.len - 1] != '\n')
        putchar('\n');
    buf_done(&b);
}

static bool get(struct cli *cli, struct ask *q, struct error *err)
{
    const char *output = cli_text(cli, "output");
    bool whole = text_eq(output, "yaml") || text_eq(output, "json");
    bool all = cli_on(cli, "all-namespaces");
    const char *name = cli->argument_count > 1 ? cli->arguments[1] : NULL;
    struct resource r;
    if (!ask_resource_of_word(q, cli->arguments[0], &r, err))
        return false;
    const char *ns = r.cluster_scoped || (all && !name) ? NULL : q->ns;
    struct ask_request request = {
        .method = "GET",
        .path = resource_path(&cli->arena, &r, ns, name, NULL),
        .accept = whole ? NULL : "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    };
    int status;
    struct json answer;
    if (!ask(q, &request, &status, &answer, err))
        return false;
    if (whole)
        print_object(cli, answer);
    else if (!json_member(answer, "rows").count)
        fprintf(stderr, "There are no %s.\n", r.plural);
    else
        columns_print(&cli->arena,
            table_rows(&cli->arena, answer, text_eq(output, "wide"), all && !r.cluster_scoped));
    return true;
}

static int run_get(struct cli *cli)
{
    struct ask q;
    struct error err;
    const char *output = cli_text(cli, "output");
    if (cli->argument_count < 1 || cli->argument_count > 2)
        return cli_usage(cli, "say what: leeboard get models, leeboard get model NAME");
    if (output && !text_eq(output, "yaml") && !text_eq(output, "json") && !text_eq(output, "wide"))
        return cli_usage(cli, "--output is yaml, json or wide");
    bool ok = ask_open(cli, &q, &err) && get(cli, &q, &err);
    ask_close(&q);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

/* ---- the commands ---- */

const struct cli_flag apply_flags[] = {
    { "filename", 'f', "PATH", NULL, "A file, a directory, or - for standard input; repeatable." },
    { 0 },
};
static const struct cli_flag looks[] = {
    { "output", 'o', "FORMAT", NULL, "Format: yaml, json or wide. Default: a table." },
    { "all-namespaces", 'A', NULL, "false", "Show all namespaces." },
    { 0 },
};

const struct cli_command cli_apply = {
    .name = "apply",
    .summary = "Create or change the objects of manifests, on any API server.",
    .text =
        "Server-side apply under the name " FIELD_MANAGER ", which takes fields from others. All\n"
        "objects are checked first: if the server refuses one, nothing is applied.\n",
    .flags = (const struct cli_flag *const[]){ apply_flags, cli_flags_kube, up_folder_flags, NULL },
    .run = run_apply,
};
const struct cli_command cli_delete = {
    .name = "delete",
    .summary = "Delete the objects of manifests.",
    .flags = (const struct cli_flag *const[]){ apply_flags, cli_flags_kube, up_folder_flags, NULL },
    .run = run_delete,
};
const struct cli_command cli_get = {
    .name = "get",
    .summary = "Show objects of an API server.",
    .arguments = "RESOURCE [NAME]",
    .flags = (const struct cli_flag *const[]){ looks, cli_flags_kube, up_folder_flags, NULL },
    .run = run_get,
};
