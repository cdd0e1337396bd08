#pragma once

/* The Model kind, and what other kinds of the family read from a Model. */

#include "engine/kind.h"
#include "kinds/llmkube/source.h"

extern const struct resource LLMKUBE_MODEL;
extern const struct kind llmkube_model_kind;

/* A Model as other kinds see it. Only fields that decisions depend on; the rest stays in object. */
struct model {
    struct json object;
    const char *name;
    const char *ns;
    struct source source;
    const char *key;            /* of the present source */
    const char *format;         /* "gguf" … */
    const char *refresh_policy; /* "IfNotPresent" or "OnChange" */
    const char *sha256;         /* 64 lower-case hex digits; NULL: not checked */
    const char *secret_name;    /* NULL: none */
    const char *mmproj;         /* NULL: none */
    struct json files;          /* list of text, or absent */
    bool prefetch;
    const char *accelerator; /* "cpu", "metal", … */
    struct json gpu;         /* spec.hardware.gpu, or absent */
    /* From the status, if it is about the present source: after an edit of spec.source all of these
     * are empty until the Model has been reconciled. */
    const char *phase;     /* "" if none yet */
    const char *path;      /* controller-local or /model-source path; "" */
    const char *cache_key; /* the effective key (facts 3.1); "" means no cache */
    const char *gguf_name; /* status.gguf.modelName; "" */
    const char *etag;      /* of the source; "" */
};

/* False if the object is invalid; err names the path. */
bool model_read(
    struct arena *a, struct json object, struct model *ret, struct error *err) must_check;
/* File name of a single-file model, with .gguf: from status.path, else from the file's header, else
 * the Model's name. */
const char *model_file_name(struct arena *a, const struct model *m);
/* Whether pods use the node's own file without a copy. */
bool model_is_in_place(const struct llmkube_settings *s, const struct model *m);
static inline bool model_is_metal(const struct model *m)
{
    return text_eq(m->accelerator, "metal");
}
/* The name of the Job that prefetches a Model of this name. */
const char *model_prefetch_job(struct arena *a, const char *model);
/* Whether individual files of a repository or bucket are listed: files, mmproj or both. */
static inline bool model_has_files(const struct model *m)
{
    return m->files.count > 0 || m->mmproj;
}
/* Those files without duplicates; the one to serve is first and the projector last. */
struct json model_files(struct arena *a, const struct model *m);
/* Why they cannot be fetched; NULL if they can, or none are listed. */
const char *model_files_problem(struct arena *a, const struct model *m);
