#include "apiserver/describe/openapi_paths.h"

#include "apiserver/describe/discovery.h"

/* ---- operations ---- */

/* A leading '?' marks a boolean, '#' a number; a '/' is in the path. Sorted. */
#define PARAMETERS_MAX 20
static const char *const list_parameters[] = { "?allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "#limit",
    "resourceVersion",
    "resourceVersionMatch",
    "?sendInitialEvents",
    "shardSelector",
    "#timeoutSeconds",
    "?watch",
    NULL };
static const char *const write_parameters[] = { "dryRun", "fieldManager", "fieldValidation", NULL };
static const char *const patch_parameters[] = {
    "dryRun", "fieldManager", "fieldValidation", "?force", NULL
};
static const char *const delete_parameters[] = { "dryRun",
    "#gracePeriodSeconds",
    "?ignoreStoreReadErrorWithClusterBreakingPotential",
    "?orphanDependents",
    "propagationPolicy",
    NULL };
static const char *const delete_all_parameters[] = { "continue",
    "dryRun",
    "fieldSelector",
    "#gracePeriodSeconds",
    "?ignoreStoreReadErrorWithClusterBreakingPotential",
    "labelSelector",
    "#limit",
    "?orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "?sendInitialEvents",
    "shardSelector",
    "#timeoutSeconds",
    NULL };
static const char *const read_parameters[] = { "resourceVersion", NULL };
static const char *const attach_parameters[] = {
    "container", "?stderr", "?stdin", "?stdout", "?tty", NULL
};
static const char *const exec_parameters[] = {
    "command", "container", "?stderr", "?stdin", "?stdout", "?tty", NULL
};
static const char *const forward_parameters[] = { "#ports", NULL };
static const char *const log_parameters[] = { "container",
    "?follow",
    "?insecureSkipTLSVerifyBackend",
    "#limitBytes",
    "?previous",
    "#sinceSeconds",
    "stream",
    "#tailLines",
    "?timestamps",
    NULL };
static const char *const no_parameters[] = { NULL };

enum of { OF_KIND, OF_LIST, OF_STATUS, OF_WATCH };

struct operation {
    const char *method, *action, *verb; /* verb: the prefix of its id */
    unsigned verbs;                     /* the kind must support one of them */
    enum of of;                         /* type of the response */
    const char *const *parameters;
    const char *codes; /* of responses, in addition to 401 */
    bool creates_too;  /* also 201 for built-in kinds */
};

static const struct operation collection_operations[] = {
    { "get", "list", "list", API_LIST, OF_LIST, list_parameters, "200", false },
    { "post", "post", "create", API_CREATE, OF_KIND, write_parameters, "200 201 202", false },
    { "delete",
        "deletecollection",
        "delete",
        API_DELETE_COLLECTION,
        OF_STATUS,
        delete_all_parameters,
        "200",
        false },
    { 0 },
};
static const struct operation object_operations[] = {
    { "get", "get", "read", API_GET, OF_KIND, no_parameters, "200", false },
    { "put", "put", "replace", API_UPDATE, OF_KIND, write_parameters, "200 201", false },
    { "patch", "patch", "patch", API_PATCH, OF_KIND, patch_parameters, "200", true },
    { "delete", "delete", "delete", API_DELETE, OF_STATUS, delete_parameters, "200 202", false },
    { "post", "post", "create", API_CREATE, OF_KIND, write_parameters, "200 201 202", false },
    { 0 },
};
static const struct operation watch_all_operations[] = {
    { "get", "watchlist", "watch", API_WATCH, OF_WATCH, list_parameters, "200", false },
    { 0 },
};
static const struct operation watch_one_operations[] = {
    { "get", "watch", "watch", API_WATCH, OF_WATCH, list_parameters, "200", false },
    { 0 },
};

/* Subresources that are not objects. */
static const struct talk {
    const char *name;
    const char *const *parameters;
    bool connects;
} talks[] = {
    { "attach", attach_parameters, true },
    { "exec", exec_parameters, true },
    { "log", log_parameters, false },
    { "portforward", forward_parameters, true },
};

/* ---- building a path ---- */

