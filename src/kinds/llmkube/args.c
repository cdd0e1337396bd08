#include "kinds/llmkube/args.h"

#include "kinds/llmkube/model.h"
#include "kinds/llmkube/source.h"

#include <stdlib.h>

/* ---- values as text ---- */

/* The fewest digits that read back as the same number, never with an exponent, like
 * strconv.FormatFloat(v, 'f', -1, 64). */
static const char *real_text(struct arena *a, double value)
{
    char text[32];
    int after_point = 0; /* 16 are enough for all numbers */
    do
        snprintf(text, sizeof(text), "%.*e", after_point, value);
    while (strtod(text, NULL) != value && after_point++ < 16);
    int decimals = after_point - (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    return arena_printf(a, "%.*f", decimals > 0 ? decimals : 0, value);
}

static struct json value_text(struct arena *a, struct json v)
{
    if (json_is(v, JSON_INT))
        return json_strf(a, "%lld", (long long)v.integer);
    if (json_is(v, JSON_REAL))
        return json_str(real_text(a, v.real));
    return v;
}

/* ---- rows ---- */

bool args_have(struct json list, const char *flag)
{
    size_t length = strlen(flag);
    json_each (item, list) {
        const char *text = json_text(*item);
        if (text_starts(text, flag) && (!text[length] || text[length] == '='))
            return true;
    }
    return false;
}

static bool row_applies(const struct args_rule *rule, const struct runtime_input *in)
{
    if (rule->unless && args_have(json_get(in->spec, "extraArgs"), rule->unless))
        return false;
    if (rule->unless_set && json_is(json_get(in->spec, rule->unless_set), JSON_INT))
        return false;
    return !rule->when || rule->when(in);
}

static struct json row_value(
    struct arena *a, const struct args_rule *rule, const struct runtime_input *in)
{
    struct json v = rule->make   ? rule->make(a, in)
                    : rule->path ? json_get(in->spec, rule->path)
                                 : json_bool(!rule->otherwise);
    if (rule->custom && !text_empty(json_get_text(in->spec, rule->custom)))
        v = json_get(in->spec, rule->custom);
    if (json_is(v, JSON_INT) && rule->min && v.integer < rule->min)
        return json_none;
    if (rule->none && text_eq(json_text(v), rule->none))
        return json_none;
    if (rule->otherwise && text_empty(json_text(v)))
        return json_str(rule->otherwise);
    return v;
}

static void row_push(struct json_builder *args, const struct args_rule *rule, struct json v)
{
    struct arena *a = args->arena;
    struct json flag = json_str(rule->flag);
    if (json_is(v, JSON_BOOL)) {
        json_push(args, json_if(v.boolean, flag));
        json_push(args, json_if(v.boolean, json_str(rule->on)));
    } else if (json_is(v, JSON_LIST)) {
        for (uint32_t i = 0; i < v.count; i++) {
            if (i == 0 || !rule->once)
                json_push(args, flag);
            json_push(args, value_text(a, v.items[i]));
        }
    } else if (json_present(v) && !json_is(v, JSON_NULL) && !text_eq(json_text(v), "")) {
        json_push(args, flag);
        json_push(args, value_text(a, v));
    }
}

struct json args_build(
    struct arena *a, const struct runtime_input *in, const struct args_rule *rules)
{
    struct json_builder args;
    json_builder_init(&args, a);
    for (const struct args_rule *rule = rules; rule->flag || rule->path || rule->make; rule++)
        if (row_applies(rule, in))
            row_push(&args, rule, row_value(a, rule, in));
    return json_list_end(&args);
}

/* ---- types ---- */

static bool fits(struct json v, enum json_type type)
{
    return !json_present(v) || json_is(v, JSON_NULL) || json_is(v, type) ||
           (type == JSON_REAL && json_is(v, JSON_INT));
}

static bool refuse(struct error *err, const char *path, struct json v, enum json_type type)
{
    return fail(err,
        ERR_INVALID,
        "spec.%s: expected %s, got %s",
        path,
        json_type_name((struct json){ .type = (uint8_t)type }),
        json_type_name(v));
}

/* If a parent is not a map, everything below it would be ignored. */
static bool check_parents(const char *path, struct json spec, struct error *err)
{
    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
        char parent[96];
        snprintf(parent, sizeof(parent), "%.*s", (int)(dot - path), path);
        struct json v = json_get(spec, parent);
        if (!fits(v, JSON_MAP))
            return refuse(err, parent, v, JSON_MAP);
    }
    return true;
}

static bool check_value(const char *path, enum json_type type, struct json spec, struct error *err)
{
    if (!path)
        return true;
    struct json v = json_get(spec, path);
    if (!check_parents(path, spec, err))
        return false;
    if (!fits(v, type))
        return refuse(err, path, v, type);
    for (uint32_t i = 0; json_is(v, JSON_LIST) && i < v.count; i++) {
        char item[96];
        snprintf(item, sizeof(item), "%s[%u]", path, i);
        if (!json_is(v.items[i], JSON_STR))
            return refuse(err, item, v.items[i], JSON_STR);
    }
    return true;
}

bool args_check(const struct args_rule *rules, struct json spec, struct error *err)
{
    for (const struct args_rule *rule = rules; rule->flag || rule->path || rule->make; rule++)
        if (!check_value(rule->path, rule->type, spec, err) ||
            !check_value(rule->custom, JSON_STR, spec, err))
            return false;
    return true;
}

/* ---- shared values ---- */

struct json args_port(struct arena *a, const struct runtime_input *in)
{
    (void)a;
    const struct runtime *r = runtime_find(json_get_text(in->spec, "runtime"));
    return json_int(runtime_container_port(r, in->spec));
}

struct json args_model(struct arena *a, const struct runtime_input *in)
{
    if (text_empty(in->model_path))
        return json_str(source_serve_argument(a, &in->model->source));
    /* A repository of several files is loaded as a whole, unless it is one GGUF in parts. */
    const char *format = in->model->format;
    bool whole = in->staged_dir && !text_empty(format) && !text_eq(format, "gguf");
    return json_str(whole ? in->staged_dir : in->model_path);
}

struct json args_devices(struct arena *a, const struct runtime_input *in)
{
    (void)a;
    return json_int(in->gpu->count);
}

bool args_has_devices(const struct runtime_input *in)
{
    return in->gpu->count > 0;
}
