/* leeboard run, pull and chat: from a model's file to an answer, without a manifest.
 *
 *   word ─> `leeboard up` if none runs ─> Model and InferenceService ─> ready ─> chat or one answer
 */

#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/resource.h"
#include "base/str.h"
#include "cli/apply.h"
#include "cli/run/chat.h"
#include "cli/run/things.h"
#include "cli/run/start.h"
#include "cli/run/wanted.h"
#include "cli/up/await.h"
#include "cli/up/folder.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"
#include "node/capacity.h"

#define REPLICAS_BEFORE "leeboard.dev/replicas-before-stop"
#define INTERRUPTED 130

struct run {
    struct cli *cli;
    struct arena *arena;
    const char *folder;
    struct ask q;
    struct wanted wanted;
    struct wanted_options options;
    bool gpus_given;
    struct json service, model; /* the existing objects; absent: none */
    const char *model_name;
    struct chat_options chat;
};

/* ---- the command line ---- */

static bool read_number(struct cli *cli, const char *flag, int64_t *ret, struct error *err)
{
    const char *text = cli_text(cli, flag);
    return !text || (str_to_int(str_of(text), ret) && *ret >= 0 && *ret <= INT32_MAX) ||
           fail(err, ERR_INVALID, "--%s is a number, not %s", flag, text);
}

static bool read_line(struct run *r, struct error *err)
{
    struct cli *cli = r->cli;
    const char *ns = cli_text(cli, "namespace");
    r->options.ns = text_empty(ns) ? "default" : ns;
    return up_folder(cli, &r->folder, err) &&
           wanted_read(r->arena, cli->arguments[0], cli_text(cli, "name"), &r->wanted, err);
}

/* Starts nothing for an invalid name. */
static bool may_be_there(struct run *r, struct error *err)
{
    const char *server = up_folder_path(r->arena, r->folder, "server");
    return r->wanted.source || access(server, F_OK) == 0 ||
           fail(err,
               ERR_NOT_FOUND,
               "nothing is called %s, and there is no such file; write a GGUF file, an https:// "
               "URL of one, or hf://org/repo/FILE.gguf",
               r->wanted.name);
}

/* ---- existing objects ---- */

static bool is_other_source(const struct run *r)
{
    return r->wanted.source && json_present(r->model) &&
           !text_eq(json_get_text(r->model, "spec.source"), r->wanted.source);
}

static bool look(struct run *r, struct error *err)
{
    struct error why;
    const char *name = r->wanted.name;
    if (!things_find(&r->q, name, &r->service, &r->model, &why) &&
        (why.code != ERR_NOT_FOUND || !r->wanted.source)) {
        *err = why;
        return false;
    }
    r->model_name = json_get_text(r->service, "spec.modelRef");
    r->model_name = r->model_name ? r->model_name : name;
    if (r->gpus_given && json_get_int(r->model, "spec.hardware.gpu.count", 0))
        return fail(err,
            ERR_INVALID,
            "--gpu has no effect: the Model %s says itself how many GPUs it needs",
            r->model_name);
    return !is_other_source(r) ||
           fail(err,
               ERR_EXISTS,
               "%s is another model already, of %s; --name takes another name, `leeboard rm %s` "
               "takes that one away",
               name,
               json_get_text(r->model, "spec.source"),
               name);
}

static const struct {
    enum gpu_kind kind;
    const char *vendor;
} vendors[] = { { GPU_NVIDIA, "nvidia" }, { GPU_AMD, "amd" }, { GPU_INTEL_I915, "intel" } };

/* Whether the machine has GPUs of that vendor, and an existing Model requests no other one. */
static bool is_usable(const struct run *r, const struct gpus *found, size_t i)
{
    const char *asked = json_get_text(r->model, "spec.hardware.gpu.vendor");
    bool meant = text_eq(vendors[i].vendor, asked ? asked : "nvidia");
    return found->counts[vendors[i].kind] > 0 && (meant || !json_present(r->model));
}

static bool find_vendor(struct run *r, const struct gpus *found)
{
    for (size_t i = 0; i < lengthof(vendors); i++)
        if (is_usable(r, found, i)) {
            r->options.vendor = vendors[i].vendor;
            return true;
        }
    return false;
}

