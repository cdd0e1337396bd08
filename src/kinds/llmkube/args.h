#pragma once

/* Command lines as tables: one row per argument, rows in the order of the arguments.
 *
 *   { "--ctx-size", "contextSize", JSON_INT },                     --ctx-size 4096
 *   { "--jinja", "jinja", JSON_BOOL },                             --jinja
 *   { "--override-kv", "metadataOverrides", JSON_LIST },           --override-kv A --override-kv B
 *   { "--lora-paths", .make = lora_paths, .once = true },          --lora-paths A B
 *   { NULL, "extraArgs", JSON_LIST },                              A B
 *   { "--host", "bindAddress", JSON_STR, .otherwise = "::" },      --host ::
 *   { "--metrics", .unless = "--metrics" },                        --metrics
 *
 * A value that is absent, null, false or an empty text gives no argument. A row without a value is
 * just its flag. */

#include "kinds/llmkube/runtime.h"

struct args_rule {
    const char *flag; /* NULL: the value has no flag */
    const char *path; /* below spec */
    enum json_type type;
    /* Computes the value, if it is not simply the value at the path. */
    struct json (*make)(struct arena *a, const struct runtime_input *in);

    const char *custom;     /* path of a text that overrides the value */
    const char *otherwise;  /* default if there is no value */
    const char *none;       /* text that means "no value" */
    const char *on;         /* argument after the flag of a true boolean; NULL: nothing */
    int64_t min;            /* smaller integers mean no value; 0: every integer counts */
    bool once;              /* of a list: one flag before all items */
    const char *unless;     /* left out if extraArgs has this flag */
    const char *unless_set; /* left out if spec has an integer at this path */
    bool (*when)(const struct runtime_input *in); /* left out if this returns false; NULL: never */
};

/* Builds the arguments, a list of texts. Tables end with a row of zeros. */
struct json args_build(
    struct arena *a, const struct runtime_input *in, const struct args_rule *rules);
/* False if a value of spec has a type that its row does not accept; err names its path. */
bool args_check(const struct args_rule *rules, struct json spec, struct error *err) must_check;
/* Whether a list of arguments has `--flag` or `--flag=…`. Short forms are not recognized. */
bool args_have(struct json list, const char *flag);

/* ---- values and conditions that several runtimes share ---- */

struct json args_port(struct arena *a, const struct runtime_input *in);
/* The model argument of vLLM, SGLang and TGI: the staged file or directory, or else the source. */
struct json args_model(struct arena *a, const struct runtime_input *in);
struct json args_devices(struct arena *a, const struct runtime_input *in); /* GPUs to spread over */
bool args_has_devices(const struct runtime_input *in);
