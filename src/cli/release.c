/* leeboard release: removes Leeboard's finalizers after the operator was uninstalled. Without that,
 * such objects and their namespaces could never be deleted. */

#include <stdio.h>

#include "base/str.h"
#include "cli/ask.h"
#include "cli/cli.h"
#include "cli/families.h"
#include "cli/up/folder.h"
#include "engine/kind.h"

#define TRIES_MAX 5

static struct json without(struct arena *a, struct json list, const char *text)
{
    struct json_builder rest;
    json_builder_init(&rest, a);
    json_each (item, list)
        if (!text_eq(json_text(*item), text))
            json_push(&rest, *item);
    return json_list_end(&rest);
}

static bool has_finalizer(struct json object, const char *finalizer)
{
    json_each (item, json_get(object, "metadata.finalizers"))
        if (text_eq(json_text(*item), finalizer))
            return true;
    return false;
}

/* Retries with a fresh copy if another client changed the object in the meantime. */
static bool release_object(
    struct ask *q, const struct kind *kind, struct json object, bool *ret_done, struct error *err)
{
    struct arena *a = &q->cli->arena;
    const char *path = resource_path(a,
        kind->resource,
        kind->resource->cluster_scoped ? NULL : json_get_text(object, "metadata.namespace"),
        json_get_text(object, "metadata.name"),
        NULL);
    for (int i = 0; has_finalizer(object, kind->finalizer); i++) {
        struct json rest = without(a, json_get(object, "metadata.finalizers"), kind->finalizer),
                    answer;
        struct ask_request patch = {
            .method = "PATCH",
            .path = path,
            .content_type = "application/merge-patch+json",
            .body = json_fields(a,
                { "metadata.resourceVersion", json_get(object, "metadata.resourceVersion") },
                { "metadata.finalizers", rest }),
        };
        int status;
        *ret_done = ask(q, &patch, &status, &answer, err);
        if (*ret_done || err->code == ERR_NOT_FOUND)
            return true;
        if (err->code != ERR_CONFLICT || i == TRIES_MAX)
            return false;
        struct ask_request look = { .method = "GET", .path = path };
        if (!ask(q, &look, &status, &object, err))
            return err->code == ERR_NOT_FOUND;
    }
    return true;
}

static bool release_kind(struct ask *q, const struct kind *kind, struct error *err)
{
    struct arena *a = &q->cli->arena;
    int status;
    struct json list;
    struct ask_request request = {
        .method = "GET",
        .path = resource_path(a, kind->resource, cli_text(q->cli, "namespace"), NULL, NULL),
    };
    if (!ask_patiently(q, &request, &status, &list, err))
        return err->code == ERR_NOT_FOUND; /* its CRD is not installed */
    bool all = true;
    json_each (object, json_get(list, "items")) {
        bool done = false;
        const char *ns = json_get_text(*object, "metadata.namespace");
        const char *name = json_get_text(*object, "metadata.name");
        if (!release_object(q, kind, *object, &done, err)) {
            fail_in(err, "%s %s/%s", kind->resource->plural, ns ? ns : "", name);
            cli_fail(q->cli, err);
            all = false;
        } else if (done) {
            printf("%s %s/%s released\n", kind->resource->plural, ns ? ns : "", name);
        }
    }
    return all || fail(err, ERR_INTERNAL, "some finalizers are left; run it again");
}

static int run(struct cli *cli)
{
    struct error err;
    struct families families;
    struct ask q;
    if (!families_read(cli, &families, &err) ||
        !families_select(&families, cli_text(cli, "families"), &err))
        return cli_usage(cli, "%s", err.text);
    int code = CLI_OK;
    if (!ask_open(cli, &q, &err))
        code = cli_fail(cli, &err);
    for (size_t i = 0; code == CLI_OK && i < families.count; i++)
        for (size_t k = 0; families.list[i].kinds[k]; k++)
            if (families.list[i].kinds[k]->finalizer &&
                !release_kind(&q, families.list[i].kinds[k], &err))
                code = cli_fail(cli, &err);
    ask_close(&q);
    return code;
}

static const struct cli_flag flags[] = {
    { "families", 0, "NAME,...", FAMILIES_ALL, "Families of kinds to release." },
    { 0 },
};

const struct cli_command cli_release = {
    .name = "release",
    .summary = "Remove Leeboard's finalizers, before you remove the operator.",
    .text =
        "Run it after the operator has stopped. Objects and their children stay as they are; "
        "nothing\nhangs when they are deleted later, and another operator may take them over.\n",
    .flags = (const struct cli_flag *const[]){ flags, cli_flags_kube, up_folder_flags, NULL },
    .run = run,
};