struct path {
    struct openapi_schemas *schemas;
    const struct api_kind *kind;
    const char *text;
    unsigned verbs;
    const char *sub;                       /* subresource, or "" */
    const char *group, *version, *answers; /* of its objects */
    const struct talk *talk;               /* NULL: request and response are objects */
    bool whole;                            /* in all namespaces */
};

const char *openapi_capital(struct arena *a, const char *text)
{
    char *copy = arena_strdup(a, text);
    if (*copy >= 'a' && *copy <= 'z')
        *copy = (char)(*copy - 'a' + 'A');
    return copy;
}

const char *openapi_group_tag(struct arena *a, const char *group)
{
    const char *tag = "";
    size_t length = strlen(group);
    bool own = text_ends(group, ".k8s.io");
    struct str rest = { group, own ? length - strlen(".k8s.io") : length };
    while (rest.ptr && rest.len > 0) {
        size_t n = 0;
        while (n < rest.len && rest.ptr[n] != '.' && rest.ptr[n] != '-')
            n++;
        const char *part = str_dup(a, (struct str){ rest.ptr, n });
        tag = arena_printf(a, "%s%s", tag, *tag ? openapi_capital(a, part) : part);
        n += n < rest.len;
        rest = (struct str){ rest.ptr + n, rest.len - n };
    }
    return *tag ? tag : "core";
}

static const char *operation_id(const struct path *p, const struct operation *op)
{
    struct arena *a = p->schemas->arena;
    const struct resource *r = &p->kind->resource;
    bool connects = p->talk && p->talk->connects;
    return arena_printf(a,
        "%s%s%s%s%s%s%s%s%s%s",
        connects ? "connect" : op->verb,
        openapi_capital(a, openapi_group_tag(a, r->group)),
        openapi_capital(a, r->version),
        connects ? openapi_capital(a, op->method) : "",
        text_eq(op->action, "deletecollection") ? "Collection" : "",
        strstr(p->text, "{namespace}") ? "Namespaced" : "",
        r->kind,
        openapi_capital(a, p->sub),
        text_eq(op->action, "watchlist") ? "List" : "",
        p->whole ? "ForAllNamespaces" : "");
}

static struct json parameter(struct arena *a, const char *name)
{
    bool in_path = *name == '/';
    const char *type = *name == '?' ? "boolean" : *name == '#' ? "integer" : "string";
    return json_map(a,
        { "name", json_str(name + (in_path || *name == '?' || *name == '#')) },
        { "in", json_str(in_path ? "path" : "query") },
        { "required", json_true_or_absent(in_path) },
        { "schema", json_map(a, { "type", json_str(type) }, { "uniqueItems", json_bool(true) }) });
}

static int by_name(const void *x, const void *y)
{
    const char *l = *(const char *const *)x, *r = *(const char *const *)y;
    return strcmp(l + strspn(l, "/?#"), r + strspn(r, "/?#"));
}

static struct json parameters_of(struct arena *a, const char *const *names)
{
    struct json_builder list;
    json_builder_init(&list, a);
    for (; *names; names++)
        json_push(&list, parameter(a, *names));
    return json_or_absent(json_list_end(&list));
}

static struct json content(struct arena *a, const char *const *types, struct json schema)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (; *types; types++)
        json_put(&b, *types, json_map(a, { "schema", schema }));
    return json_map_end(&b);
}

/* The real server's name for the model of a list. */
static struct json answer_schema(const struct path *p, const struct operation *op)
{
    struct openapi_schemas *o = p->schemas;
    const struct resource *r = &p->kind->resource;
    switch (op->of) {
    case OF_LIST:
        return openapi_ref(o, openapi_kind_name(o, r->group, r->version, p->kind->list_kind));
    case OF_WATCH:
        return openapi_ref(o, OPENAPI_META "WatchEvent");
    case OF_STATUS:
        if (!p->kind->returns_deleted || text_eq(op->action, "deletecollection"))
            return openapi_ref(o, OPENAPI_META "Status");
        break;
    case OF_KIND:
        break;
    }
    return openapi_ref(o, openapi_kind_name(o, p->group, p->version, p->answers));
}

