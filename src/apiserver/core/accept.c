#include "apiserver/core/accept.h"

#include <string.h>

#include "apiserver/core/object.h"

#define ACCEPT_CLAUSES_MAX 32

/* ---- parsing ---- */

/* An invalid quality counts as the lowest. */
static double quality_of(struct str value)
{
    double q;
    return str_to_real(value, &q) ? q : 0;
}

/* Exactly one "=", with a value; others are ignored. */
static void add_parameter(struct arena *a, struct accept_clause *c, struct str parameter)
{
    struct str value = parameter, name = str_trim(str_cut(&value, '='));
    if (!value.len || memchr(value.ptr, '=', value.len))
        return;
    struct str trimmed = str_trim(value);
    const char **forms[] = { &c->as, &c->group, &c->version, &c->stream, &c->server_version };
    static const char *const names[] = { "as", "g", "v", "stream", "sv" };
    if (str_eq(name, STR("q")))
        c->quality = quality_of(value);
    else if (str_eq(name, STR("pretty")))
        c->pretty = str_eq(trimmed, STR("1"));
    for (size_t i = 0; i < lengthof(names); i++)
        if (str_eq(name, str_of(names[i])))
            *forms[i] = str_dup(a, trimmed);
}

static int stars(const struct accept_clause *c)
{
    return text_eq(c->type, "*/*") ? 2 : text_ends(c->type, "/*");
}

static bool goes_before(const struct accept_clause *x, const struct accept_clause *y)
{
    return x->quality != y->quality ? x->quality > y->quality : stars(x) < stars(y);
}

/* "*" means any type; other texts need exactly two parts. */
static const char *type_of(struct arena *a, struct str text)
{
    struct str rest = str_trim(text), first = str_trim(str_cut(&rest, '/'));
    if (!rest.len)
        return str_eq(first, STR("*")) ? "*/*" : NULL;
    struct str second = str_trim(rest);
    if (memchr(rest.ptr, '/', rest.len))
        return NULL;
    return arena_printf(a, "%.*s/%.*s", (int)first.len, first.ptr, (int)second.len, second.ptr);
}

const struct accept_clause *accept_parse(struct arena *a, const char *header, size_t *ret_count)
{
    struct accept_clause *list = arena_array(a, ACCEPT_CLAUSES_MAX, sizeof(*list));
    size_t count = 0;
    struct str rest = str_of(text_empty(header) ? "*/*" : header);
    while (rest.ptr && count < ACCEPT_CLAUSES_MAX) {
        struct str parameters = str_cut(&rest, ',');
        struct accept_clause c = { .type = type_of(a, str_cut(&parameters, ';')), .quality = 1 };
        if (!c.type)
            continue;
        while (parameters.ptr)
            add_parameter(a, &c, str_cut(&parameters, ';'));
        size_t at = count++;
        for (; at > 0 && goes_before(&c, &list[at - 1]); at--)
            list[at] = list[at - 1];
        list[at] = c;
    }
    *ret_count = count;
    return list;
}

/* ---- the router ---- */

#define OFFERED "application/json, application/yaml, application/vnd.kubernetes.protobuf"
#define OFFERED_STREAMS                                                                            \
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"

bool accept_router_takes(const char *header, const char *more)
{
    static const char *const types[] = {
        "*/*", "application/json", "application/yaml", "application/vnd.kubernetes.protobuf"
    };
    struct str rest = str_of(text_empty(header) ? "*/*" : header);
    while (rest.ptr) {
        struct str clause = str_cut(&rest, ','), type = str_trim(str_cut(&clause, ';'));
        for (size_t i = 0; i < lengthof(types); i++)
            if (str_eq(type, str_of(types[i])))
                return true;
        if (more && str_eq(type, str_of(more)))
            return true;
    }
    return false;
}

static void refuse(struct arena *a, struct api_answer *ret, const char *message)
{
    answer_status(a, ret, 406, "NotAcceptable", message, json_none);
}

static bool pass_router(
    struct arena *a, const char *header, enum accept_target target, struct api_answer *ret_refusal)
{
    static const char *const offers[] = {
        [ACCEPT_OF_OBJECT] = OFFERED,
        [ACCEPT_OF_LIST] = OFFERED ", " OFFERED_STREAMS,
        [ACCEPT_OF_WATCH] = OFFERED ", " OFFERED_STREAMS,
        [ACCEPT_OF_LOG] = ("text/plain, " OFFERED),
        [ACCEPT_OF_BARE] = OFFERED,
    };
    if (accept_router_takes(header, target == ACCEPT_OF_LOG ? "text/plain" : NULL))
        return true;
    answer_status(a,
        ret_refusal,
        406,
        "NotAcceptable",
        arena_printf(a, "406: Not Acceptable\n\nAvailable representations: %s", offers[target]),
        json_empty_map());
    return false;
}

