/* LimitRanges: their defaults for containers, and their limits. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/object.h"
#include "apiserver/core/server.h"
#include "apiserver/store/store.h"
#include "base/buf.h"
#include "base/quantity.h"

static const char *const container_lists[] = { "containers", "initContainers" };

/* ---- the LimitRanges of a namespace ---- */

struct ranges {
    const struct api_kind *kind;
    const struct store_table *table;
    struct store_cursor cursor;
};

static bool ranges_begin(const struct api_write *w, const char *ns, struct ranges *ret)
{
    if (!w->server || !ns)
        return false;
    ret->kind = registry_find(apiserver_registry(w->server), "", "v1", "limitranges");
    ret->table = store_table(apiserver_store(w->server), ret->kind->table);
    ret->cursor = (struct store_cursor){ .ns = ns };
    return true;
}

/* The limits of the next one; absent after the last. */
static struct json ranges_next(const struct api_write *w, struct ranges *r)
{
    const struct store_object *o = store_next(r->table, &r->cursor);
    return json_if(o, json_get(object_read(r->kind, w->arena, o), "spec.limits"));
}

/* ---- defaults ---- */

/* Adds defaults to resources.limits or .requests of a container; the added names go into `set`. */
static struct json fill_amounts(
    struct arena *a, struct json container, const char *part, struct json amounts, struct buf *set)
{
    struct json resources = json_member(container, "resources");
    struct json have = json_member(resources, part);
    json_each_member (m, amounts) {
        if (json_present(json_member(have, m->key)))
            continue;
        have = json_with_member(
            a, json_is(have, JSON_MAP) ? have : json_empty_map(), m->key, m->value);
        buf_printf(set, "%s%s", set->len ? ", " : "", m->key);
    }
    if (!set->len)
        return container;
    resources = json_with_member(
        a, json_is(resources, JSON_MAP) ? resources : json_empty_map(), part, have);
    return json_with_member(a, container, "resources", resources);
}

static struct json fill_container(
    struct arena *a, struct json container, struct json limit, bool init, struct buf *told)
{
    static const struct {
        const char *part, *from, *word;
    } rows[] = {
        { "requests", "defaultRequest", "request" },
        { "limits", "default", "limit" },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        cleanup(buf_done) struct buf set = BUF_INIT((size_t)16 << 10);
        container =
            fill_amounts(a, container, rows[i].part, json_member(limit, rows[i].from), &set);
        if (set.len)
            buf_printf(told,
                "%s%s %s for %s %s",
                told->len ? "; " : "",
                buf_text(&set),
                rows[i].word,
                init ? "init container" : "container",
                json_get_text(container, "name"));
    }
    return container;
}

static struct json fill_containers(
    struct arena *a, struct json spec, struct json limit, struct buf *told)
{
    for (size_t l = 0; l < lengthof(container_lists); l++) {
        struct json_builder b;
        json_builder_init(&b, a);
        json_each (c, json_member(spec, container_lists[l]))
            json_push(&b, fill_container(a, *c, limit, l == 1, told));
        spec = json_with_member(a, spec, container_lists[l], json_or_absent(json_list_end(&b)));
    }
    return spec;
}

void pod_limits_fill(const struct api_write *w, struct json *object)
{
    struct arena *a = w->arena;
    struct ranges ranges;
    struct json limits, spec = json_member(*object, "spec");
    cleanup(buf_done) struct buf told = BUF_INIT((size_t)256 << 10);
    if (!ranges_begin(w, json_get_text(*object, "metadata.namespace"), &ranges))
        return;
    while (json_present(limits = ranges_next(w, &ranges)))
        json_each (limit, limits)
            if (text_eq(json_get_text(*limit, "type"), "Container"))
                spec = fill_containers(a, spec, *limit, &told);
    if (!told.len)
        return;
    struct json annotations = json_get(*object, "metadata.annotations");
    annotations = json_with_member(a,
        json_is(annotations, JSON_MAP) ? annotations : json_empty_map(),
        "kubernetes.io/limit-ranger",
        json_strf(a, "LimitRanger plugin set: %s", buf_text(&told)));
    *object = json_with_member(a, *object, "spec", spec);
    *object = json_with(a, *object, "metadata.annotations", annotations);
}

