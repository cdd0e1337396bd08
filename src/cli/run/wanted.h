#pragma once

/* What a person wants to run, from the word on the command line to objects. Pure but for files that
 * are looked for. */

#include "base/error.h"
#include "base/json.h"

struct wanted {
    const char *source; /* of a Model; NULL: the word is the name of what is there */
    const char *name;   /* of both objects */
    bool local;         /* a file of this machine */
};

/* "./model.gguf", "https://…/model.gguf", "hf://org/repo/model.gguf[@revision]", "chat". name: as
 * the person wants to call it; NULL: after the file. */
bool wanted_read(struct arena *a, const char *word, const char *name, struct wanted *ret,
    struct error *err) must_check;

struct wanted_options {
    const char *ns;
    int64_t context;    /* tokens; 0: as the program has it */
    int64_t gpus;       /* of a service */
    const char *vendor; /* of GPUs that the model may get: nvidia, amd, intel; NULL: none */
    bool prefetch;      /* of the Model */
};
struct json wanted_model(struct arena *a, const struct wanted *w, const struct wanted_options *o);
struct json wanted_service(
    struct arena *a, const struct wanted *w, const struct wanted_options *o, const char *model);
