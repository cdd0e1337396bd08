#pragma once

/* Converts the word on the command line to the objects to create. Pure, except that it looks for
 * files. */

#include "base/error.h"
#include "base/json.h"

struct wanted {
    const char *source; /* of a Model; NULL: the word is the name of an existing object */
    const char *name;   /* of both objects */
    bool local;         /* a file on this machine */
};

/* "./model.gguf", "https://…/model.gguf", "hf://org/repo/model.gguf[@revision]", "chat". name: the
 * name that the user chose; NULL: derived from the file. */
bool wanted_read(struct arena *a, const char *word, const char *name, struct wanted *ret,
    struct error *err) must_check;

struct wanted_options {
    const char *ns;
    int64_t context;    /* tokens; 0: the program's default */
    int64_t gpus;       /* of a service */
    const char *vendor; /* of the GPUs that the model may use: nvidia, amd, intel; NULL: none */
    bool prefetch;      /* of the Model */
};
struct json wanted_model(struct arena *a, const struct wanted *w, const struct wanted_options *o);
struct json wanted_service(
    struct arena *a, const struct wanted *w, const struct wanted_options *o, const char *model);
