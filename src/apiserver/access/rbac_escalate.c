/* Rights that a user would grant without having them. */

#include "apiserver/access/rbac.h"
#include "base/buf.h"

/* One right: a rule with one group, resource, name, or URL, and all its verbs. */
struct right {
    const char *group, *resource, *name, *url; /* NULL: not set */
    struct json verbs;
};

static bool listed(struct json list, const char *text)
{
    return json_list_has(list, "*") || json_list_has(list, text);
}

static bool resource_covered(struct json resources, const char *resource)
{
    if (listed(resources, resource))
        return true;
    const char *slash = strchr(resource, '/');
    cleanup(arena_done) struct arena a = ARENA_INIT;
    return slash && json_list_has(resources, arena_printf(&a, "*%s", slash));
}

static bool url_covered(struct json urls, const char *url)
{
    json_each (u, urls) {
        const char *held = json_text(*u);
        size_t length = held ? strlen(held) : 0;
        if (text_eq(held, url) ||
            (length && held[length - 1] == '*' && strncmp(held, url, length - 1) == 0))
            return true;
    }
    return false;
}

static bool verb_covered(struct json held, const struct right *r, const char *verb)
{
    json_each (rule, held) {
        struct json names = json_member(*rule, "resourceNames");
        if (!listed(json_member(*rule, "verbs"), verb))
            continue;
        if (r->url ? url_covered(json_member(*rule, "nonResourceURLs"), r->url)
                   : listed(json_member(*rule, "apiGroups"), r->group) &&
                         resource_covered(json_member(*rule, "resources"), r->resource) &&
                         (!names.count || (r->name && json_list_has(names, r->name))))
            return true;
    }
    return false;
}

/* The texts are collected as keys of a map, which sorts them and removes duplicates. */
static void add_missing(struct json_builder *texts, struct json held, const struct right *r)
{
    struct arena *a = texts->arena;
    cleanup(buf_done) struct buf verbs = BUF_INIT(65536);
    json_each (v, r->verbs) {
        const char *verb = json_text(*v);
        if (!verb || verb_covered(held, r, verb))
            continue;
        if (r->url)
            json_put(texts,
                arena_printf(a, "{NonResourceURLs:[\"%s\"], Verbs:[\"%s\"]}", r->url, verb),
                json_null());
        buf_printf(&verbs, "%s\"%s\"", verbs.len ? " " : "", verb);
    }
    if (r->url || !verbs.len)
        return;
    const char *name = r->name ? arena_printf(a, " ResourceNames:[\"%s\"],", r->name) : "";
    json_put(texts,
        arena_printf(a,
            "{APIGroups:[\"%s\"], Resources:[\"%s\"],%s Verbs:[%s]}",
            r->group,
            r->resource,
            name,
            buf_text(&verbs)),
        json_null());
}

static void add_rule(struct json_builder *texts, struct json held, struct json rule)
{
    struct right r = { .verbs = json_member(rule, "verbs") };
    json_each (url, json_member(rule, "nonResourceURLs")) {
        r.url = json_text(*url);
        if (r.url)
            add_missing(texts, held, &r);
    }
    r.url = NULL;
    struct json names = json_member(rule, "resourceNames");
    json_each (group, json_member(rule, "apiGroups"))
        json_each (resource, json_member(rule, "resources")) {
            r.group = json_text(*group);
            r.resource = json_text(*resource);
            r.name = NULL;
            if (!r.group || !r.resource)
                continue;
            if (!names.count)
                add_missing(texts, held, &r);
            json_each (name, names) {
                r.name = json_text(*name);
                if (r.name)
                    add_missing(texts, held, &r);
            }
        }
}

const char *rbac_missing(struct arena *a, struct json held, struct json wanted)
{
    struct json_builder texts;
    json_builder_init(&texts, a);
    json_each (rule, wanted)
        add_rule(&texts, held, *rule);
    struct json map = json_map_end(&texts);
    if (!map.count)
        return NULL;
    cleanup(buf_done) struct buf text = BUF_INIT((size_t)1 << 20);
    json_each_member (m, map)
        buf_printf(&text, "\n%s", m->key);
    return arena_strdup(a, buf_text(&text));
}