/* One GPU, if the machine has one that no pod uses. */
static bool count_gpus(struct run *r, struct error *err)
{
    struct gpus found = gpus_find(r->arena, "");
    struct capacity all = capacity_of_machine(&found), used = { { 0 } };
    struct json pods;
    struct ask everywhere = r->q;
    everywhere.ns = NULL;
    if ((r->gpus_given && !r->options.gpus) || !find_vendor(r, &found) || r->gpus_given)
        return true;
    if (!things_list(&everywhere, &RESOURCE_POD, &pods, err))
        return false;
    json_each (pod, pods) {
        const char *phase = json_get_text(*pod, "status.phase");
        struct capacity one = capacity_of_pod(*pod);
        if (!text_eq(phase, "Succeeded") && !text_eq(phase, "Failed"))
            capacity_add(&used, &one);
    }
    for (size_t i = 0; i < lengthof(vendors) && !r->options.gpus; i++) {
        size_t kind = CAPACITY_GPU + (size_t)vendors[i].kind;
        r->options.gpus = is_usable(r, &found, i) && used.amounts[kind] < all.amounts[kind];
        if (r->options.gpus)
            r->options.vendor = vendors[i].vendor;
    }
    if (!r->options.gpus)
        fprintf(stderr, "no GPU is free: it runs on the CPU; --gpu 1 waits for one\n");
    return true;
}

/* ---- creating objects ---- */

static bool make(struct run *r, struct json object, struct error *err)
{
    struct apply_target target;
    const char *outcome;
    if (apply_object(&r->q, object, &target, &outcome, err))
        return true;
    apply_name_error(object, err);
    return false;
}

static bool make_model(struct run *r, struct error *err)
{
    struct wanted model = r->wanted;
    model.name = r->model_name;
    return json_present(r->model) || !model.source ||
           make(r, wanted_model(r->arena, &model, &r->options), err);
}

/* As many replicas as before `leeboard stop`; flags override existing values. */
static bool change_service(struct run *r, struct error *err)
{
    struct arena *a = r->arena;
    struct json annotations = json_get(r->service, "metadata.annotations");
    const char *before = json_text(json_member(annotations, REPLICAS_BEFORE));
    int64_t replicas = 1;
    bool stopped = json_get_int(r->service, "spec.replicas", 1) == 0;
    if (before && !str_to_int(str_of(before), &replicas))
        replicas = 1;
    struct json forget = json_map(a, { REPLICAS_BEFORE, json_null() });
    struct json patch = json_fields(a,
        { "metadata.annotations", json_if(stopped && before, forget) },
        { "spec.replicas", json_if(stopped, json_int(replicas)) },
        { "spec.contextSize", json_int_or_absent(r->options.context) },
        { "spec.resources.gpu", json_if(r->gpus_given, json_int(r->options.gpus)) });
    return !json_or_absent(patch).count ||
           things_patch(&r->q, &LLMKUBE_INFERENCE_SERVICE, r->wanted.name, patch, err);
}

static bool make_service(struct run *r, struct error *err)
{
    if (json_present(r->service))
        return make_model(r, err) && change_service(r, err);
    return count_gpus(r, err) && make_model(r, err) &&
           make(r, wanted_service(r->arena, &r->wanted, &r->options, r->model_name), err);
}

/* ---- waiting until it is ready ---- */

static bool is_ours(void *ctx, const struct show_row *row)
{
    const struct run *r = ctx;
    bool service = text_eq(row->kind, "InferenceService") && text_eq(row->name, r->wanted.name);
    bool model = text_eq(row->kind, "Model") && text_eq(row->name, r->model_name);
    return text_eq(row->ns, r->options.ns) && (service || model);
}

static bool has_ended(void *ctx)
{
    const struct run *r = ctx;
    return !up_folder_runs(r->folder);
}

static int await(struct run *r, const char *kind)
{
    const char *lines, *name = r->wanted.name;
    struct error err;
    switch (await_ready(
        &(struct await_options){
            .ask = &r->q,
            .folder = r->folder,
            .fd = STDERR_FILENO,
            .wanted = is_ours,
            .kind = kind,
            .ended = has_ended,
            .ctx = r,
            .interruptible = true,
        },
        &lines)) {
    case AWAIT_READY:
        return CLI_OK;
    case AWAIT_INTERRUPTED:
        fprintf(stderr,
            "It continues in the background: `leeboard ps` shows it, `leeboard rm %s` deletes "
            "it.\n",
            name);
        return INTERRUPTED;
    case AWAIT_ENDED:
        fail(&err, ERR_UNAVAILABLE, "`leeboard up` has ended; %s/up.log may say why", r->folder);
        return cli_fail(r->cli, &err);
    case AWAIT_UNREADY:
        break;
    }
    fprintf(stderr,
        "%sIt stays there and is tried again: `leeboard why %s` says why, `leeboard rm %s` deletes "
        "it.\n",
        lines,
        name,
        name);
    return CLI_FAILED;
}

