#include "engine/view.h"

struct json view_get_in(
    const struct view *in, const struct resource *r, const char *ns, const char *name)
{
    if (text_empty(name))
        return json_none;
    return in->source->get(in->source_ctx, r, ns, name);
}

struct json view_get(const struct view *in, const struct resource *r, const char *name)
{
    return view_get_in(in, r, view_namespace(in), name);
}

struct json view_list(
    const struct view *in, const struct resource *r, const char *ns, const char *label_selector)
{
    return in->source->list(in->source_ctx, r, ns, label_selector);
}

static bool waits_before(struct json other, struct json mine)
{
    static const char *const order[] = {
        "metadata.creationTimestamp",
        "metadata.namespace",
        "metadata.name",
    };
    for (size_t i = 0; i < lengthof(order); i++) {
        int by = json_compare(json_get(other, order[i]), json_get(mine, order[i]));
        if (by != 0)
            return by < 0;
    }
    return false;
}

int64_t view_queue_position(
    const struct view *in, const struct resource *own, const char *path, const char *value)
{
    if (in->source->queue_position)
        return in->source->queue_position(in->source_ctx, own, path, value);
    int64_t position = 1;
    json_each (other, view_list(in, own, NULL, NULL))
        position += text_eq(json_get_text(*other, path), value) && waits_before(*other, in->object);
    return position;
}

bool view_served(const struct view *in, const struct resource *r)
{
    return in->source->served(in->source_ctx, r);
}

static bool controls(struct json owner, struct json object)
{
    const char *uid = json_get_text(owner, "metadata.uid");
    json_each (reference, json_get(object, "metadata.ownerReferences"))
        if (json_get_bool(*reference, "controller", false) &&
            text_eq(json_get_text(*reference, "uid"), uid))
            return true;
    return false;
}

struct json view_child(const struct view *in, const struct resource *r, const char *name)
{
    struct json object = view_get(in, r, name);
    return json_if(controls(in->object, object), object);
}

struct json view_owned(const struct view *in, const struct resource *r, const char *name)
{
    return in->source->owned(in->source_ctx, r, name);
}

struct view_trouble view_trouble(const struct view *in, const struct resource *r, const char *name)
{
    return in->source->trouble(in->source_ctx, r, name);
}

struct json view_fact(const struct view *in, const char *effect, struct json args)
{
    return in->source->fact(in->source_ctx, effect, args);
}
