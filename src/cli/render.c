/* leeboard render: the plan of manifests, without a cluster. */

#include <stdio.h>

#include "base/buf.h"
#include "base/names.h"
#include "base/resource.h"
#include "base/str.h"
#include "base/yaml.h"
#include "cli/check.h"
#include "cli/cli.h"
#include "cli/embedded.h"
#include "cli/families.h"
#include "cli/input.h"
#include "engine/file_view.h"
#include "engine/kind.h"
#include "engine/pass.h"
#include "engine/plan.h"
#include "merge/schema.h"

#define RENDER_BYTES_MAX ((size_t)256 << 20)
/* A plan may depend on the plan of another kind: a service needs its Model's status. */
#define RENDER_ROUNDS 4

struct render {
    struct cli *cli;
    struct families families;
    struct file_view world;
    struct schemas *schemas; /* of the program's kinds */
    struct json inputs;
    struct json_builder outcomes;
};

/* The results of effects are unknown here: assume that sources exist and have no metadata. */
static struct json guess_fact(void *ctx, struct arena *a, const char *effect, struct json args)
{
    (void)ctx;
    if (text_eq(effect, "model.copy"))
        return json_fields(a,
            { "at", json_int(0) },
            { "result.path",
                json_strf(a,
                    "%s/%s.gguf",
                    json_get_text(args, "directory"),
                    name_of_file(a, json_get_text(args, "name"))) },
            { "result.size", json_int(0) });
    return json_fields(a,
        { "at", json_int(0) },
        { "error.code", json_str("ServiceUnavailable") },
        { "error.message", json_str("not asked: render has no connections") });
}

static bool is_of(struct json object, const struct resource *r)
{
    struct str version = str_of(json_get_text(object, "apiVersion"));
    struct str group = str_cut(&version, '/');
    return text_eq(json_get_text(object, "kind"), r->kind) && str_eq(group, str_of(r->group));
}

static const char *const outcome_names[] = { "NONE", "DONE", "RECHECK", "WAIT", "RETRY" };

static void run_kind(struct render *r, const struct kind *kind, const void *settings, bool last)
{
    struct arena *a = r->world.arena;
    json_each (object, r->inputs) {
        if (!is_of(*object, kind->resource))
            continue;
        const char *ns = json_get_text(*object, "metadata.namespace");
        const char *name = json_get_text(*object, "metadata.name");
        struct view in = file_view_of(&r->world, kind->resource, ns, name, settings);
        struct plan *plan = arena_new(a, struct plan);
        plan_init(plan, a);
        const struct resource *of = kind->resource;
        pass_plan(kind, schema_of(r->schemas, of->group, of->version, of->kind), &in, plan);
        file_view_apply(&r->world, &in, plan);
        if (!last)
            continue;
        json_push(&r->outcomes,
            json_fields(a,
                { "kind", json_str(kind->resource->kind) },
                { "namespace", json_str(ns) },
                { "name", json_str(name) },
                { "outcome", json_str(outcome_names[plan->outcome]) },
                { "cause", json_str(plan->cause) }));
    }
}

static void run_kinds(struct render *r, bool last)
{
    for (size_t f = 0; f < r->families.count; f++)
        for (size_t k = 0; r->families.list[f].kinds[k]; k++)
            run_kind(r, r->families.list[f].kinds[k], r->families.list[f].settings, last);
}

/* Simulates that every pod became ready. */
static void play_ready(struct render *r)
{
    struct arena *a = r->world.arena;
    for (size_t i = 0; i < r->world.count; i++) {
        struct json object = r->world.objects[i];
        if (!is_of(object, &RESOURCE_DEPLOYMENT))
            continue;
        struct json replicas = json_int(json_get_int(object, "spec.replicas", 1));
        r->world.objects[i] = json_with_member(a,
            object,
            "status",
            json_fields(a,
                { "observedGeneration", json_get(object, "metadata.generation") },
                { "replicas", replicas },
                { "readyReplicas", replicas },
                { "updatedReplicas", replicas },
                { "availableReplicas", replicas }));
    }
}