static struct json request_body(const struct path *p, const struct operation *op)
{
    static const char *const any[] = { "*/*", NULL };
    static const char *const custom[] = { "application/json", "application/yaml", NULL };
    static const char *const patches[] = { "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        NULL };
    static const char *const custom_patches[] = { "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
        NULL };
    struct openapi_schemas *o = p->schemas;
    struct arena *a = o->arena;
    bool own = !p->kind->custom;
    struct json of;
    if (text_eq(op->method, "patch"))
        of = content(a, own ? patches : custom_patches, openapi_ref(o, OPENAPI_META "Patch"));
    else if (op->of == OF_STATUS)
        of = content(a, own ? any : custom, openapi_ref(o, OPENAPI_META "DeleteOptions"));
    else
        of = content(a, own ? any : custom, answer_schema(p, op));
    bool none = text_eq(op->method, "get") || (p->talk && p->talk->connects) ||
                (!own && text_eq(op->action, "deletecollection"));
    return none ? json_none
                : json_map(a,
                      { "content", of },
                      { "required", json_true_or_absent(op->of != OF_STATUS) });
}

static const char *const builtin_types[] = {
    "application/json", "application/yaml", "application/vnd.kubernetes.protobuf", NULL
};

static struct json answers_of(const struct path *p, const struct operation *op)
{
    static const char *const custom[] = { "application/json", "application/yaml", NULL };
    static const char *const streams[] = { "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json;stream=watch",
        "application/vnd.kubernetes.protobuf;stream=watch",
        NULL };
    static const char *const log[] = { "application/json",
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "text/plain",
        NULL };
    static const char *const anything[] = { "*/*", NULL };
    static const struct {
        const char *code, *words;
    } codes[] = { { "200", "OK" }, { "201", "Created" }, { "202", "Accepted" } };
    struct arena *a = p->schemas->arena;
    const char *const *types = p->kind->custom ? custom
                               : p->talk       ? p->talk->connects ? anything : log
                               : op->of == OF_LIST || op->of == OF_WATCH ? streams
                                                                         : builtin_types;
    struct json schema =
        p->talk ? json_map(a, { "type", json_str("string") }) : answer_schema(p, op);
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < lengthof(codes); i++) {
        bool given =
            strstr(op->codes, codes[i].code) || (i == 1 && op->creates_too && !p->kind->custom);
        if (given && !(i > 0 && p->talk))
            json_put(&b,
                codes[i].code,
                json_map(a,
                    { "description", json_str(codes[i].words) },
                    { "content", content(a, types, schema) }));
    }
    json_put(&b, "401", json_map(a, { "description", json_str("Unauthorized") }));
    return json_map_end(&b);
}

static const char *const *own_parameters(const struct path *p, const struct operation *op)
{
    if (p->talk)
        return p->talk->parameters;
    if (p->kind->custom && text_eq(op->action, "get"))
        return read_parameters;
    if (p->kind->custom && text_eq(op->action, "deletecollection"))
        return list_parameters;
    return op->parameters;
}

static struct json operation(const struct path *p, const struct operation *op, bool alone)
{
    struct arena *a = p->schemas->arena;
    const struct resource *r = &p->kind->resource;
    bool own = p->kind->custom || op->of == OF_LIST || op->of == OF_WATCH;
    bool connects = p->talk && p->talk->connects;
    return json_map(a,
        { "tags", json_list(a, json_strf(a, "%s_%s", openapi_group_tag(a, r->group), r->version)) },
        { "operationId", json_str(operation_id(p, op)) },
        { "parameters", alone ? json_none : parameters_of(a, own_parameters(p, op)) },
        { "requestBody", request_body(p, op) },
        { "responses", answers_of(p, op) },
        { "x-kubernetes-action", json_str(connects ? "connect" : op->action) },
        { "x-kubernetes-group-version-kind",
            json_map(a,
                { "group", json_str(own ? r->group : p->group) },
                { "version", json_str(own ? r->version : p->version) },
                { "kind", json_str(own ? r->kind : p->answers) }) });
}

/* Parameters common to all operations belong to the path. */
static struct json common_parameters(const struct path *p, const char *const *more)
{
    const char *names[PARAMETERS_MAX];
    size_t count = 0;
    if (strstr(p->text, "{name}"))
        names[count++] = "/name";
    if (strstr(p->text, "{namespace}"))
        names[count++] = "/namespace";
    if (!p->talk || !p->talk->connects)
        names[count++] = "pretty";
    for (; *more && count + 1 < lengthof(names); more++)
        names[count++] = *more;
    assert(!*more);
    qsort(names, count, sizeof(*names), by_name);
    names[count] = NULL;
    return parameters_of(p->schemas->arena, names);
}

