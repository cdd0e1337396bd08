/* From a request line to a handler. */

#include <string.h>

#include "apiserver/access/auth.h"
#include "apiserver/core/body.h"
#include "apiserver/core/internal.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/options.h"
#include "apiserver/core/timeout.h"
#include "apiserver/describe/discovery.h"
#include "apiserver/describe/documents.h"
#include "apiserver/rules/decode.h"
#include "apiserver/verbs/write.h"
#include "base/url.h"

#define SEGMENTS_MAX 16

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

/* Invalid pairs are skipped, as in the API server. Our texts cannot contain a NUL, and a selector
 * with one must not mean "everything": such a query is refused. */
static bool read_query(struct api_call *c)
{
    struct str rest = c->request->query;
    if (!rest.ptr || !rest.len)
        return true;
    if (memmem(rest.ptr, rest.len, "%00", 3))
        return call_fail_bad(c, "the query has a NUL (%%00) in it");
    size_t most = 1; /* the length of a head is limited, and so is the number of parameters */
    for (size_t i = 0; i < rest.len; i++)
        most += rest.ptr[i] == '&';
    c->params = arena_array(&c->arena, most, sizeof(*c->params));
    while (rest.ptr) {
        struct str value = str_cut(&rest, '&');
        if (memchr(value.ptr, ';', value.len) || !value.len)
            continue;
        struct str key = str_cut(&value, '=');
        const char *k = decode_param(&c->arena, key);
        const char *v = value.ptr ? decode_param(&c->arena, value) : "";
        if (k && v)
            c->params[c->param_count++] = (struct call_param){ k, v };
    }
    return true;
}

/* Clients used by people get indented JSON: by ?pretty=, or by the user agent. */
static bool wants_lines(const struct api_call *c)
{
    static const char *const yes[] = { "1", "t", "T", "TRUE", "true", "True" };
    static const char *const agents[] = { "curl", "Wget", "Mozilla/5.0" };
    const char *asked = call_param(c, "pretty"), *agent = c->request->user_agent;
    if (!text_empty(asked)) {
        for (size_t i = 0; i < lengthof(yes); i++)
            if (text_eq(asked, yes[i]))
                return true;
        return false;
    }
    for (size_t i = 0; agent && i < lengthof(agents); i++)
        if (text_starts(agent, agents[i]))
            return true;
    return false;
}

/* ---- the path ---- */

struct path {
    const char *segments[SEGMENTS_MAX];
    size_t count, at;
    bool gaps; /* contains two consecutive slashes */
};

