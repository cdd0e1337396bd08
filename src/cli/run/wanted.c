#include "cli/run/wanted.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/names.h"
#include "base/str.h"
#include "kinds/llmkube/source.h"

/* Leaves room for suffixes: names of pods, Jobs and Services are derived from it. */
#define NAME_BYTES_MAX 48
#define HUB "https://huggingface.co/"

/* "TinyLlama-1.1B.Q4_K_M.gguf" becomes tinyllama-1-1b-q4-k-m. */
static const char *name_of(struct arena *a, const char *source)
{
    const char *end = source + strcspn(source, "?#"), *begin = end;
    while (begin > source && begin[-1] != '/')
        begin--;
    struct str file = { begin, (size_t)(end - begin) };
    if (str_ends(file, STR(".gguf")) || str_ends(file, STR(".GGUF")))
        file.len -= strlen(".gguf");
    char *name = arena_alloc(a, NAME_BYTES_MAX + 3), *to = name;
    if (!file.len || !isalpha((unsigned char)*file.ptr))
        to = stpcpy(name, "m-");
    for (size_t i = 0; i < file.len && to < name + NAME_BYTES_MAX; i++) {
        bool plain = isalnum((unsigned char)file.ptr[i]);
        if (plain)
            *to++ = (char)tolower((unsigned char)file.ptr[i]);
        else if (to > name && to[-1] != '-')
            *to++ = '-';
    }
    while (to > name && to[-1] == '-')
        to--;
    *to = '\0';
    return name;
}

/* A repository's file is downloaded like any other, with progress and into the cache. */
static bool read_hub(struct arena *a, const char *word, struct wanted *ret, struct error *err)
{
    struct source s = source_read(a, word);
    if (s.origin != SOURCE_HF_REPO)
        return fail(
            err, ERR_INVALID, "%s", s.problem ? s.problem : "write hf://org/repo/FILE.gguf");
    if (!s.file)
        return fail(err,
            ERR_INVALID,
            "%s is a repository; say which of its files: hf://%s/FILE.gguf (its page " HUB
            "%s/tree/%s lists them)",
            word,
            s.repo,
            s.repo,
            s.revision ? s.revision : "main");
    ret->source =
        arena_printf(a, HUB "%s/resolve/%s/%s", s.repo, s.revision ? s.revision : "main", s.file);
    return true;
}

static bool read_url(struct arena *a, const char *word, struct wanted *ret, struct error *err)
{
    struct source s = source_read(a, word);
    if (s.origin != SOURCE_HTTP)
        return fail(err,
            ERR_INVALID,
            "%s is no URL of a file%s%s",
            word,
            s.problem ? ": " : "",
            s.problem ? s.problem : "; write the one that ends in .gguf");
    ret->source = word;
    return true;
}

/* Keeps the name of a link: models are often links to files with meaningless names. */
static bool read_file(struct arena *a, const char *path, struct wanted *ret, struct error *err)
{
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    const char *folder = slash ? arena_printf(a, "%.*s/", (int)(slash - path), path) : ".";
    char *whole = access(path, R_OK) == 0 ? realpath(folder, NULL) : NULL;
    if (!whole)
        return fail_errno(err, errno, "%s", path);
    ret->source = arena_printf(a, "file://%s/%s", text_eq(whole, "/") ? "" : whole, file);
    ret->local = true;
    free(whole);
    return *file || fail(err, ERR_INVALID, "%s is a folder; name a file in it", path);
}

static bool read_word(struct arena *a, const char *word, struct wanted *ret, struct error *err)
{
    bool dotted = strpbrk(word, "./"); /* characters that names do not have */
    if (text_starts(word, "hf://"))
        return read_hub(a, word, ret, err);
    if (text_starts(word, "http://") || text_starts(word, "https://"))
        return read_url(a, word, ret, err);
    if (text_starts(word, "file://"))
        return read_file(a, word + strlen("file://"), ret, err);
    if (strstr(word, "://"))
        return fail(err,
            ERR_INVALID,
            "%s: write a GGUF file, an https:// URL of one, or hf://org/repo/FILE.gguf; other "
            "sources need a manifest of their own",
            word);
    if (dotted && access(word, F_OK) == 0)
        return read_file(a, word, ret, err);
    if (dotted)
        return fail(err,
            ERR_NOT_FOUND,
            "there is no file %s; a file of Hugging Face is hf://org/repo/FILE.gguf",
            word);
    ret->name = word;
    return true;
}

bool wanted_read(
    struct arena *a, const char *word, const char *name, struct wanted *ret, struct error *err)
{
    struct error why;
    *ret = (struct wanted){ 0 };
    if (!read_word(a, word, ret, err))
        return false;
    if (!ret->source && name)
        return fail(err, ERR_INVALID, "--name is for a new model, and %s is a name already", word);
    if (!ret->name)
        ret->name = name ? name : name_of(a, ret->source);
    return name_check(NAME_DNS1035_LABEL, ret->name, &why) ||
           fail(err, ERR_INVALID, "%s is no name that can be used: %s", ret->name, why.text);
}

/* ---- objects ---- */

static struct json head(struct arena *a, const char *kind, const char *ns, const char *name)
{
    return json_fields(a,
        { "apiVersion", json_str("inference.llmkube.dev/v1alpha1") },
        { "kind", json_str(kind) },
        { "metadata.name", json_str(name) },
        { "metadata.namespace", text_eq(ns, "default") ? json_none : json_str(ns) });
}

struct json wanted_model(struct arena *a, const struct wanted *w, const struct wanted_options *o)
{
    const char *accelerator = text_eq(o->vendor, "amd")     ? "rocm"
                              : text_eq(o->vendor, "intel") ? "intel"
                                                            : "cuda";
    /* The service sets the count: a number in the Model would override it. */
    struct json gpu = json_fields(a,
        { "accelerator", json_str(accelerator) },
        { "gpu.enabled", json_bool(true) },
        { "gpu.vendor", json_str(o->vendor) });
    struct json spec = json_fields(a,
        { "source", json_str(w->source) },
        { "prefetch", json_true_or_absent(o->prefetch) },
        { "hardware", json_if(o->vendor, gpu) });
    return json_with_member(a, head(a, "Model", o->ns, w->name), "spec", spec);
}

struct json wanted_service(
    struct arena *a, const struct wanted *w, const struct wanted_options *o, const char *model)
{
    struct json spec = json_fields(a,
        { "modelRef", json_str(model) },
        { "replicas", json_int(1) },
        { "contextSize", json_int_or_absent(o->context) },
        { "resources.gpu", json_int_or_absent(o->gpus) });
    return json_with_member(a, head(a, "InferenceService", o->ns, w->name), "spec", spec);
}