/* ---- run ---- */

static int talk(struct run *r, const char *question)
{
    struct error err;
    if (!start_find_endpoint(r->cli, r->folder, r->service, r->wanted.name, &r->chat, &err))
        return cli_fail(r->cli, &err);
    r->chat.loop = r->q.loop;
    r->chat.folder = r->folder;
    return question ? chat_once(&r->chat, question) : chat_on_terminal(&r->chat);
}

static int serve(struct run *r, const char *question, bool detached)
{
    struct error err;
    if (!start_up(r->cli, r->folder, &err) || !things_open(r->cli, r->folder, &r->q, &err) ||
        !look(r, &err) || !make_service(r, &err))
        return cli_fail(r->cli, &err);
    int code = await(r, "InferenceService");
    if (code != CLI_OK || detached)
        return code;
    if (!things_get(&r->q, &LLMKUBE_INFERENCE_SERVICE, r->wanted.name, &r->service, &err))
        return cli_fail(r->cli, &err);
    return talk(r, question);
}

static int run_run(struct cli *cli)
{
    struct run r = { .cli = cli, .arena = &cli->arena };
    struct error err;
    const char *question = NULL;
    bool detached = cli_on(cli, "detach");
    if (!cli->argument_count || (detached && cli->argument_count > 1))
        return cli_usage(cli, "say what: leeboard run MODEL [TEXT…]; with --detach without a text");
    if (!read_number(cli, "gpu", &r.options.gpus, &err) ||
        !read_number(cli, "context", &r.options.context, &err) ||
        !chat_read_flags(cli, &r.chat, &err))
        return cli_usage(cli, "%s", err.text);
    r.gpus_given = cli_given(cli, "gpu");
    bool asks = !detached && (cli->argument_count > 1 || !chat_has_terminal());
    if (!read_line(&r, &err) || !may_be_there(&r, &err) ||
        (asks && !(question = chat_question(cli, 1, &err))))
        return cli_fail(cli, &err);
    int code = serve(&r, question, detached);
    ask_close(&r.q);
    return code;
}

/* ---- pull ---- */

/* Replaces an existing Model that is not fetched, if no service uses it; otherwise its service
 * fetches it. */
static bool make_anew(struct run *r, struct error *err)
{
    const char *user, *name = r->model_name;
    if (!json_present(r->model) || json_get_bool(r->model, "spec.prefetch", false))
        return true;
    if (!things_find_user(&r->q, name, NULL, &user, err))
        return false;
    if (user)
        return fail(err,
            ERR_EXISTS,
            "the InferenceService %s has this model, and fetches it when it starts: `leeboard run "
            "%s`",
            user,
            user);
    if (!things_delete(&r->q, &LLMKUBE_MODEL, name, err))
        return false;
    if (!r->wanted.source)
        r->wanted.source = json_get_text(r->model, "spec.source");
    r->model = json_none;
    return true;
}

static int fetch(struct run *r)
{
    struct error err;
    struct gpus found = gpus_find(r->arena, "");
    if (!start_up(r->cli, r->folder, &err) || !things_open(r->cli, r->folder, &r->q, &err) ||
        !look(r, &err) || !make_anew(r, &err))
        return cli_fail(r->cli, &err);
    (void)find_vendor(r, &found);
    if (!make_model(r, &err))
        return cli_fail(r->cli, &err);
    int code = await(r, "Model");
    if (code == CLI_OK)
        printf("%s is in the cache; `leeboard run %s` serves it\n", r->model_name, r->model_name);
    return code;
}

static int run_pull(struct cli *cli)
{
    struct run r = { .cli = cli, .arena = &cli->arena, .options = { .prefetch = true } };
    struct error err;
    if (cli->argument_count != 1)
        return cli_usage(cli, "say what: leeboard pull MODEL");
    if (!read_line(&r, &err))
        return cli_fail(cli, &err);
    if (r.wanted.local)
        return cli_usage(cli,
            "%s is a file of this machine already: `leeboard run %s` serves it",
            cli->arguments[0],
            cli->arguments[0]);
    if (!may_be_there(&r, &err))
        return cli_fail(cli, &err);
    int code = fetch(&r);
    ask_close(&r.q);
    return code;
}