/* ---- enforcement ---- */

struct verdict {
    struct arena *arena;
    struct buf text;
    size_t count;
};

static void refuse(struct verdict *v, const char *format, ...) printf_like(2, 3);
static void refuse(struct verdict *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(v->arena, format, args);
    va_end(args);
    buf_printf(&v->text, "%s%s", v->count++ ? ", " : "", text);
}

struct amount {
    bool there;
    struct quantity q;
    const char *text;
};

static struct amount amount_of(struct json amounts, const char *name)
{
    struct amount x = { .text = json_text(json_member(amounts, name)) };
    x.there = x.text && quantity_parse(str_of(x.text), &x.q, NULL);
    return x;
}

/* Checks one entry of a LimitRange against the resources of a container, a Pod or a claim. */
static void check_range(
    struct verdict *v, struct json limit, struct json requests, struct json limits, bool claim)
{
    const char *type = json_get_text(limit, "type");
    json_each_member (m, json_member(limit, "min")) {
        struct amount least = amount_of(json_member(limit, "min"), m->key);
        struct amount asked = amount_of(requests, m->key), most = amount_of(limits, m->key);
        if (!asked.there)
            refuse(v,
                "minimum %s usage per %s is %s.  No request is specified",
                m->key,
                type,
                least.text);
        else if (quantity_compare(asked.q, least.q) < 0)
            refuse(v,
                "minimum %s usage per %s is %s, but request is %s",
                m->key,
                type,
                least.text,
                asked.text);
        else if (most.there && quantity_compare(most.q, least.q) < 0)
            refuse(v,
                "minimum %s usage per %s is %s, but limit is %s",
                m->key,
                type,
                least.text,
                most.text);
    }
    json_each_member (m, json_member(limit, "max")) {
        struct amount top = amount_of(json_member(limit, "max"), m->key);
        struct amount asked = amount_of(requests, m->key), most = amount_of(limits, m->key);
        if (claim ? !asked.there : !most.there)
            refuse(v,
                "maximum %s usage per %s is %s.  No %s is specified",
                m->key,
                type,
                top.text,
                claim ? "request" : "limit");
        else if (most.there && quantity_compare(most.q, top.q) > 0)
            refuse(v,
                "maximum %s usage per %s is %s, but limit is %s",
                m->key,
                type,
                top.text,
                most.text);
        else if (asked.there && quantity_compare(asked.q, top.q) > 0)
            refuse(v,
                "maximum %s usage per %s is %s, but request is %s",
                m->key,
                type,
                top.text,
                asked.text);
    }
}

static void check_ratio(
    struct verdict *v, struct json limit, struct json requests, struct json limits)
{
    struct json ratios = json_member(limit, "maxLimitRequestRatio");
    const char *type = json_get_text(limit, "type");
    json_each_member (m, ratios) {
        struct amount top = amount_of(ratios, m->key);
        struct amount asked = amount_of(requests, m->key), most = amount_of(limits, m->key);
        double low = asked.there ? (double)quantity_milli_value(asked.q) : 0;
        double high = most.there ? (double)quantity_milli_value(most.q) : 0;
        if (low == 0 || high == 0)
            refuse(v,
                "%s max limit to request ratio per %s is %s, but no %s is specified or %s is 0",
                m->key,
                type,
                top.text,
                low == 0 ? "request" : "limit",
                low == 0 ? "request" : "limit");
        else if (high / low > (double)quantity_milli_value(top.q) / 1000)
            refuse(v,
                "%s max limit to request ratio per %s is %s, but provided ratio is %f",
                m->key,
                type,
                top.text,
                high / low);
    }
}