static void put_path(
    struct json_builder *paths, const struct path *p, const struct operation *operations)
{
    const struct operation *op, *last = NULL;
    size_t count = 0;
    for (op = operations; op->method; op++)
        if (p->verbs & op->verbs) {
            last = op;
            count++;
        }
    if (!count)
        return;
    bool alone = count == 1 || p->talk;
    struct json_builder item;
    json_builder_init(&item, paths->arena);
    for (op = operations; op->method; op++)
        if (p->verbs & op->verbs)
            json_put(&item, op->method, operation(p, op, alone));
    json_put(
        &item, "parameters", common_parameters(p, alone ? own_parameters(p, last) : no_parameters));
    json_put(paths, p->text, json_map_end(&item));
}

static void put_subresource(
    struct json_builder *paths, struct path p, const char *item, const struct subresource *s)
{
    p.text = arena_printf(paths->arena, "%s/%s", item, s->name);
    p.sub = s->name;
    p.verbs = s->verbs;
    if (*s->kind_version) {
        p.group = s->kind_group;
        p.version = s->kind_version;
    }
    p.answers = s->kind;
    for (size_t i = 0; i < lengthof(talks); i++)
        if (text_eq(s->name, talks[i].name))
            p.talk = &talks[i];
    put_path(paths, &p, object_operations);
}

void openapi_paths_add(
    struct openapi_schemas *o, struct json_builder *paths, const struct api_kind *k)
{
    struct arena *a = paths->arena;
    const struct resource *r = &k->resource;
    const char *base = *r->group ? arena_printf(a, "/apis/%s/%s", r->group, r->version)
                                 : arena_printf(a, "/api/%s", r->version);
    const char *place = r->cluster_scoped ? "" : "/namespaces/{namespace}";
    const char *item = arena_printf(a, "%s%s/%s/{name}", base, place, r->plural);
    struct path p = {
        .schemas = o,
        .kind = k,
        .sub = "",
        .group = r->group,
        .version = r->version,
        .answers = r->kind,
        .verbs = k->verbs,
    };
    struct path every = p;
    every.whole = !r->cluster_scoped;
    every.verbs &= API_LIST | API_WATCH;
    every.text = arena_printf(a, "%s/%s", base, r->plural);
    if (every.whole)
        put_path(paths, &every, collection_operations);
    p.text = arena_printf(a, "%s%s/%s", base, place, r->plural);
    put_path(paths, &p, collection_operations);
    p.text = item;
    p.verbs &= ~(unsigned)API_CREATE;
    put_path(paths, &p, object_operations);
    struct subresource subs[DISCOVERY_SUBRESOURCES_MAX];
    size_t count = discovery_subresources(k, subs);
    for (size_t i = 0; i < count; i++)
        put_subresource(paths, p, item, &subs[i]);
    if (k->custom)
        return;
    every.text = arena_printf(a, "%s/watch/%s", base, r->plural);
    put_path(paths, &every, watch_all_operations);
    p.text = arena_printf(a, "%s/watch%s/%s", base, place, r->plural);
    if (every.whole)
        put_path(paths, &p, watch_all_operations);
    p.text = arena_printf(a, "%s/watch%s/%s/{name}", base, place, r->plural);
    put_path(paths, &p, watch_one_operations);
}

void openapi_paths_add_page(
    struct openapi_schemas *o, struct json_builder *paths, const struct openapi_page *page)
{
    struct arena *a = paths->arena;
    const char *const only[] = { page->type, NULL };
    struct json schema = openapi_ref(o, page->schema);
    struct json answers = json_map(a,
        { "200",
            json_map(a,
                { "description", json_str("OK") },
                { "content", content(a, page->type ? only : builtin_types, schema) }) },
        { "401", json_map(a, { "description", json_str("Unauthorized") }) });
    json_put(paths,
        page->path,
        json_map(a,
            { "get",
                json_map(a,
                    { "tags", json_list(a, json_str(page->tag)) },
                    { "operationId", json_str(page->id) },
                    { "responses", answers }) }));
}
