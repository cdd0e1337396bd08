/* leeboard stop, rm and export: for services of `leeboard run`, and for any other service of this
 * machine. */

#include <stdio.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/yaml.h"
#include "cli/model_cache.h"
#include "cli/run/things.h"
#include "cli/up/folder.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/source.h"
#include "merge/managers.h"

#define FIELD_MANAGER "leeboard-cli"
#define REPLICAS_BEFORE "leeboard.dev/replicas-before-stop"
#define OUTPUT_BYTES_MAX ((size_t)16 << 20)

struct managed {
    struct cli *cli;
    const char *folder;
    struct ask q;
};

static int each_name(
    struct cli *cli, bool (*one)(struct managed *m, const char *name, struct error *err))
{
    struct managed m = { .cli = cli };
    struct error err;
    if (!cli->argument_count)
        return cli_usage(
            cli, "say which: leeboard %s NAME; `leeboard ps` has the names", cli->command->name);
    bool ok = up_folder(cli, &m.folder, &err) && things_open(cli, m.folder, &m.q, &err);
    for (size_t i = 0; ok && i < cli->argument_count; i++)
        ok = one(&m, cli->arguments[i], &err);
    ask_close(&m.q);
    return ok ? CLI_OK : cli_fail(cli, &err);
}

/* ---- stop ---- */

static bool stop_one(struct managed *m, const char *name, struct error *err)
{
    struct arena *a = &m->cli->arena;
    struct json service, model;
    if (!things_find(&m->q, name, &service, &model, err))
        return false;
    if (!json_present(service))
        return fail(err, ERR_INVALID, "%s is a Model that nothing serves", name);
    int64_t replicas = json_get_int(service, "spec.replicas", 1);
    struct json before =
        json_map(a, { REPLICAS_BEFORE, json_strf(a, "%lld", (long long)replicas) });
    struct json patch = json_fields(a,
        { "metadata.annotations", json_if(replicas > 1, before) },
        { "spec.replicas", json_int(0) });
    if (replicas && !things_patch(&m->q, &LLMKUBE_INFERENCE_SERVICE, name, patch, err))
        return false;
    printf(replicas ? "%s stops; `leeboard run %s` starts it again\n"
                    : "%s was stopped before; `leeboard run %s` starts it again\n",
        name,
        name);
    return true;
}

static int run_stop(struct cli *cli)
{
    return each_name(cli, stop_one);
}

/* ---- rm ---- */

/* The Model's files are kept: another Model may have the same source, and downloads are slow. */
static void tell_files(struct managed *m, struct json model)
{
    struct model_file *files;
    size_t count;
    int64_t bytes = 0;
    struct arena *a = &m->cli->arena;
    const char *source = json_get_text(model, "spec.source");
    if (!source || !model_cache_list(a, m->folder, &files, &count, NULL))
        return;
    const char *key = source_cache_key(a, source);
    for (size_t i = 0; i < count; i++)
        bytes += text_eq(files[i].key, key) ? files[i].bytes : 0;
    if (bytes)
        printf("its file stays in the cache (%.1f MiB); `leeboard models remove --unused` removes "
               "what nothing uses\n",
            (double)bytes / (1 << 20));
}

static bool remove_model(
    struct managed *m, struct json model, const char *service, struct error *err)
{
    const char *user, *name = json_get_text(model, "metadata.name");
    if (!things_find_user(&m->q, name, service, &user, err))
        return false;
    if (user && service) {
        printf("models/%s stays: the InferenceService %s uses it\n", name, user);
        return true;
    }
    if (user)
        return fail(err, ERR_EXISTS, "the InferenceService %s uses the Model %s", user, name);
    if (!things_delete(&m->q, &LLMKUBE_MODEL, name, err))
        return false;
    printf("models/%s deleted\n", name);
    tell_files(m, model);
    return true;
}

static bool remove_one(struct managed *m, const char *name, struct error *err)
{
    struct json service, model;
    if (!things_find(&m->q, name, &service, &model, err))
        return false;
    if (json_present(service)) {
        if (!things_delete(&m->q, &LLMKUBE_INFERENCE_SERVICE, name, err))
            return false;
        printf("inferenceservices/%s deleted\n", name);
    }
    return !json_present(model) || remove_model(m, model, json_present(service) ? name : NULL, err);
}