static bool split_path(struct api_call *c, struct path *p)
{
    struct str rest = c->request->path;
    for (bool first = true; rest.ptr; first = false) {
        struct str segment = str_cut(&rest, '/');
        p->gaps |= !segment.len && !first && rest.ptr;
        if (!segment.len)
            continue;
        if (p->count == SEGMENTS_MAX)
            return false;
        p->segments[p->count++] = str_dup(&c->arena, segment);
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

/* A version with only custom kinds has no other resources. */
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

static bool may_ask(struct api_call *c, const char *group, const char *version, const char *plural);

/* namespaces/NS/plural/name/subresource, where namespaces are also a resource. */
static bool read_resource(
    struct api_call *c, struct path *p, const char *group, const char *version)
{
    const struct registry *r = c->server->registry;
    size_t left = p->count - p->at;
    bool in_namespace = left >= 3 && text_eq(p->segments[p->at], "namespaces") &&
                        !(left == 3 && is_namespace_part(p->segments[p->at + 2]));
    if (in_namespace) {
        p->at++;
        c->ns = path_next(p);
    }
    const char *plural = path_next(p);
    c->name = path_next(p);
    const char *subresource = path_next(p);
    c->subresource = subresource ? subresource : "";
    c->kind = registry_find(r, group, version, plural);
    /* A Namespace is a cluster-scoped kind whose name is in the place of a namespace. */
    bool fits = c->kind && p->at == p->count && c->kind->resource.cluster_scoped == !in_namespace;
    if (c->kind && !in_namespace && !c->kind->resource.cluster_scoped && !c->name)
        fits = p->at == p->count;
    if (fits && c->name && (strcmp(c->name, ".") == 0 || strcmp(c->name, "..") == 0))
        return call_fail_bad(
            c, "Name parameter invalid: \"%s\": may not be '%s'", c->name, c->name);
    if (fits && (!c->name || !strchr(c->name, '/')))
        return true;
    if (!may_ask(c, group, version, plural ? plural : ""))
        return false;
    return !*group || is_built_in_version(r, group, version) ? call_fail(c, status_not_served())
                                                             : page_not_found(c);
}

static void add_escaped(struct buf *b, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char ch = text.ptr[i];
        if (ch == '&' || ch == '<' || ch == '>')
            buf_add_text(b, ch == '&' ? "&amp;" : ch == '<' ? "&lt;" : "&gt;");
        else
            buf_add_char(b, ch);
    }
}

/* …/watch without anything after it. */
static bool fail_undetermined(struct api_call *c)
{
    const struct api_request *r = c->request;
    cleanup(buf_done) struct buf url = BUF_INIT((size_t)1 << 20);
    add_escaped(&url, r->path);
    if (r->query.ptr)
        buf_add_char(&url, '?');
    add_escaped(&url, r->query.ptr ? r->query : STR(""));
    call_text(c,
        500,
        "text/plain; charset=utf-8",
        str_of(arena_printf(&c->arena,
            "Internal Server Error: \"%s\": failed to create RequestInfo: unable to determine kind "
            "and namespace from url, %s\n",
            buf_text(&url),
            buf_text(&url))));
    return false;
}

static bool read_path(struct api_call *c)
{
    struct path p = { .count = 0 };
    if (!split_path(c, &p) || str_starts(c->request->path, STR("//")))
        return page_not_found(c);
    const char *root = path_next(&p);
    bool core = text_eq(root, "api");
    if (!core && !text_eq(root, "apis"))
        return page_not_found(c);
    const char *group = core ? "" : path_next(&p);
    const char *version = path_next(&p);
    const char *verb = p.at < p.count ? p.segments[p.at] : NULL;
    if (p.at + 1 == p.count && (text_eq(verb, "watch") || text_eq(verb, "proxy")))
        return fail_undetermined(c);
    if (text_eq(verb, "watch")) {
        c->watch_path = true;
        p.at++;
    }
    if (p.at >= p.count || p.gaps)
        return core || is_built_in_version(c->server->registry, group, version)
                   ? call_fail(c, status_not_served())
                   : page_not_found(c);
    return read_resource(c, &p, group, version);
}

/* ---- verbs ---- */

static const struct route {
    const char *method;
    bool on_object;
    enum api_verb verb;
    const char *name;
    void (*handle)(struct api_call *c);
} routes[] = {
    { "GET", true, API_GET, "get", rest_get },
    { "GET", false, API_LIST, "list", rest_list },
    { "POST", false, API_CREATE, "create", rest_create },
    { "PUT", true, API_UPDATE, "update", rest_update },
    { "PATCH", true, API_PATCH, "patch", rest_patch },
    { "DELETE", true, API_DELETE, "delete", rest_delete },
    { "DELETE", false, API_DELETE_COLLECTION, "deletecollection", rest_delete_collection },
};

/* /watch/ supports only lists, also with a name: for that one object. */
static const struct route *find_route(const struct api_call *c)
{
    bool on_object = c->name && !c->watch_path;
    /* The router of custom kinds accepts a name here and ignores it. */
    if (c->kind && c->kind->custom && !*c->subresource && strcmp(c->request->method, "POST") == 0)
        on_object = false;
    for (size_t i = 0; i < lengthof(routes); i++)
        if (strcmp(routes[i].method, c->request->method) == 0 && routes[i].on_object == on_object &&
            (!c->watch_path || routes[i].verb == API_LIST))
            return &routes[i];
    return NULL;
}

/* ---- authorization ---- */

static bool is_allowed(struct api_call *c, const struct auth_request *r)
{
    struct apiserver *s = c->server;
    struct api_answer answer;
    const char *reason = "";
    if (s->options.allow_all || auth_allows(s->auth, &c->arena, c->request->user, r, &reason))
        return true;
    auth_answer_forbidden(&c->arena, c->request->user, r, reason, &answer);
    call_answer(c, &answer);
    return false;
}

/* Replaces the user by the impersonated one. False: this is not allowed; answered. */
static bool impersonate(struct api_call *c, const struct auth_request *r)
{
    struct api_answer answer;
    if (!c->request->impersonate)
        return true;
    struct api_user *user = arena_new(&c->arena, struct api_user);
    struct api_request *request = arena_new(&c->arena, struct api_request);
    if (!auth_impersonate(c->server->auth,
            &c->arena,
            c->request->user,
            c->request->impersonate,
            r,
            user,
            &answer)) {
        call_answer(c, &answer);
        return false;
    }
    *request = *c->request;
    request->user = user;
    c->request = request;
    return true;
}

/* The verb of a resource request, as in RBAC rules. */
static const char *verb_of(const struct api_call *c, const struct route *route)
{
    if (route && route->verb == API_LIST && (c->watch_path || call_param_bool(c, "watch")))
        return "watch";
    if (route)
        return route->name;
    return strcmp(c->request->method, "POST") == 0 ? "create" : "";
}

static bool method_not_allowed(struct api_call *c)
{
    const struct resource *r = &c->kind->resource;
    if (c->kind->custom)
        return call_fail(c,
            (struct api_status){ 405,
                "MethodNotAllowed",
                arena_printf(&c->arena,
                    "%s is not supported on resources of kind \"%s.%s\"",
                    verb_of(c, find_route(c)),
                    r->plural,
                    r->group),
                .details = json_map(
                    &c->arena, { "group", json_str(r->group) }, { "kind", json_str(r->plural) }) });
    return call_fail(c,
        (struct api_status){ 405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
            .details = json_empty_map() });
}

/* For a resource that may not exist: a user without the right does not learn whether it does. */
static bool may_ask(struct api_call *c, const char *group, const char *version, const char *plural)
{
    struct auth_request r = {
        .verb = verb_of(c, find_route(c)),
        .group = group,
        .version = version,
        .resource = plural,
        .subresource = c->subresource,
        .ns = c->ns,
        .name = c->name ? c->name : "",
    };
    bool ns = text_eq(plural, "namespaces") && !*group && c->name;
    if (ns)
        r.ns = c->name;
    return impersonate(c, &r) && is_allowed(c, &r);
}

/* Discovery, health, version and the like; false: none of these, or answered. */
static bool is_document(struct api_call *c)
{
    struct api_answer answer;
    const struct api_request *r = c->request;
    struct str path = r->path;
    size_t slashes = 0;
    for (size_t i = 0; i < path.len; i++)
        slashes += path.ptr[i] == '/' && i + 1 < path.len;
    bool resource = (str_starts(path, STR("/api/")) && slashes > 2) ||
                    (str_starts(path, STR("/apis/")) && slashes > 3);
    if (resource)
        return false;
    if (!c->server->options.allow_all || r->impersonate) {
        char *verb = arena_strdup(&c->arena, r->method);
        for (char *at = verb; *at; at++)
            *at = (char)(*at | 0x20);
        struct auth_request ask = { .verb = verb,
            .path = str_dup(&c->arena, path),
            .group = "",
            .version = "",
            .resource = "",
            .subresource = "",
            .ns = "",
            .name = "" };
        if (!impersonate(c, &ask) || !is_allowed(c, &ask))
            return true;
    }
    if (!documents_answer(c->server->documents, &c->arena, r, &answer))
        return false;
    call_answer(c, &answer);
    return true;
}

/* ---- the request ---- */

static bool has_subresource(const struct api_kind *k, const char *name)
{
    if (strcmp(name, "status") == 0)
        return k->has_status;
    if (strcmp(name, "scale") == 0)
        return k->scale.spec_replicas != NULL;
    return discovery_find_subresource(k, name) != NULL;
}

struct json request_prune(
    const struct api_kind *k, struct arena *a, struct json object, struct field_errors *unknown)
{
    return decode_object(a, k->schema, object, unknown);
}

const struct api_kind *request_with_schema(struct arena *a, const struct api_kind *k)
{
    static const struct api_behaviour read_only = { .prune = request_prune };
    const struct resource *r = &k->resource;
    const char *name = arena_printf(a, "%s/%s/%s", r->group, r->version, r->kind);
    for (uint32_t i = 0; !k->schema && i < schema_builtin_kind_count; i++) {
        if (!text_eq(schema_builtin.names + schema_builtin_kinds[i].name, name))
            continue;
        struct schema *schema = arena_new(a, struct schema);
        struct api_kind *copy = arena_new(a, struct api_kind);
        schema->table = schema_builtin;
        schema->root = (uint16_t)schema_builtin_kinds[i].root;
        *copy = *k;
        copy->schema = schema;
        copy->behaviour = k->behaviour ? k->behaviour : &read_only;
        return copy;
    }
    return k;
}

static void add_owners(struct api_call *c, struct json *object)
{
    struct write w = write_of_call(c);
    w.name = "";
    bool ok = write_fill_owners(&w, object, false);
    assert(ok);
}

/* A POST with a response that is not stored. */
static void answer_review(struct api_call *c)
{
    struct api_answer answer;
    struct json body;
    c->kind = request_with_schema(&c->arena, c->kind);
    if (!options_read_write(c, "CreateOptions", false) || !body_decode(c, &body) ||
        !create_check_namespace(c, body))
        return;
    body = meta_without_system(&c->arena, body);
    bool inside = !c->kind->resource.cluster_scoped;
    body = json_with(&c->arena, body, "metadata.namespace", json_if(inside, json_str(c->ns)));
    add_owners(c, &body);
    auth_review(c->server->auth, &c->arena, c->request->user, c->kind, c->ns, body, &answer);
    call_answer_object(c, &answer);
}

static void answer_token(struct api_call *c)
{
    struct api_answer answer;
    struct json body;
    const struct api_kind *account = c->kind;
    struct write w = write_of_call(c);
    c->kind = request_with_schema(&c->arena, auth_token_kind());
    bool ok = options_read_write(c, "CreateOptions", false) && body_decode(c, &body) &&
              create_check_namespace(c, body) && write_check_namespace(&w);
    if (ok) {
        if (!json_present(json_get(body, "spec.expirationSeconds")))
            body =
                json_with(&c->arena, body, "spec.expirationSeconds", json_int(AUTH_TOKEN_SECONDS));
        add_owners(c, &body);
    }
    if (ok) {
        auth_token_request(
            c->server->auth, &c->arena, c->request->user, c->ns, c->name, body, &answer);
        call_answer_object(c, &answer);
    }
    c->kind = account;
}

/* Connections that switch to another protocol have no response form. */
static bool is_connecting(const char *subresource)
{
    return text_eq(subresource, "attach") || text_eq(subresource, "exec") ||
           text_eq(subresource, "portforward");
}

/* POSTs on an object. False: unknown subresource. */
static bool post_on_object(struct api_call *c)
{
    static const struct {
        const char *name;
        void (*handle)(struct api_call *c);
    } rows[] = {
        { "attach", rest_session },
        { "binding", rest_bind },
        { "eviction", rest_evict },
        { "exec", rest_session },
        { "portforward", rest_session },
        { "token", answer_token },
    };
    for (size_t i = 0; i < lengthof(rows); i++) {
        if (!text_eq(c->subresource, rows[i].name))
            continue;
        if (is_connecting(c->subresource) || call_negotiate(c, ACCEPT_OF_BARE))
            rows[i].handle(c);
        return true;
    }
    return false;
}

/* First checks the patch type, then the form of the response. */
static bool negotiate(struct api_call *c, const struct route *route, bool watch)
{
    enum accept_target target = ACCEPT_OF_OBJECT;
    if (route->verb == API_LIST)
        target = watch ? ACCEPT_OF_WATCH : ACCEPT_OF_LIST;
    else if (text_eq(c->subresource, "log"))
        target = ACCEPT_OF_LOG;
    else if (c->kind->verbs == API_CREATE)
        target = ACCEPT_OF_BARE;
    bool connects = route->verb == API_GET && is_connecting(c->subresource);
    return (route->verb != API_PATCH || rest_patch_check_form(c)) &&
           (connects || call_negotiate(c, target));
}

/* Custom kinds have no routes by method: a write without a name is an error. */
static bool fail_nameless(struct api_call *c)
{
    bool patch = strcmp(c->request->method, "PATCH") == 0;
    if (!c->kind->custom || c->name || c->watch_path ||
        (!patch && strcmp(c->request->method, "PUT") != 0))
        return false;
    if (!patch || rest_patch_check_form(c))
        call_fail_bad(c, "name must be provided");
    return true;
}

/* Whether the kind supports this request at all. */
static bool route_fits(const struct api_call *c, const struct route *route)
{
    const struct subresource *s = discovery_find_subresource(c->kind, c->subresource);
    if (!route)
        return false;
    if (s)
        return s->verbs & route->verb;
    if (*c->subresource && !(route->verb & (API_GET | API_UPDATE | API_PATCH)))
        return false;
    bool everywhere = !c->kind->resource.cluster_scoped && !*c->ns;
    return (c->kind->verbs & route->verb) && (!everywhere || route->verb == API_LIST);
}

/* Whether the path exists: a kind that can only be created has a collection in a namespace. */
static bool has_path(const struct api_call *c)
{
    bool everywhere = !c->kind->resource.cluster_scoped && !*c->ns;
    if (c->kind->verbs == API_CREATE && (c->name || everywhere))
        return false;
    return !*c->subresource || (!c->watch_path && has_subresource(c->kind, c->subresource));
}

/* Subresources of pods that users may try, and whose message kubectl shows. */
static bool fail_not_offered(struct api_call *c)
{
    if (!api_kind_is_core(c->kind, "Pod") || !text_eq(c->subresource, "proxy"))
        return false;
    call_fail(c,
        (struct api_status){
            501, "NotImplemented", "this server does not offer pods/proxy", .details = { 0 } });
    return true;
}

static void route_resource(struct api_call *c)
{
    const struct route *route = find_route(c);
    const struct resource *r = &c->kind->resource;
    if (!may_ask(c, r->group, r->version, r->plural) || c->head_only)
        return;
    if (!has_path(c)) {
        if (c->kind->custom && c->name)
            call_fail(c, status_not_found(&c->arena, c->kind, c->name));
        else if (!fail_not_offered(c))
            call_fail(c, status_not_served());
        return;
    }
    if (c->kind->warning)
        call_warn(c, c->kind->warning);
    if (strcmp(c->request->method, "POST") == 0 && post_on_object(c))
        return;
    bool watch = route && route->verb == API_LIST && (c->watch_path || call_param_bool(c, "watch"));
    if (fail_nameless(c))
        return;
    if (!route_fits(c, route))
        method_not_allowed(c);
    else if (!negotiate(c, route, watch))
        return;
    else if (auth_is_review(c->kind))
        answer_review(c);
    else if (api_kind_is_core(c->kind, "Binding"))
        rest_create_binding(c);
    else if (watch)
        rest_watch(c);
    else
        route->handle(c);
}

/* An encoded slash is a slash, too. */
static bool decode_path(struct api_call *c)
{
    const char *path = NULL;
    if (!memchr(c->request->path.ptr, '%', c->request->path.len))
        return true;
    if (!url_decode(&c->arena, c->request->path, &path))
        return page_not_found(c);
    struct api_request *request = arena_new(&c->arena, struct api_request);
    *request = *c->request;
    request->path = str_of(path);
    c->request = request;
    return true;
}

void request_handle(struct api_call *c)
{
    c->ns = c->subresource = "";
    if (!decode_path(c) || !read_query(c) || !timeout_check(c) || is_document(c))
        return;
    c->pretty = wants_lines(c);
    if (read_path(c))
        route_resource(c);
}
