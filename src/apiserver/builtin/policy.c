/* PodDisruptionBudgets and LimitRanges. */

#include "apiserver/builtin/rules.h"
#include "apiserver/core/call.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/rules/check.h"
#include "apiserver/rules/fill.h"
#include "base/intorstr.h"
#include "base/json_index.h"
#include "base/quantity.h"

/* ---- PodDisruptionBudget ---- */

static void check_amount(struct field_errors *e, struct json v, const char *path)
{
    static const struct check at_least_0 = { "", CHECK_MIN };
    int64_t value = 0;
    if (!json_present(v))
        return;
    if (v.type == JSON_STR && !intorstr_scaled(v, 100, true, &value, NULL))
        field_invalid(e,
            path,
            v,
            "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%', "
            " or '93%', regex used for validation is '[0-9]+%')");
    else if (v.type == JSON_STR && value > 100)
        field_invalid(e, path, v, "must not be greater than 100%");
    check_value(e, v, path, &at_least_0);
}

static void check_disruption_budget(
    const struct api_write *w, struct json o, struct field_errors *e)
{
    static const char *const policies[] = { "AlwaysAllow", "IfHealthyBudget", NULL };
    static const struct check rules[] = {
        { "spec.selector", CHECK_SELECTOR },
        { "spec.unhealthyPodEvictionPolicy", CHECK_ENUM, policies },
        { 0 },
    };
    struct json spec = json_member(o, "spec"), min = json_member(spec, "minAvailable"),
                max = json_member(spec, "maxUnavailable");
    if (*w->subresource)
        return;
    if (json_present(min) && json_present(max))
        field_invalid(e, "spec", spec, "minAvailable and maxUnavailable cannot be both set");
    check_amount(e, min, "spec.minAvailable");
    check_amount(e, max, "spec.maxUnavailable");
    check_table(e, o, "", rules);
}

/* ---- LimitRange ---- */

const struct builtin_rules builtin_disruption_budget = { .validate = check_disruption_budget };
/* Maxima are the default for limits; limits, or else minima, are the default for requests. */
static struct json fill_limit(struct arena *a, struct json item)
{
    static const struct {
        const char *to, *from;
    } moves[] = {
        { "default", "max" }, { "defaultRequest", "default" }, { "defaultRequest", "min" }
    };
    if (!text_eq(json_get_text(item, "type"), "Container"))
        return item;
    for (size_t i = 0; i < lengthof(moves); i++) {
        struct json to = json_member(item, moves[i].to);
        to = json_overlay(a, json_member(item, moves[i].from), to);
        item = json_with_member(a, item, moves[i].to, json_or_absent(to));
    }
    return item;
}

static struct json fill_limit_range(struct arena *a, struct json o)
{
    return fill_each(a, o, "spec.limits.*", fill_limit);
}

/* ---- validation of a LimitRange ---- */

/* One value must not exceed another of the same resource; the message has the path of the first. */
static void check_order(
    struct field_errors *e, struct json item, const char *here, const char *const *rule)
{
    const char *low = rule[0], *high = rule[1], *at = rule[2];
    json_each_member (m, json_member(item, low)) {
        const char *a = json_text(m->value);
        const char *b = json_text(json_member(json_member(item, high), m->key));
        struct quantity x, y;
        if (!a || !b || !quantity_parse(str_of(a), &x, NULL) ||
            !quantity_parse(str_of(b), &y, NULL) || quantity_compare(x, y) <= 0)
            continue;
        const char *path = field_key(e->arena, field_child(e->arena, here, at), m->key);
        bool own = text_eq(at, low);
        bool request = text_eq(at, "defaultRequest") && !own;
        field_invalid(e,
            path,
            json_str(own       ? a
                     : request ? b
                               : a),
            arena_printf(e->arena, "%s %s is greater than %s %s", rule[3], a, rule[4], b));
    }
}