static bool is_input(const struct render *r, struct json object)
{
    json_each (input, r->inputs)
        if (text_eq(json_get_text(*input, "kind"), json_get_text(object, "kind")) &&
            text_eq(
                json_get_text(*input, "metadata.name"), json_get_text(object, "metadata.name")) &&
            text_eq(json_get_text(*input, "metadata.namespace"),
                json_get_text(object, "metadata.namespace")))
            return true;
    return false;
}

/* Removes fields that a server would have set. */
static struct json tidy(struct arena *a, struct json object, bool with_status)
{
    object = json_with(a, object, "metadata.uid", json_none);
    object = json_with(a, object, "metadata.generation", json_none);
    return with_status ? object : json_with_member(a, object, "status", json_none);
}

static void collect(struct render *r, struct json *ret_children, struct json *ret_inputs)
{
    struct arena *a = r->world.arena;
    struct json_builder children, inputs;
    json_builder_init(&children, a);
    json_builder_init(&inputs, a);
    for (size_t i = 0; i < r->world.count; i++) {
        struct json object = r->world.objects[i];
        if (is_of(object, &RESOURCE_CRD))
            continue;
        if (is_input(r, object))
            json_push(&inputs, tidy(a, object, true));
        else
            json_push(&children, tidy(a, object, false));
    }
    *ret_children = json_list_end(&children);
    *ret_inputs = json_list_end(&inputs);
}

/* Lists dependencies that are missing, which may well exist in the cluster. */
static void print_waits(const struct render *r)
{
    struct json_builder outcomes = r->outcomes;
    json_each (o, json_list_end(&outcomes))
        if (text_eq(json_get_text(*o, "outcome"), "WAIT"))
            fprintf(stderr,
                "leeboard render: %s/%s waits: %s\n",
                json_get_text(*o, "kind"),
                json_get_text(*o, "name"),
                json_get_text(*o, "cause"));
}

static int print_out(struct render *r, bool as_json)
{
    struct buf out = BUF_INIT(RENDER_BYTES_MAX);
    struct arena *a = r->world.arena;
    bool with_status = cli_on(r->cli, "with-status");
    struct json children, inputs, outcomes = { 0 };
    collect(r, &children, &inputs);
    if (cli_on(r->cli, "with-outcome"))
        outcomes = json_list_end(&r->outcomes);
    else
        print_waits(r);
    if (as_json) {
        json_print_pretty(&out,
            json_fields(a,
                { "children", children },
                { "inputs", json_if(with_status, inputs) },
                { "outcomes", outcomes }),
            2);
        buf_add_char(&out, '\n');
    } else {
        json_each (o, outcomes)
            buf_printf(&out,
                "# %s %s/%s: %s%s%s\n",
                json_get_text(*o, "kind"),
                json_get_text(*o, "namespace"),
                json_get_text(*o, "name"),
                json_get_text(*o, "outcome"),
                json_get_text(*o, "cause") ? ": " : "",
                json_get_text(*o, "cause") ? json_get_text(*o, "cause") : "");
        json_each (object, children) {
            buf_add_text(&out, "---\n");
            yaml_print(&out, *object);
        }
        json_each (object, with_status ? inputs : json_empty_list()) {
            buf_add_text(&out, "---\n");
            yaml_print(&out, *object);
        }
    }
    bool ok = !buf_overflowed(&out) &&
              (!out.len || fwrite(out.ptr, 1, out.len, stdout) == out.len) && fflush(stdout) == 0;
    buf_done(&out);
    return ok ? CLI_OK : CLI_FAILED;
}

/* Adds the default namespace, as kubectl does. */
static bool add_input(struct render *r, struct json object, struct error *err)
{
    struct arena *a = r->world.arena;
    const char *ns = cli_text(r->cli, "namespace");
    if (!json_get_text(object, "metadata.namespace"))
        object =
            json_with(a, object, "metadata.namespace", json_str(ns ? ns : FILE_VIEW_NAMESPACE));
    return file_view_add(&r->world, object, err);
}