static int run_rm(struct cli *cli)
{
    return each_name(cli, remove_one);
}

/* ---- export ---- */

/* The part of a value that a field set contains. Items of lists are not distinguished: the owner of
 * one item gets the whole list. */
static struct json owned_part(struct arena *a, struct json v, const struct fieldset *set)
{
    struct json_builder map;
    json_builder_init(&map, a);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct fieldset_entry *e = &set->entries[i];
        if (e->element.kind != PATH_FIELD || !json_is(v, JSON_MAP))
            return v;
        const char *name = json_text(e->element.value);
        struct json member = json_member(v, name);
        json_put(
            &map, name, e->below && e->below->count ? owned_part(a, member, e->below) : member);
    }
    return json_map_end(&map);
}

/* The fields that users set with our commands; otherwise all fields that users may set. */
static struct json spec_of(struct arena *a, struct json object)
{
    struct managers all;
    const struct fieldset *set = fieldset_empty();
    if (!managers_decode(a, json_get(object, "metadata.managedFields"), &all, NULL))
        return json_get(object, "spec");
    for (size_t i = 0; i < all.count; i++)
        if (text_eq(all.entries[i].manager, FIELD_MANAGER) && !*all.entries[i].subresource)
            set = fieldset_union(a, set, all.entries[i].set);
    struct path_element spec = path_field("spec");
    const struct fieldset_entry *e = fieldset_entry(set, &spec);
    struct json whole = json_get(object, "spec");
    return e && e->below && e->below->count ? owned_part(a, whole, e->below) : whole;
}

static struct json clean(struct arena *a, struct json object)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    struct json annotations = json_get(object, "metadata.annotations");
    annotations = json_with_member(
        a, annotations, "kubectl.kubernetes.io/last-applied-configuration", json_none);
    annotations = json_with_member(a, annotations, REPLICAS_BEFORE, json_none);
    return json_fields(a,
        { "apiVersion", json_get(object, "apiVersion") },
        { "kind", json_get(object, "kind") },
        { "metadata.name", json_get(object, "metadata.name") },
        { "metadata.namespace", text_eq(ns, "default") ? json_none : json_str(ns) },
        { "metadata.labels", json_or_absent(json_get(object, "metadata.labels")) },
        { "metadata.annotations", json_or_absent(annotations) },
        { "spec", spec_of(a, object) });
}

static bool export_one(struct managed *m, const char *name, struct error *err)
{
    struct arena *a = &m->cli->arena;
    struct json service, model;
    cleanup(buf_done) struct buf out = BUF_INIT(OUTPUT_BYTES_MAX);
    if (!things_find(&m->q, name, &service, &model, err))
        return false;
    if (json_present(model)) {
        buf_add_text(&out, "---\n");
        yaml_print(&out, clean(a, model));
    }
    if (json_present(service)) {
        buf_add_text(&out, "---\n");
        yaml_print(&out, clean(a, service));
    }
    fputs(buf_text(&out), stdout);
    return true;
}

static int run_export(struct cli *cli)
{
    return each_name(cli, export_one);
}

/* ---- the commands ---- */

static const struct cli_flag *const flags[] = { things_flags, up_folder_flags, NULL };

const struct cli_command cli_stop = {
    .name = "stop",
    .summary = "Stop a service of `leeboard up`; `leeboard run NAME` starts it again.",
    .arguments = "NAME…",
    .flags = flags,
    .run = run_stop,
};

const struct cli_command cli_rm = {
    .name = "rm",
    .summary = "Delete a service of `leeboard up`, and its Model if nothing else uses it.",
    .arguments = "NAME…",
    .flags = flags,
    .run = run_rm,
};

const struct cli_command cli_export = {
    .name = "export",
    .summary = "Print the manifests of a service and its Model, for files and clusters.",
    .arguments = "NAME…",
    .text =
        "  leeboard export tinyllama >tinyllama.yaml\n\n"
        "Prints the fields that `leeboard run` or `apply` wrote, without defaults and status.\n",
    .flags = flags,
    .run = run_export,
};
