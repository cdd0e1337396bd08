#include "apiserver/describe/documents.h"

#include <stdlib.h>
#include <string.h>

#include "apiserver/core/accept.h"
#include "apiserver/describe/discovery.h"
#include "apiserver/describe/openapi.h"
#include "apiserver/describe/openapi_v2.h"
#include "apiserver/store/store.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/url.h"
#include "base/yaml.h"

#define DOCUMENT_BYTES_MAX ((size_t)32 << 20)
/* For all cached documents. */
#define DOCUMENTS_BYTES_MAX ((size_t)4 << 20)

struct document {
    struct document *next;
    char *key;
    size_t holders; /* responses in progress */
    bool gone;      /* removed from the list */
    bool passing;   /* the text is large, and is freed with its last holder */
    struct buf text;
    char etag[2 * SHA256_BYTES + 3];
};

struct documents {
    struct apiserver *server;
    struct document *list; /* most recently used first */
    uint64_t generation;   /* of the registry from which the list was built */
    struct buf scratch;    /* for responses that are not cached */
};

struct documents *documents_new(struct apiserver *s)
{
    struct documents *d = mem_new_of(struct documents);
    d->server = s;
    buf_init(&d->scratch, DOCUMENT_BYTES_MAX);
    return d;
}

/* A response may still use it. */
static void document_free(struct document *doc)
{
    doc->gone = true;
    if (doc->holders)
        return;
    buf_done(&doc->text);
    free(doc->key);
    free(doc);
}

struct document *document_hold(struct document *doc)
{
    doc->holders++;
    return doc;
}

void document_release(struct document *doc)
{
    if (!doc)
        return;
    doc->holders--;
    if (doc->gone)
        document_free(doc);
    else if (doc->passing && !doc->holders)
        buf_done(&doc->text);
}

static void forget_all(struct documents *d)
{
    while (d->list) {
        struct document *doc = d->list;
        d->list = doc->next;
        document_free(doc);
    }
}

void documents_free(struct documents *d)
{
    if (!d)
        return;
    forget_all(d);
    buf_done(&d->scratch);
    free(d);
}

/* ---- cache ---- */

static struct document *find(struct documents *d, const char *key)
{
    uint64_t generation = registry_generation(apiserver_registry(d->server));
    if (generation != d->generation)
        forget_all(d);
    d->generation = generation;
    for (struct document **at = &d->list; *at; at = &(*at)->next)
        if (text_eq((*at)->key, key)) {
            struct document *doc = *at;
            *at = doc->next;
            doc->next = d->list;
            return d->list = doc;
        }
    return NULL;
}

/* A document whose text is added later. */
static struct document *keep(struct documents *d, const char *key, const char *digest)
{
    struct document *doc = mem_new_of(struct document);
    doc->key = mem_strdup(key);
    buf_init(&doc->text, DOCUMENT_BYTES_MAX);
    snprintf(doc->etag, sizeof(doc->etag), "\"%s\"", digest);
    for (char *p = doc->etag; *p; p++)
        *p = *p >= 'a' && *p <= 'f' ? (char)(*p - 'a' + 'A') : *p;
    doc->next = d->list;
    return d->list = doc;
}

static struct document *keep_text(
    struct documents *d, struct arena *a, const char *key, struct json v)
{
    const char *text = json_to_text(a, v);
    struct document *doc = keep(d, key, sha256_hex(a, str_of(text)));
    buf_add_text(&doc->text, text);
    size_t bytes = doc->text.len;
    for (struct document *last = doc; last->next;) {
        bytes += last->next->text.len;
        if (bytes <= DOCUMENTS_BYTES_MAX) {
            last = last->next;
            continue;
        }
        struct document *old = last->next;
        last->next = old->next;
        document_free(old);
    }
    return doc;
}

static bool has_it(const struct api_request *r, const struct document *doc)
{
    return r->if_none_match && strstr(r->if_none_match, doc->etag);
}

