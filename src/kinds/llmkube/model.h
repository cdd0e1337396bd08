#pragma once

/* The Model kind, and what other kinds of the family read of a Model. */

#include "engine/kind.h"
#include "kinds/llmkube/source.h"

extern const struct resource LLMKUBE_MODEL;
extern const struct kind llmkube_model_kind;

/* A Model as its users see it. Only what decisions depend on; the rest stays in object. */
struct model {
    struct json object;
    const char *name;
    const char *namespace;
    struct source source;
    const char *format;         /* "gguf" … */
    const char *refresh_policy; /* "IfNotPresent" or "OnChange" */
    const char *sha256;         /* NULL: not checked */
    const char *secret_name;    /* NULL: none */
    const char *mmproj;         /* NULL: none */
    struct json files;          /* list of text, or absent */
    const char *accelerator;    /* "cpu", "metal", … */
    struct json gpu;            /* spec.hardware.gpu, or absent */
    /* from status */
    const char *phase;     /* "" if none yet */
    const char *path;      /* controller-local or /model-source path; "" */
    const char *cache_key; /* the effective key (facts 3.1); "" means no cache */
    const char *gguf_name; /* status.gguf.modelName; "" */
};

/* False if the object does not fit; err names the path. */
bool model_read(
    struct arena *a, struct json object, struct model *ret, struct error *err) must_check;
/* File name of a single-file model, with .gguf. */
const char *model_file_name(struct arena *a, const struct model *m);
static inline bool model_is_metal(const struct model *m)
{
    return text_eq(m->accelerator, "metal");
}