static void check_ratios(struct field_errors *e, struct json item, const char *here)
{
    json_each_member (m, json_member(item, "maxLimitRequestRatio")) {
        struct quantity ratio, low, high, one = { .value = 1 };
        const char *text = json_text(m->value);
        const char *min = json_text(json_member(json_member(item, "min"), m->key));
        const char *max = json_text(json_member(json_member(item, "max"), m->key));
        const char *path =
            field_key(e->arena, field_child(e->arena, here, "maxLimitRequestRatio"), m->key);
        if (!text || !quantity_parse(str_of(text), &ratio, NULL))
            continue;
        if (quantity_compare(ratio, one) < 0)
            field_invalid(
                e, path, m->value, arena_printf(e->arena, "ratio %s is less than 1", text));
        if (!min || !max || !quantity_parse(str_of(min), &low, NULL) ||
            !quantity_parse(str_of(max), &high, NULL) || !quantity_milli_value(low))
            continue;
        double most = (double)quantity_milli_value(high) / (double)quantity_milli_value(low);
        if ((double)quantity_milli_value(ratio) / 1000 > most)
            field_invalid(e,
                path,
                m->value,
                arena_printf(e->arena, "ratio %s is greater than max/min = %f", text, most));
    }
}

static void check_limit(struct field_errors *e, struct json item, const char *here)
{
    static const char *const rules[][5] = {
        { "min", "max", "min", "min value", "max value" },
        { "min", "defaultRequest", "defaultRequest", "min value", "default request value" },
        { "defaultRequest", "max", "defaultRequest", "default request value", "max value" },
        { "defaultRequest",
            "default",
            "defaultRequest",
            "default request value",
            "default limit value" },
        { "min", "default", "default", "min value", "default value" },
        { "default", "max", "default", "default value", "max value" },
    };
    static const char *const not_of_pods[] = { "default", "defaultRequest" };
    const char *type = json_get_text(item, "type");
    bool pod = text_eq(type, "Pod");
    for (size_t i = 0; pod && i < lengthof(not_of_pods); i++)
        if (json_member(item, not_of_pods[i]).count)
            field_forbidden(e,
                field_child(e->arena, here, not_of_pods[i]),
                "may not be specified when `type` is 'Pod'");
    if (text_eq(type, "PersistentVolumeClaim") && !json_present(json_get(item, "min.storage")) &&
        !json_present(json_get(item, "max.storage")))
        field_required(e,
            field_child(e->arena, here, "limits"),
            "either minimum or maximum storage value is required, but neither was provided");
    for (size_t i = 0; i < lengthof(rules) && !pod; i++)
        check_order(e, item, here, rules[i]);
    if (pod)
        check_order(e, item, here, rules[0]);
    check_ratios(e, item, here);
}

static void check_limit_range(const struct api_write *w, struct json o, struct field_errors *e)
{
    (void)w;
    struct json limits = json_get(o, "spec.limits");
    struct json_index types = json_index_of(e->arena, limits, "type");
    for (size_t i = 0; i < limits.count; i++) {
        const char *here = check_item_path(e->arena, "spec", "limits", i);
        const char *type_path = field_child(e->arena, here, "type");
        struct json type = json_member(limits.items[i], "type");
        bool twice = json_index_again(&types, (uint32_t)i);
        size_t before = e->count;
        check_name(e, type, type_path, NAME_LABEL_KEY);
        if (e->count == before && !strchr(json_text(type), '/') &&
            !text_eq(json_text(type), "Container") && !text_eq(json_text(type), "Pod") &&
            !text_eq(json_text(type), "PersistentVolumeClaim"))
            field_invalid(e, type_path, type, "must be a standard limit type or fully qualified");
        if (twice)
            field_duplicate(e, type_path, type);
        else
            check_limit(e, limits.items[i], here);
    }
}

/* An unnamed entry gets a name. */
static bool prepare_limit_range(const struct api_write *w, struct json *object, struct error *err)
{
    (void)err;
    if (!json_present(w->old) && text_empty(json_get_text(*object, "metadata.name")))
        *object = json_with(
            w->arena, *object, "metadata.name", json_str(meta_uid(w->server->env, w->arena)));
    return true;
}

const struct builtin_rules builtin_limit_range = {
    .fill = fill_limit_range,
    .prepare = prepare_limit_range,
    .validate = check_limit_range,
};