/* Prints one line per mistake. */
static bool check(struct inputs *in, struct error *err)
{
    cleanup(buf_done) struct buf text = BUF_INIT(RENDER_BYTES_MAX);
    size_t count = check_inputs(in, &text);
    if (!count)
        return true;
    fputs(buf_text(&text), stderr);
    return fail(err,
        ERR_INVALID,
        "%zu mistake%s; --validate=false renders it anyway",
        count,
        count == 1 ? "" : "s");
}

static bool load(struct render *r, struct error *err)
{
    struct cli *cli = r->cli;
    struct arena *a = r->world.arena;
    struct inputs read;
    inputs_init(&read, a);
    for (size_t i = 0; i < cli->count; i++)
        if (text_eq(cli->names[i], "filename") && !input_read(&read, cli->values[i], err))
            return false;
    for (size_t i = 0; i < cli->argument_count; i++)
        if (!input_read(&read, cli->arguments[i], err))
            return false;
    if (cli_on(cli, "validate") && !check(&read, err))
        return false;
    json_each (crd, embedded_crds(a))
        if (!file_view_add(&r->world, *crd, err) || !schemas_add_crd(r->schemas, *crd, err))
            return false;
    size_t before = r->world.count;
    json_each (object, inputs_list(&read))
        if (!add_input(r, *object, err))
            return false;
    struct json_builder inputs;
    json_builder_init(&inputs, a);
    for (size_t i = before; i < r->world.count; i++)
        json_push(&inputs, r->world.objects[i]);
    r->inputs = json_list_end(&inputs);
    return true;
}

static int render(struct render *r, bool as_json)
{
    struct error err;
    if (!load(r, &err))
        return cli_fail(r->cli, &err);
    bool ready = cli_on(r->cli, "ready");
    for (int round = 1; round <= RENDER_ROUNDS; round++)
        run_kinds(r, round == RENDER_ROUNDS && !ready);
    if (ready) {
        play_ready(r);
        run_kinds(r, true);
    }
    return print_out(r, as_json);
}

static int run(struct cli *cli)
{
    struct render r = { .cli = cli };
    struct error err;
    const char *output = cli_text(cli, "output");
    bool as_json = text_eq(output, "json");
    if (!as_json && !text_eq(output, "yaml"))
        return cli_usage(cli, "--output is yaml or json, not %s", output);
    if (!families_read(cli, &r.families, &err))
        return cli_usage(cli, "%s", err.text);
    if (!cli_given(cli, "filename") && !cli->argument_count)
        return cli_usage(cli, "nothing to render: name files with -f FILE");
    file_view_init(&r.world, &cli->arena, 0);
    r.world.fact = guess_fact;
    json_builder_init(&r.outcomes, &cli->arena);
    r.schemas = schemas_new();
    int code = render(&r, as_json);
    schemas_free(r.schemas);
    return code;
}

static const struct cli_flag flags[] = {
    { "filename", 'f', "FILE", NULL, "A file, a directory, or - for standard input; repeatable." },
    { "namespace", 'n', "NAME", NULL, "Namespace of objects that name none. [default]" },
    { "output", 'o', "FORMAT", "yaml", "yaml, or json: {children, inputs, outcomes}." },
    { "with-status", 0, NULL, NULL, "Also print the manifests with the status they would get." },
    { "with-outcome",
        0,
        NULL,
        NULL,
        "Also print how each reconcile ends: DONE, RECHECK, WAIT, RETRY." },
    { "validate",
        0,
        NULL,
        "true",
        "Refuse objects that an API server would refuse, with file and line." },
    { "ready", 0, NULL, NULL, "As if every Deployment's pods were ready." },
    { 0 },
};

const struct cli_command cli_render = {
    .name = "render",
    .summary = "Print the children that manifests would get, without a cluster.",
    .arguments = "[FILE…]",
    .text = "Reads manifests of all kinds that Leeboard knows, gives them the defaults of their "
            "CRDs and\n"
            "prints the children that the operator would apply: exactly the fields that it would\n"
            "own. Nothing is contacted; sources count as reachable and without metadata.\n",
    .flags = (const struct cli_flag *const[]){ flags, NULL },
    .shaping = true,
    .run = run,
};