static void answer_document(const struct api_request *r, struct document *doc,
    const char *content_type, struct api_answer *ret)
{
    bool same = has_it(r, doc);
    *ret = (struct api_answer){
        .status = same ? 304 : 200,
        .content_type = content_type,
        .body = same ? STR("") : buf_str(&doc->text),
        .etag = doc->etag,
        .document = doc,
    };
}

/* ---- discovery ---- */

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

enum form { FORM_NONE, FORM_JSON, FORM_YAML, FORM_AGGREGATED };

static enum form form_of(struct arena *a, const char *accept, bool aggregated)
{
    size_t count;
    const struct accept_clause *c = accept_parse(a, accept, &count);
    for (; count > 0; count--, c++) {
        bool json = text_eq(c->type, "application/json") || text_eq(c->type, "*/*") ||
                    text_eq(c->type, "application/*");
        if (json && !c->as && !c->group && !c->version)
            return FORM_JSON;
        if (text_eq(c->type, "application/yaml") && !c->as && !c->group && !c->version)
            return FORM_YAML;
        if (json && aggregated && text_eq(c->as, "APIGroupDiscoveryList") &&
            text_eq(c->group, "apidiscovery.k8s.io") && text_eq(c->version, "v2"))
            return FORM_AGGREGATED;
    }
    return FORM_NONE;
}

/* The response of built-in paths if no media type is supported. */
static void answer_no_media(struct arena *a, struct api_answer *ret, const char *offered)
{
    answer_status(a,
        ret,
        406,
        "NotAcceptable",
        arena_printf(a, "406: Not Acceptable\n\nAvailable representations: %s", offered),
        json_empty_map());
}

static bool refused(struct arena *a, const struct api_request *r, enum form form, bool routed,
    bool any_method, struct api_answer *ret)
{
    if (!any_method && !text_eq(r->method, "GET"))
        answer_status(a,
            ret,
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
            json_empty_map());
    else if (routed && !accept_router_takes(r->accept, NULL))
        answer_no_media(
            a, ret, "application/json, application/yaml, application/vnd.kubernetes.protobuf");
    else if (form == FORM_NONE)
        answer_status(a,
            ret,
            406,
            "NotAcceptable",
            "only the following media types are accepted: application/json, application/yaml, "
            "application/vnd.kubernetes.protobuf",
            json_none);
    else
        return false;
    return true;
}

/* A document in the legacy format: small, so it is not cached. */
static void answer_legacy(
    struct documents *d, enum form form, struct json document, struct api_answer *ret)
{
    buf_reset(&d->scratch);
    if (form == FORM_YAML)
        yaml_print(&d->scratch, document);
    else
        json_print(&d->scratch, document);
    *ret = (struct api_answer){
        .status = 200,
        .content_type = form == FORM_YAML ? "application/yaml" : "application/json",
        .body = buf_str(&d->scratch),
    };
}

static void answer_group_missing(
    struct documents *d, struct arena *a, const char *group, struct api_answer *ret)
{
    const struct api_kind *k = NULL;
    for (size_t i = 0; (k = registry_at(apiserver_registry(d->server), i)); i++)
        if (text_eq(k->resource.group, group))
            break;
    if (k && !k->custom)
        answer_status(a,
            ret,
            404,
            "NotFound",
            "the server could not find the requested resource",
            json_empty_map());
    else
        answer_text(ret, 404, "404 page not found\n");
}

static bool is_built_in(const struct registry *r, const char *group)
{
    const struct api_kind *k;
    for (size_t i = 0; group && (k = registry_at(r, i)); i++)
        if (!k->custom && text_eq(k->resource.group, group))
            return true;
    return false;
}