/* ---- choosing ---- */

static bool media_of(const struct accept_clause *c, enum accept_media *ret)
{
    bool json = text_eq(c->type, "application/json") || text_eq(c->type, "application/*") ||
                text_eq(c->type, "*/*");
    *ret = json ? MEDIA_JSON : MEDIA_YAML;
    return json || text_eq(c->type, "application/yaml");
}

static bool is_plain(const struct accept_clause *c)
{
    return !c->as && !c->group && !c->version;
}

/* YAML cannot be streamed. */
static bool takes_stream(const struct accept_clause *c, enum accept_media media)
{
    return text_empty(c->stream) || (media == MEDIA_JSON && text_eq(c->stream, "watch"));
}

static bool form_of(const struct accept_clause *c, enum accept_target target, enum accept_form *ret)
{
    static const char *const names[] = {
        [ACCEPT_TABLE] = "Table",
        [ACCEPT_PARTIAL] = "PartialObjectMetadata",
        [ACCEPT_PARTIAL_LIST] = "PartialObjectMetadataList",
    };
    *ret = ACCEPT_OBJECT;
    if (is_plain(c))
        return true;
    bool tables = target != ACCEPT_OF_BARE && target != ACCEPT_OF_LOG;
    for (size_t i = tables ? ACCEPT_TABLE : ACCEPT_PARTIAL; i < lengthof(names); i++)
        if (text_eq(c->as, names[i])) {
            *ret = (enum accept_form)i;
            return text_eq(c->group, "meta.k8s.io") &&
                   (text_eq(c->version, "v1") || text_eq(c->version, "v1beta1"));
        }
    return false;
}

static bool choose(
    const struct accept_clause *list, size_t count, enum accept_target target, struct accept *ret)
{
    for (size_t i = 0; i < count; i++) {
        const struct accept_clause *c = &list[i];
        struct accept chosen = { .pretty = c->pretty };
        if (!media_of(c, &chosen.media) || !takes_stream(c, chosen.media) ||
            !text_empty(c->server_version) || !form_of(c, target, &chosen.form))
            continue;
        chosen.api_version =
            text_eq(c->version, "v1beta1") ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1";
        chosen.content_type = chosen.media == MEDIA_JSON ? "application/json" : "application/yaml";
        *ret = chosen;
        return true;
    }
    return false;
}

bool accept_choose(struct arena *a, const char *header, const struct api_kind *k,
    enum accept_target target, struct accept *ret, struct api_answer *ret_refusal)
{
    size_t count;
    const struct accept_clause *list = accept_parse(a, header, &count);
    if (!k->custom && !pass_router(a, header, target, ret_refusal))
        return false;
    if (choose(list, count, target, ret))
        return true;
    refuse(a, ret_refusal, "only the following media types are accepted: " OFFERED);
    return false;
}

bool accept_streams(struct arena *a, const struct accept *accept, struct api_answer *ret_refusal)
{
    if (accept->media == MEDIA_JSON)
        return true;
    refuse(a, ret_refusal, "only the following media types are accepted: " OFFERED_STREAMS);
    return false;
}

enum accept_media accept_error_media(struct arena *a, const char *header)
{
    size_t count;
    enum accept_media media;
    if (text_empty(header) || text_eq(header, "application/json"))
        return MEDIA_JSON;
    const struct accept_clause *list = accept_parse(a, header, &count);
    for (size_t i = 0; i < count; i++)
        if (media_of(&list[i], &media) && takes_stream(&list[i], media) && is_plain(&list[i]) &&
            text_empty(list[i].server_version))
            return media;
    return MEDIA_JSON;
}

/* ---- unsupported forms ---- */

bool accept_fits(struct arena *a, enum accept_form form, const struct api_kind *k, bool list,
    struct api_answer *ret_refusal)
{
    if (form == ACCEPT_PARTIAL && list)
        refuse(a,
            ret_refusal,
            arena_printf(a,
                "you requested PartialObjectMetadata, but the requested object is a list (*%s)",
                k->custom ? "unstructured.UnstructuredList" : object_go_type(a, k, k->list_kind)));
    else if (form == ACCEPT_PARTIAL_LIST && !list && k->custom)
        answer_status(a, ret_refusal, 500, "", "content is not a list", json_none);
    else if (form == ACCEPT_PARTIAL_LIST && !list)
        refuse(a,
            ret_refusal,
            arena_printf(a,
                "you requested PartialObjectMetadataList, but the requested object is not a list "
                "(*%s)",
                object_go_type(a, k, k->resource.kind)));
    else
        return true;
    return false;
}
