/* From a request line to a handler. */

#include <string.h>

#include "apiserver/internal.h"
#include "base/url.h"

#define SEGMENTS_MAX 16
#define PARAMS_MAX 64

/* ---- the query ---- */

static const char *decode_param(struct arena *a, struct str s)
{
    const char *decoded;
    char *copy = str_dup(a, s);
    for (char *at = copy; *at; at++)
        if (*at == '+')
            *at = ' ';
    if (!memchr(copy, '%', s.len))
        return copy;
    return url_decode(a, (struct str){ copy, s.len }, &decoded) ? decoded : NULL;
}

/* Pairs that cannot be read are left out, as the API server does it. */
static void read_query(struct api_call *c)
{
    struct str rest = c->request->query;
    if (!rest.ptr || !rest.len)
        return;
    c->params = arena_array(&c->arena, PARAMS_MAX, sizeof(*c->params));
    while (rest.ptr && c->param_count < PARAMS_MAX) {
        struct str value = str_cut(&rest, '&');
        if (memchr(value.ptr, ';', value.len) || !value.len)
            continue;
        struct str key = str_cut(&value, '=');
        const char *k = decode_param(&c->arena, key);
        const char *v = value.ptr ? decode_param(&c->arena, value) : "";
        if (k && v)
            c->params[c->param_count++] = (struct call_param){ k, v };
    }
}

/* ---- the path ---- */

struct path {
    const char *segments[SEGMENTS_MAX];
    size_t count, at;
};

static bool split_path(struct api_call *c, struct path *p)
{
    struct str rest = c->request->path;
    while (rest.ptr) {
        struct str segment = str_cut(&rest, '/');
        if (!segment.len)
            continue;
        if (p->count == SEGMENTS_MAX)
            return false;
        const char *text = NULL;
        if (!memchr(segment.ptr, '%', segment.len))
            text = str_dup(&c->arena, segment);
        else if (!url_decode(&c->arena, segment, &text))
            return false;
        p->segments[p->count++] = text;
    }
    return true;
}

static const char *path_next(struct path *p)
{
    return p->at < p->count ? p->segments[p->at++] : NULL;
}

static bool page_not_found(struct api_call *c)
{
    call_text(c, 404, "text/plain; charset=utf-8", STR("404 page not found\n"));
    return false;
}

/* A version of which nothing but custom kinds is served knows no other resources. */
static bool is_built_in_version(const struct registry *r, const char *group, const char *version)
{
    const struct api_kind *k;
    for (size_t i = 0; (k = registry_at(r, i)); i++)
        if (!k->custom && text_eq(k->resource.group, group) &&
            text_eq(k->resource.version, version))
            return true;
    return false;
}

static bool is_namespace_part(const char *segment)
{
    return text_eq(segment, "status") || text_eq(segment, "finalize");
}

/* namespaces/NS/plural/name/subresource, where namespaces are a resource too. */
static bool read_resource(struct api_call *c, struct path *p, const char *group,
    const char *version)
{
    const struct registry *r = c->server->registry;
    size_t left = p->count - p->at;
    bool in_namespace = left >= 3 && text_eq(p->segments[p->at], "namespaces") &&
                        !(left == 3 && is_namespace_part(p->segments[p->at + 2]));
    if (in_namespace) {
        p->at++;
        c->namespace = path_next(p);
    }
    const char *plural = path_next(p);
    c->name = path_next(p);
    const char *subresource = path_next(p);
    c->subresource = subresource ? subresource : "";
    c->kind = registry_find(r, group, version, plural);
    /* A Namespace is a cluster-scoped kind whose name stands in a namespace's place. */
    bool fits = c->kind && p->at == p->count &&
                c->kind->resource.cluster_scoped == !in_namespace;
    if (c->kind && !in_namespace && !c->kind->resource.cluster_scoped && !c->name)
        fits = p->at == p->count;
    if (fits)
        return true;
    return is_built_in_version(r, group, version) ? call_fail(c, status_not_served())
                                                  : page_not_found(c);
}

static bool read_path(struct api_call *c)
{
    struct path p = { .count = 0 };
    if (!split_path(c, &p))
        return page_not_found(c);
    const char *root = path_next(&p);
    if (!text_eq(root, "api") && !text_eq(root, "apis"))
        return page_not_found(c);
    const char *group = text_eq(root, "api") ? "" : path_next(&p);
    const char *version = path_next(&p);
    if (p.at < p.count && text_eq(p.segments[p.at], "watch")) {
        c->watch_path = true;
        p.at++;
    }
    if (p.at >= p.count)
        return page_not_found(c);
    return read_resource(c, &p, group, version);
}

bool request_read(struct api_call *c)
{
    c->namespace = c->subresource = "";
    read_query(c);
    return read_path(c);
}

/* ---- verbs ---- */

static bool method_not_allowed(struct api_call *c)
{
    return call_fail(c,
        (struct api_status){ 405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
            .details = json_empty_map() });
}

static const struct route {
    const char *method;
    enum { ON_COLLECTION, ON_OBJECT } on;
    enum api_verb verb;
    void (*handle)(struct api_call *c);
} routes[] = {
    { "GET", ON_OBJECT, API_GET, rest_get },
    { "GET", ON_COLLECTION, API_LIST, rest_list },
    { "POST", ON_COLLECTION, API_CREATE, rest_create },
    { "PUT", ON_OBJECT, API_UPDATE, rest_update },
    { "PATCH", ON_OBJECT, API_PATCH, rest_patch },
    { "DELETE", ON_OBJECT, API_DELETE, rest_delete },
    { "DELETE", ON_COLLECTION, API_DELETE_COLLECTION, rest_delete_collection },
};

static const struct route *find_route(const struct api_call *c)
{
    for (size_t i = 0; i < lengthof(routes); i++)
        if (text_eq(routes[i].method, c->request->method) &&
            (routes[i].on == ON_OBJECT) == (c->name != NULL))
            return &routes[i];
    return NULL;
}

static bool has_subresource(const struct api_kind *k, const char *name)
{
    if (text_eq(name, "status"))
        return k->has_status;
    if (text_eq(name, "scale"))
        return k->scale.spec_replicas != NULL;
    return text_eq(name, "finalize") && text_eq(k->resource.kind, "Namespace");
}

void request_route(struct api_call *c)
{
    const struct route *route = find_route(c);
    if (*c->subresource && !has_subresource(c->kind, c->subresource)) {
        call_fail(c, status_not_served());
        return;
    }
    bool everywhere = !c->kind->resource.cluster_scoped && !*c->namespace;
    bool fits = route && (c->kind->verbs & route->verb);
    if (everywhere && route && route->verb != API_LIST)
        fits = false;
    if (*c->subresource && route && !(route->verb & (API_GET | API_UPDATE | API_PATCH)))
        fits = false;
    if (!fits) {
        method_not_allowed(c);
        return;
    }
    if (route->verb == API_LIST && (c->watch_path || call_param_bool(c, "watch")))
        rest_watch(c);
    else
        route->handle(c);
}