/* The path after /api or /apis, in parts. */
static void answer_discovery(struct documents *d, struct arena *a, const struct api_request *r,
    bool core, const char *const parts[2], struct api_answer *ret)
{
    const struct registry *registry = apiserver_registry(d->server);
    enum form form = form_of(a, r->accept, !parts[0]);
    bool group = !core && !parts[1]; /* these documents are returned for any method */
    if (refused(a, r, form, core || is_built_in(registry, parts[0]), group, ret))
        return;
    if (form == FORM_AGGREGATED) {
        const char *key = core ? "/api" : "/apis";
        struct document *doc = find(d, key);
        if (!doc)
            doc = keep_text(d, a, key, discovery_aggregated(a, registry, core));
        answer_document(r, doc, AGGREGATED, ret);
        return;
    }
    struct json document;
    if (!parts[0])
        document = core ? discovery_api_versions(a, apiserver_endpoint(d->server))
                        : discovery_groups(a, registry);
    else if (core)
        document = discovery_resources(a, registry, "", parts[0]);
    else if (!parts[1])
        document = discovery_group(a, registry, parts[0]);
    else
        document = discovery_resources(a, registry, parts[0], parts[1]);
    if (json_present(document))
        answer_legacy(d, form, document, ret);
    else
        answer_group_missing(d, a, core ? "" : parts[0], ret);
}

/* ---- version, health, metrics ---- */

static void answer_version(struct documents *d, struct arena *a, struct api_answer *ret)
{
    static const char *const fields[][2] = {
        { "major", "1" },
        { "minor", "36" },
        { "emulationMajor", "1" },
        { "emulationMinor", "36" },
        { "minCompatibilityMajor", "1" },
        { "minCompatibilityMinor", "35" },
        { "gitVersion", "v1.36.4+leeboard-" LEEBOARD_VERSION },
        { "gitCommit", "" },
        { "gitTreeState", "" },
        { "buildDate", "1970-01-01T00:00:00Z" },
        { "goVersion", "none" },
        { "compiler", "gcc" },
#ifdef __aarch64__
        { "platform", "linux/arm64" },
#else
        { "platform", "linux/amd64" },
#endif
    };
    struct json_builder b;
    json_builder_init(&b, a);
    for (size_t i = 0; i < lengthof(fields); i++)
        json_put(&b, fields[i][0], json_str(fields[i][1]));
    buf_reset(&d->scratch);
    json_print_pretty(&d->scratch, json_map_end(&b), 2);
    *ret = (struct api_answer){ 200, "application/json", buf_str(&d->scratch), NULL, NULL };
}

/* Checks that monitors query; all are fine if the server responds at all. */
static const char *const checks[] = { "ping", "log", "etcd", "poststarthook/rbac/bootstrap-roles" };

static bool answer_health(struct documents *d, struct arena *a, const struct api_request *r,
    const char *path, struct api_answer *ret)
{
    static const char *const names[] = { "/healthz", "/livez", "/readyz" };
    for (size_t i = 0; i < lengthof(names); i++) {
        size_t length = strlen(names[i]);
        if (!text_starts(path, names[i]) || (path[length] && path[length] != '/'))
            continue;
        const char *one = path[length] ? path + length + 1 : "";
        bool known = !path[length];
        for (size_t c = 0; c < lengthof(checks); c++)
            known |= text_eq(one, checks[c]);
        const char *query = r->query.ptr ? str_dup(a, r->query) : "";
        if (!known) {
            answer_text(ret, 404, "404 page not found\n");
        } else if (*one || !url_query_value(a, query, "verbose")) {
            answer_text(ret, 200, "ok");
        } else {
            buf_reset(&d->scratch);
            for (size_t c = 0; c < lengthof(checks); c++)
                buf_printf(&d->scratch, "[+]%s ok\n", checks[c]);
            buf_printf(&d->scratch, "%s check passed\n", names[i] + 1);
            answer_text(ret, 200, "");
            ret->body = buf_str(&d->scratch);
        }
        return true;
    }
    return false;
}