/* ---- chat ---- */

/* A name without a service may be one that a service or a router serves: the endpoint lists
 * those. */
static bool may_answer(struct run *r, struct error *err)
{
    const char *name = r->wanted.name;
    if (!json_present(r->service))
        return true;
    if (json_get_int(r->service, "spec.replicas", 1) == 0)
        return fail(err, ERR_UNAVAILABLE, "%s is stopped; `leeboard run %s` starts it", name, name);
    return json_get_int(r->service, "status.readyReplicas", 0) > 0 ||
           fail(err,
               ERR_UNAVAILABLE,
               "%s is not ready yet; `leeboard why %s` says why, `leeboard run %s` waits for it",
               name,
               name,
               name);
}

static int run_chat(struct cli *cli)
{
    struct run r = { .cli = cli, .arena = &cli->arena };
    struct error err;
    const char *question = NULL;
    if (!cli->argument_count)
        return cli_usage(cli, "say with what: leeboard chat NAME; `leeboard ps` has the names");
    if (!chat_read_flags(cli, &r.chat, &err))
        return cli_usage(cli, "%s", err.text);
    r.wanted.name = cli->arguments[0];
    bool asks = cli->argument_count > 1 || !chat_has_terminal();
    bool ok = up_folder(cli, &r.folder, &err) && things_open(cli, r.folder, &r.q, &err) &&
              things_get(&r.q, &LLMKUBE_INFERENCE_SERVICE, r.wanted.name, &r.service, &err) &&
              may_answer(&r, &err) && (!asks || (question = chat_question(cli, 1, &err)));
    int code = ok ? talk(&r, question) : cli_fail(cli, &err);
    ask_close(&r.q);
    return code;
}

/* ---- the commands ---- */

static const struct cli_flag name_flags[] = {
    { "name", 0, "NAME", NULL, "Name of the Model and the service. Default: from the file name." },
    { 0 },
};
static const struct cli_flag run_flags[] = {
    { "gpu", 0, "N", NULL, "Number of GPUs. Default: 1 if a GPU is free, else 0." },
    { "context", 0, "TOKENS", NULL, "Size of the context window. Default: the server's own." },
    { "detach", 'd', NULL, "false", "Return when it is ready, without a chat." },
    { 0 },
};

const struct cli_command cli_run = {
    .name = "run",
    .summary = "Serve a model on this machine and chat with it, without a manifest.",
    .arguments = "MODEL [TEXT…]",
    .text =
        "  leeboard run ./model.gguf\n"
        "  leeboard run hf://org/repo/model.gguf 'What is a leeboard?'\n"
        "  leeboard run tinyllama <question.txt >answer.txt\n\n"
        "MODEL is a GGUF file, its https:// URL, hf://org/repo/FILE[@REVISION], or the name of an\n"
        "existing service. The command starts `leeboard up` in the background if none runs, and\n"
        "creates a Model and an InferenceService; `leeboard export` prints them. With a text, or\n"
        "if standard input or output is not a terminal, it prints only the answer.\n",
    .flags =
        (const struct cli_flag *const[]){
            name_flags, run_flags, chat_flags, things_flags, up_folder_flags, start_flags, NULL },
    .run = run_run,
};

const struct cli_command cli_pull = {
    .name = "pull",
    .summary = "Fetch a model into the cache of this machine without serving it.",
    .arguments = "MODEL",
    .text = "  leeboard pull hf://org/repo/model.gguf\n\n"
            "MODEL is the https:// URL of a GGUF file, or hf://org/repo/FILE[@REVISION]. The\n"
            "command creates a Model, and a Job fetches it. An interrupted download is resumed.\n",
    .flags =
        (const struct cli_flag *const[]){
            name_flags, things_flags, up_folder_flags, start_flags, NULL },
    .run = run_pull,
};

const struct cli_command cli_chat = {
    .name = "chat",
    .summary = "Chat with a model that `leeboard up` serves.",
    .arguments = "NAME [TEXT…]",
    .text = "  leeboard chat tinyllama\n"
            "  git diff | leeboard chat tinyllama --system 'Review this change.'\n\n"
            "On a terminal, Ctrl-C ends an answer and Ctrl-D ends the chat. The arrow keys edit\n"
            "the line and show earlier questions. With a text, or if standard input or output is\n"
            "not a terminal, the command prints only the answer.\n",
    .flags = (const struct cli_flag *const[]){ chat_flags, things_flags, up_folder_flags, NULL },
    .run = run_chat,
};
