#include "cli/run/things.h"

#include "base/buf.h"
#include "base/str.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"

#define FIELD_MANAGER "leeboard-cli"
#define NAMES_BYTES_MAX ((size_t)4096)

const struct cli_flag things_flags[] = {
    { "namespace", 'n', "NAME", NULL, "Namespace. Default: default." },
    { 0 },
};

bool things_open(struct cli *cli, const char *folder, struct ask *ret, struct error *err)
{
    const char *ns = cli_text(cli, "namespace");
    if (!ask_open_running(cli, folder, ret, err))
        return false;
    ret->ns = text_empty(ns) ? "default" : ns;
    return true;
}

static const char *path_of(struct ask *q, const struct resource *r, const char *name)
{
    return resource_path(&q->cli->arena, r, q->ns, name, NULL);
}

bool things_get(
    struct ask *q, const struct resource *r, const char *name, struct json *ret, struct error *err)
{
    int status;
    struct ask_request get = { .method = "GET", .path = path_of(q, r, name) };
    if (ask(q, &get, &status, ret, err))
        return true;
    *ret = json_none; /* the server refused it */
    return err->code == ERR_NOT_FOUND;
}

bool things_list(struct ask *q, const struct resource *r, struct json *ret, struct error *err)
{
    int status;
    struct json answer;
    if (!ask(q,
            &(struct ask_request){ .method = "GET", .path = path_of(q, r, NULL) },
            &status,
            &answer,
            err))
        return false;
    *ret = json_get(answer, "items");
    return true;
}

bool things_delete(struct ask *q, const struct resource *r, const char *name, struct error *err)
{
    int status;
    struct json answer;
    return ask(q,
               &(struct ask_request){ .method = "DELETE", .path = path_of(q, r, name) },
               &status,
               &answer,
               err) ||
           err->code == ERR_NOT_FOUND;
}

bool things_patch(
    struct ask *q, const struct resource *r, const char *name, struct json patch, struct error *err)
{
    int status;
    struct json answer;
    return ask(q,
        &(struct ask_request){
            .method = "PATCH",
            .path =
                arena_printf(&q->cli->arena, "%s?fieldManager=" FIELD_MANAGER, path_of(q, r, name)),
            .content_type = "application/merge-patch+json",
            .body = patch,
        },
        &status,
        &answer,
        err);
}

static void add_name(struct buf *names, const char *name)
{
    buf_printf(names, "%s%s", names->len ? ", " : "", name);
}

static bool fail_no_such(struct ask *q, const char *name, struct error *err)
{
    cleanup(buf_done) struct buf names = BUF_INIT(NAMES_BYTES_MAX);
    struct json services, models;
    if (!things_list(q, &LLMKUBE_INFERENCE_SERVICE, &services, err) ||
        !things_list(q, &LLMKUBE_MODEL, &models, err))
        return false;
    json_each (service, services)
        add_name(&names, json_get_text(*service, "metadata.name"));
    json_each (model, models) {
        const char *of = json_get_text(*model, "metadata.name");
        bool said = false;
        json_each (service, services)
            said = said || text_eq(json_get_text(*service, "metadata.name"), of);
        if (!said)
            add_name(&names, of);
    }
    return fail(err,
        ERR_NOT_FOUND,
        "nothing is called %s in namespace %s; there is %s",
        name,
        q->ns,
        names.len ? buf_text(&names) : "nothing");
}

bool things_find(struct ask *q, const char *name, struct json *ret_service, struct json *ret_model,
    struct error *err)
{
    if (!things_get(q, &LLMKUBE_INFERENCE_SERVICE, name, ret_service, err))
        return false;
    const char *model = json_get_text(*ret_service, "spec.modelRef");
    if (!things_get(q, &LLMKUBE_MODEL, model ? model : name, ret_model, err))
        return false;
    return json_present(*ret_service) || json_present(*ret_model) || fail_no_such(q, name, err);
}

bool things_find_user(
    struct ask *q, const char *model, const char *other, const char **ret, struct error *err)
{
    struct json services;
    *ret = NULL;
    if (!things_list(q, &LLMKUBE_INFERENCE_SERVICE, &services, err))
        return false;
    json_each (s, services) {
        const char *name = json_get_text(*s, "metadata.name");
        bool uses = text_eq(json_get_text(*s, "spec.modelRef"), model) ||
                    text_eq(json_get_text(*s, "spec.speculativeDecoding.draftModelRef"), model);
        if (uses && !text_eq(name, other))
            *ret = name;
    }
    return true;
}