static void answer_metrics(struct documents *d, struct api_answer *ret)
{
    struct buf *b = &d->scratch;
    struct store *store = apiserver_store(d->server);
    const struct registry *registry = apiserver_registry(d->server);
    size_t kinds = 0;
    while (registry_at(registry, kinds))
        kinds++;
    buf_reset(b);
    buf_printf(b,
        "# HELP leeboard_apiserver_kinds Served resources, a version each.\n"
        "# TYPE leeboard_apiserver_kinds gauge\n"
        "leeboard_apiserver_kinds %zu\n"
        "# HELP leeboard_apiserver_version The newest resourceVersion.\n"
        "# TYPE leeboard_apiserver_version counter\n"
        "leeboard_apiserver_version %llu\n"
        "# HELP leeboard_apiserver_oldest_version What a watch may begin from.\n"
        "# TYPE leeboard_apiserver_oldest_version counter\n"
        "leeboard_apiserver_oldest_version %llu\n"
        "# HELP apiserver_storage_objects Objects by resource.\n"
        "# TYPE apiserver_storage_objects gauge\n",
        kinds,
        (unsigned long long)store_version(store),
        (unsigned long long)store_oldest(store));
    for (struct store_table *t = NULL; (t = store_table_next(store, t));) {
        struct str group = str_of(store_table_name(t)), plural = group;
        group = str_cut(&plural, '/');
        buf_printf(b,
            "apiserver_storage_objects{resource=\"%.*s%s%.*s\"} %zu\n",
            (int)plural.len,
            plural.ptr,
            group.len ? "." : "",
            (int)group.len,
            group.ptr,
            store_table_count(t));
    }
    *ret = (struct api_answer){
        200, "text/plain; version=0.0.4; charset=utf-8", buf_str(b), NULL, NULL
    };
}

static void answer_root(struct documents *d, struct arena *a, struct api_answer *ret)
{
    static const char *const others[] = {
        "/healthz", "/livez", "/metrics", "/openapi/v2", "/openapi/v3", "/readyz", "/version"
    };
    struct json_builder paths;
    json_builder_init(&paths, a);
    json_push(&paths, json_str("/api"));
    json_push(&paths, json_str("/api/v1"));
    json_push(&paths, json_str("/apis"));
    json_push(&paths, json_str("/apis/"));
    const struct api_kind *k;
    struct json_builder groups;
    json_builder_init(&groups, a);
    for (size_t i = 0; (k = registry_at(apiserver_registry(d->server), i)); i++)
        if (*k->resource.group) {
            json_put(&groups, arena_printf(a, "/apis/%s", k->resource.group), json_null());
            json_put(&groups,
                arena_printf(a, "/apis/%s/%s", k->resource.group, k->resource.version),
                json_null());
        }
    json_each_member (m, json_map_end(&groups))
        json_push(&paths, json_str(m->key));
    for (size_t i = 0; i < lengthof(others); i++)
        json_push(&paths, json_str(others[i]));
    answer_legacy(d, FORM_JSON, json_map(a, { "paths", json_list_end(&paths) }), ret);
}

/* ---- OpenAPI ---- */

/* All kinds in one document of several megabytes. Its digest is cached, and its text only while it
 * is being sent. */