/* ---- whole Pods ---- */

static const char *amount_text(struct arena *a, struct quantity like, int64_t milli)
{
    if (like.format == QUANTITY_BINARY && milli % 1000 == 0)
        return quantity_to_text(a, quantity_of_bytes(milli / 1000));
    return quantity_canonical(a, arena_printf(a, "%lldm", (long long)milli));
}

/* The sum of all containers, or the largest init container if it needs more. */
static struct json pod_amounts(
    struct arena *a, struct json spec, const char *part, struct json names)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each_member (m, names) {
        int64_t sum = 0;
        bool there = false;
        struct quantity like = { 0 };
        for (size_t l = 0; l < lengthof(container_lists); l++)
            json_each (c, json_member(spec, container_lists[l])) {
                struct amount x = amount_of(json_get(json_member(*c, "resources"), part), m->key);
                if (!x.there)
                    continue;
                int64_t milli = quantity_milli_value(x.q);
                like = there ? like : x.q;
                there = true;
                sum = l == 0 ? sum + milli : milli > sum ? milli : sum;
            }
        if (there)
            json_put(&b, m->key, json_str(amount_text(a, like, sum)));
    }
    return json_map_end(&b);
}

static void check_pod_sums(struct verdict *v, struct json limit, struct json spec)
{
    static const char *const parts[] = { "min", "max", "maxLimitRequestRatio" };
    struct json_builder b;
    json_builder_init(&b, v->arena);
    for (size_t i = 0; i < lengthof(parts); i++)
        json_put_all(&b, json_member(limit, parts[i]));
    struct json names = json_map_end(&b);
    struct json requests = pod_amounts(v->arena, spec, "requests", names);
    struct json limits = pod_amounts(v->arena, spec, "limits", names);
    check_range(v, limit, requests, limits, false);
    check_ratio(v, limit, requests, limits);
}

static void check_pod(struct verdict *v, struct json limit, struct json spec)
{
    if (text_eq(json_get_text(limit, "type"), "Pod"))
        check_pod_sums(v, limit, spec);
    if (!text_eq(json_get_text(limit, "type"), "Container"))
        return;
    for (size_t l = 0; l < lengthof(container_lists); l++)
        json_each (c, json_member(spec, container_lists[l])) {
            struct json requests = json_get(*c, "resources.requests");
            struct json limits = json_get(*c, "resources.limits");
            check_range(v, limit, requests, limits, false);
            check_ratio(v, limit, requests, limits);
        }
}

static void verdict_done(struct verdict *v)
{
    buf_done(&v->text);
}

bool limits_check(const struct api_write *w, struct json object, struct error *err)
{
    struct ranges ranges;
    struct json limits, spec = json_member(object, "spec");
    bool claim = api_kind_is_core(w->kind, "PersistentVolumeClaim");
    if (*w->subresource || (!claim && json_present(w->old)))
        return true;
    if (!ranges_begin(w, json_get_text(object, "metadata.namespace"), &ranges))
        return true;
    while (json_present(limits = ranges_next(w, &ranges))) {
        cleanup(verdict_done) struct verdict v = { .arena = w->arena };
        buf_init(&v.text, (size_t)256 << 10);
        json_each (limit, limits) {
            if (!claim)
                check_pod(&v, *limit, spec);
            else if (text_eq(json_get_text(*limit, "type"), "PersistentVolumeClaim"))
                check_range(&v, *limit, json_get(spec, "resources.requests"), json_none, true);
        }
        const char *text = arena_strdup(w->arena, buf_text(&v.text));
        if (v.count)
            return fail(err,
                ERR_FORBIDDEN,
                v.count > 1 ? "%s \"%s\" is forbidden: [%s]" : "%s \"%s\" is forbidden: %s",
                w->kind->resource.plural,
                meta_asked_name(object),
                text);
    }
    return true;
}
