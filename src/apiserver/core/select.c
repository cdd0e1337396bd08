#include "apiserver/core/select.h"

#include <string.h>

#include "apiserver/core/object.h"

static bool is_known(struct api_call *c, const char *key)
{
    const struct api_behaviour *b = c->kind->behaviour;
    return b && b->field && b->field(c->kind, &c->arena, json_empty_map(), key);
}

/* Some kinds have their own messages. */
static bool fail_field(struct api_call *c, const char *key)
{
    static const char *const short_spoken[] = { "CertificateSigningRequest",
        "Event",
        "Namespace",
        "Node",
        "Pod",
        "ReplicationController",
        "Secret",
        "Service" };
    const char *kind = c->kind->resource.kind;
    if (strcmp(kind, "Job") == 0)
        return call_fail_bad(c, "field label \"%s\" not supported for Job", key);
    if (!c->kind->custom && strcmp(kind, "ResourceSlice") == 0)
        return call_fail_bad(c,
            "field label not supported for %s, Kind=%s: %s",
            object_api_version(&c->arena, c->kind),
            kind,
            key);
    bool short_words = c->kind->custom;
    for (size_t i = 0; i < lengthof(short_spoken) && !short_words; i++)
        short_words = strcmp(kind, short_spoken[i]) == 0;
    if (short_words)
        return call_fail_bad(c, "field label not supported: %s", key);
    return call_fail_bad(c,
        "\"%s\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        key);
}

/* A requirement for one exact value can be decided without reading objects. */
static bool is_exact(const struct selector_requirement *r)
{
    return r->op == SELECTOR_IN && r->values.count == 1;
}

/* Cluster-scoped kinds have no namespace. */
static bool is_in_none(const struct api_call *c)
{
    static const char *const kinds[] = {
        "CertificateSigningRequest", "Namespace", "Node", "ResourceSlice"
    };
    for (size_t i = 0; i < lengthof(kinds) && !c->kind->custom; i++)
        if (text_eq(c->kind->resource.kind, kinds[i]))
            return true;
    return false;
}

bool select_init(struct api_call *c, const struct list_options *o, struct selection *ret)
{
    struct selection s = {
        .kind = c->kind,
        .ns = *c->ns ? c->ns : NULL,
        .labels = o->labels,
    };
    struct selector_requirement *rest = arena_array(&c->arena, o->fields.count + 1, sizeof(*rest));
    for (size_t i = 0; i < o->fields.count; i++) {
        const struct selector_requirement *r = &o->fields.requirements[i];
        bool name = text_eq(r->key, "metadata.name");
        bool ns = text_eq(r->key, "metadata.namespace");
        if ((!name && !ns && !is_known(c, r->key)) || (ns && is_in_none(c)))
            return fail_field(c, r->key);
        const char *value = json_text(json_item(r->values, 0));
        if (name && is_exact(r) && !s.name) {
            s.name = value;
        } else if (ns && is_exact(r) && *value && !c->kind->resource.cluster_scoped) {
            s.nothing |= s.ns && !text_eq(s.ns, value);
            s.ns = value;
        } else {
            rest[s.fields.count++] = *r;
        }
    }
    s.fields.requirements = rest;
    s.parses = s.fields.count || s.labels.count;
    *ret = s;
    return true;
}

static bool fields_match(const struct selection *s, struct arena *a, struct json object)
{
    const struct api_behaviour *b = s->kind->behaviour;
    for (size_t i = 0; i < s->fields.count; i++) {
        const struct selector_requirement *r = &s->fields.requirements[i];
        const char *value = text_starts(r->key, "metadata.name")
                                ? json_get_text(object, r->key)
                                : b->field(s->kind, a, object, r->key);
        bool in = json_list_has(r->values, value ? value : "");
        if (in != (r->op == SELECTOR_IN))
            return false;
    }
    return true;
}

bool select_matches(const struct selection *s, struct arena *a, const struct store_object *object)
{
    if (!object || s->nothing || (s->name && strcmp(s->name, object->name) != 0) ||
        (s->ns && strcmp(s->ns, object->ns) != 0))
        return false;
    if (!s->parses)
        return true;
    struct json o = object_read(s->kind, a, object);
    return selector_matches(&s->labels, json_get(o, "metadata.labels")) && fields_match(s, a, o);
}