static void answer_openapi_v2(
    struct documents *d, struct arena *a, const struct api_request *r, struct api_answer *ret)
{
    static const char *const types[][2] = {
        { "application/json", "application/json" },
        { "application/*", "application/json" },
        { "*/*", "application/json" },
        { "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", OPENAPI_V2_BINARY },
        { OPENAPI_V2_BINARY, OPENAPI_V2_BINARY },
    };
    const char *type = NULL;
    size_t count;
    const struct accept_clause *c = accept_parse(a, r->accept, &count);
    for (; !type && count > 0; count--, c++)
        for (size_t i = 0; i < lengthof(types); i++)
            if (text_eq(c->type, types[i][0]))
                type = types[i][1];
    if (!type) {
        *ret = (struct api_answer){ .status = 406, .content_type = NULL, .body = STR("") };
        return;
    }
    bool binary = text_eq(type, OPENAPI_V2_BINARY);
    const char *key = binary ? "/openapi/v2 in binary form" : "/openapi/v2";
    struct document *doc = find(d, key);
    if (!doc)
        doc = keep(d, key, openapi_digest(d->server, a, NULL, NULL));
    doc->passing = true;
    if (!has_it(r, doc) && !doc->text.len) {
        /* Not in the request's arena, which lives until the last byte is sent. */
        cleanup(arena_done) struct arena own = ARENA_INIT;
        own.budget = a->budget;
        struct json v = openapi_document(d->server, &own, "/openapi/v2");
        buf_reset(&d->scratch); /* before the build: a request over its budget ends in the middle */
        if (binary)
            openapi_v2_encode(&d->scratch, v);
        else
            json_print(&d->scratch, v);
        buf_add(&doc->text, d->scratch.ptr, d->scratch.len);
        buf_done(&d->scratch);
    }
    answer_document(r, doc, type, ret);
}

static void answer_openapi(struct documents *d, struct arena *a, const struct api_request *r,
    const char *path, struct api_answer *ret)
{
    struct document *doc = find(d, path);
    if (!doc) {
        bool whole = !text_ends(path, "/");
        struct json v = json_if(whole, openapi_document(d->server, a, path));
        if (!json_present(v)) {
            *ret = (struct api_answer){ .status = 404, .content_type = NULL, .body = STR("") };
            return;
        }
        doc = keep_text(d, a, path, v);
    }
    answer_document(r, doc, "application/json", ret);
}

/* ---- dispatch ---- */

/* Splits "/x/y" after a prefix into at most two parts; false: there are more. */
static bool cut_parts(struct arena *a, const char *rest, const char *ret[2])
{
    struct str s = str_of(rest);
    ret[0] = ret[1] = NULL;
    if (!*rest || text_eq(rest, "/"))
        return true;
    str_cut(&s, '/');
    ret[0] = str_dup(a, str_cut(&s, '/'));
    if (s.ptr && s.len)
        ret[1] = str_dup(a, str_cut(&s, '/'));
    return !s.ptr || s.len == 0;
}

bool documents_answer(
    struct documents *d, struct arena *a, const struct api_request *r, struct api_answer *ret)
{
    const char *path = str_dup(a, r->path), *parts[2];
    if (text_eq(path, "/")) {
        answer_root(d, a, ret);
    } else if (text_eq(path, "/openapi/v2")) {
        answer_openapi_v2(d, a, r, ret);
    } else if (text_eq(path, "/openapi/v3") || text_starts(path, "/openapi/v3/")) {
        answer_openapi(d, a, r, path, ret);
    } else if (text_eq(path, "/metrics")) {
        answer_metrics(d, ret);
    } else if (text_starts(path, "/version") && !path[8 + strspn(path + 8, "/")]) {
        size_t count;
        const struct accept_clause *c = accept_parse(a, r->accept, &count);
        bool json = false;
        for (size_t i = 0; i < count; i++)
            json |= text_eq(c[i].type, "*/*") || text_eq(c[i].type, "application/json");
        if (!json)
            answer_no_media(a, ret, "application/json");
        else if (!refused(a, r, FORM_JSON, false, false, ret))
            answer_version(d, a, ret);
    } else if (text_starts(path, "/apis") && (!path[5] || path[5] == '/')) {
        if (!cut_parts(a, path + 5, parts) || (parts[0] && !*parts[0]))
            return false;
        answer_discovery(d, a, r, false, parts, ret);
    } else if (text_starts(path, "/api") && (!path[4] || path[4] == '/')) {
        if (!path[4 + strspn(path + 4, "/")])
            parts[0] = parts[1] = NULL;
        else if (!cut_parts(a, path + 4, parts) || parts[1])
            return false;
        answer_discovery(d, a, r, true, parts, ret);
    } else {
        return answer_health(d, a, r, path, ret);
    }
    return true;
}
