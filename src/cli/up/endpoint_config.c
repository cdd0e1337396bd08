#include "cli/up/endpoint_config.h"

#include <stdlib.h>

#include "base/str.h"
#include "base/url.h"

#define LLAMA "llamacpp" /* a runtime that accepts any model name */

struct service {
    const char *name, *ns;
    struct json object;
    bool router;
    bool alone; /* no other namespace has this name */
};

static int in_order(const void *one, const void *two)
{
    const struct service *a = one, *b = two;
    int order = a->router != b->router ? a->router - b->router : strcmp(a->name, b->name);
    return order ? order : strcmp(a->ns, b->ns);
}

static const char *text_or(struct json object, const char *path, const char *otherwise)
{
    const char *text = json_get_text(object, path);
    return text_empty(text) ? otherwise : text;
}

const char *endpoint_key(struct arena *a, struct json object)
{
    return arena_printf(a,
        "%s/%s",
        text_or(object, "metadata.namespace", "default"),
        text_or(object, "metadata.name", ""));
}

/* The service's own origin, even if it is not ready. */
static const char *origin_of(struct arena *a, struct json service)
{
    struct url url;
    const char *endpoint = json_get_text(service, "status.endpoint");
    if (text_empty(endpoint) || !url_parse(a, endpoint, &url, NULL))
        return NULL;
    return arena_printf(a, "%s://%s", url.scheme, url_authority(a, &url));
}

bool endpoint_is_router(struct json object)
{
    return text_eq(json_get_text(object, "kind"), "ModelRouter");
}

static bool is_ready(struct json service)
{
    const char *phase = json_get_text(service, "status.phase");
    return json_get_int(service, "status.readyReplicas", 0) > 0 || text_eq(phase, "Ready") ||
           (endpoint_is_router(service) && text_eq(phase, "Degraded"));
}

const char *endpoint_origin(struct arena *a, struct json service)
{
    return is_ready(service) ? origin_of(a, service) : NULL;
}

static const char *unavailable(struct arena *a, const struct service *s)
{
    const char *option = text_eq(s->ns, "default") ? "" : arena_printf(a, " -n %s", s->ns);
    if (json_get_int(s->object, "spec.replicas", 1) == 0)
        return arena_printf(a,
            "The model \"%s\" is stopped. `leeboard run %s%s` starts it.",
            s->name,
            s->name,
            option);
    return arena_printf(a,
        "The model \"%s\" is not ready yet (%s). `leeboard why %s%s` says why.",
        s->name,
        text_or(s->object, "status.phase", "Pending"),
        s->name,
        option);
}

static struct json backend_of(struct arena *a, const struct service *s, struct json served)
{
    const char *key = endpoint_key(a, s->object);
    const char *word = s->alone || text_eq(s->ns, "default") ? s->name : key;
    const char *origin = origin_of(a, s->object);
    struct json names = json_member(served, key);
    const char *first = json_text(json_item(names, 0));
    bool maps = !text_eq(text_or(s->object, "spec.runtime", LLAMA), LLAMA) && !text_empty(first);
    bool ready = origin && is_ready(s->object);
    return json_fields(a,
        { "name", json_str(key) },
        { "displayName", json_str(word) },
        { "tier", json_str("local") },
        { "address", json_str(origin ? origin : "http://127.0.0.1:1") },
        { "model", json_if(maps, json_str(first)) },
        { "served", names },
        { "unavailable", ready ? json_none : json_str(unavailable(a, s)) });
}

static bool is_alone(const struct service *list, size_t count, size_t i)
{
    for (size_t k = 0; k < count; k++)
        if (k != i && text_eq(list[k].name, list[i].name))
            return false;
    return true;
}

struct json endpoint_config(struct arena *a, struct json services, struct json served)
{
    struct service *list = arena_array(a, services.count + 1, sizeof(*list));
    size_t count = 0;
    json_each (object, services)
        list[count++] = (struct service){
            .name = text_or(*object, "metadata.name", ""),
            .ns = text_or(*object, "metadata.namespace", "default"),
            .object = *object,
            .router = endpoint_is_router(*object),
        };
    qsort(list, count, sizeof(*list), in_order);
    struct json_builder backends;
    json_builder_init(&backends, a);
    for (size_t i = 0; i < count; i++) {
        list[i].alone = is_alone(list, count, i);
        json_push(&backends, backend_of(a, &list[i], served));
    }
    return json_fields(a,
        { "defaultRouteStrategy", json_str("ByName") },
        { "backends", json_list_end(&backends) });
}
