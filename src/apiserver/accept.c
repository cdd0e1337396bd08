#include "apiserver/accept.h"

#include <ctype.h>

#define ACCEPT_CLAUSES_MAX 32

/* ---- parsing ---- */

static const char *lower(struct arena *a, struct str s)
{
    char *text = str_dup(a, s);
    for (char *p = text; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return text;
}

static int quality_of(struct str value)
{
    double q;
    if (!str_to_real(value, &q) || q < 0 || q > 1)
        return 1000;
    return (int)(q * 1000 + 0.5);
}

static struct str unquoted(struct str s)
{
    if (s.len > 1 && s.ptr[0] == '"' && s.ptr[s.len - 1] == '"')
        return (struct str){ s.ptr + 1, s.len - 2 };
    return s;
}

static void add_parameter(struct arena *a, struct accept_clause *c, struct str parameter)
{
    struct str value = parameter, name = str_trim(str_cut(&value, '='));
    value = value.ptr ? unquoted(str_trim(value)) : STR("");
    if (str_eq_nocase(name, STR("q")))
        c->quality = quality_of(value);
    else if (str_eq_nocase(name, STR("as")))
        c->as = str_dup(a, value);
    else if (str_eq_nocase(name, STR("g")))
        c->group = str_dup(a, value);
    else if (str_eq_nocase(name, STR("v")))
        c->version = str_dup(a, value);
    else if (str_eq_nocase(name, STR("pretty")))
        c->pretty = str_eq(value, STR("1")) || str_eq(value, STR("true"));
}

static int stars(const struct accept_clause *c)
{
    return text_eq(c->type, "*/*") ? 2 : text_ends(c->type, "/*");
}

static bool goes_before(const struct accept_clause *x, const struct accept_clause *y)
{
    return x->quality != y->quality ? x->quality > y->quality : stars(x) < stars(y);
}

const struct accept_clause *accept_parse(struct arena *a, const char *header, size_t *ret_count)
{
    struct accept_clause *list = arena_array(a, ACCEPT_CLAUSES_MAX, sizeof(*list));
    size_t count = 0;
    struct str rest = str_of(text_empty(header) ? "*/*" : header);
    while (rest.ptr && count < ACCEPT_CLAUSES_MAX) {
        struct str parameters = str_cut(&rest, ','), type = str_trim(str_cut(&parameters, ';'));
        struct accept_clause c = { lower(a, type), "", "", "", false, 1000 };
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

/* ---- choosing ---- */

#define OFFERED "application/json, application/yaml, application/vnd.kubernetes.protobuf"
#define OFFERED_STREAMS                                                                            \
    "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch"

static bool media_of(const char *type, enum accept_target target, enum accept_media *ret)
{
    bool json =
        text_eq(type, "application/json") || text_eq(type, "application/*") || text_eq(type, "*/*");
    *ret = json ? MEDIA_JSON : MEDIA_YAML;
    return json || (text_eq(type, "application/yaml") && target != ACCEPT_OF_WATCH);
}

static bool form_of(const struct accept_clause *c, enum accept_form *ret)
{
    static const char *const names[] = {
        [ACCEPT_OBJECT] = "",
        [ACCEPT_TABLE] = "Table",
        [ACCEPT_PARTIAL] = "PartialObjectMetadata",
        [ACCEPT_PARTIAL_LIST] = "PartialObjectMetadataList",
    };
    for (size_t i = 0; i < lengthof(names); i++)
        if (text_eq(c->as, names[i])) {
            *ret = (enum accept_form)i;
            return !*c->as || (text_eq(c->group, "meta.k8s.io") &&
                                  (text_eq(c->version, "v1") || text_eq(c->version, "v1beta1")));
        }
    return false;
}

/* The built-in kinds' router looks at the media types before anybody looks at parameters, and knows
 * no application/… with a star. */
bool accept_router_takes(const struct accept_clause *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_eq(list[i].type, "*/*") || text_eq(list[i].type, "application/json") ||
            text_eq(list[i].type, "application/yaml") ||
            text_eq(list[i].type, "application/vnd.kubernetes.protobuf"))
            return true;
    return false;
}

/* "*core.NamespaceList": what the API server calls its own type in messages. */
static const char *go_type(struct arena *a, const struct api_kind *k, const char *kind)
{
    struct str group = str_of(k->resource.group), package = str_cut(&group, '.');
    if (package.len == 0 || text_eq(k->resource.group, "events.k8s.io"))
        package = STR("core");
    return arena_printf(a, "*%.*s.%s", (int)package.len, package.ptr, kind);
}

static bool fits(struct arena *a, const struct api_kind *k, enum accept_target target,
    enum accept_form form, struct api_answer *refusal)
{
    if (form == ACCEPT_PARTIAL && target == ACCEPT_OF_LIST) {
        answer_status(a,
            refusal,
            406,
            "NotAcceptable",
            arena_printf(a,
                "you requested PartialObjectMetadata, but the requested object is a list (%s)",
                k->custom ? "*unstructured.UnstructuredList" : go_type(a, k, k->list_kind)),
            (struct json){ 0 });
        return false;
    }
    if (form == ACCEPT_PARTIAL_LIST && target != ACCEPT_OF_LIST) {
        if (k->custom)
            answer_status(a, refusal, 500, "", "content is not a list", (struct json){ 0 });
        else
            answer_status(a,
                refusal,
                406,
                "NotAcceptable",
                arena_printf(a,
                    "you requested PartialObjectMetadataList, but the requested object is not a "
                    "list (%s)",
                    go_type(a, k, k->resource.kind)),
                (struct json){ 0 });
        return false;
    }
    return true;
}

bool accept_choose(struct arena *a, const char *header, const struct api_kind *k,
    enum accept_target target, struct accept *ret, struct api_answer *ret_refusal)
{
    size_t count;
    const struct accept_clause *list = accept_parse(a, header, &count);
    static const char *const offers[] = {
        [ACCEPT_OF_OBJECT] = "406: Not Acceptable\n\nAvailable representations: " OFFERED,
        [ACCEPT_OF_LIST] =
            "406: Not Acceptable\n\nAvailable representations: " OFFERED ", " OFFERED_STREAMS,
        [ACCEPT_OF_WATCH] =
            "406: Not Acceptable\n\nAvailable representations: " OFFERED ", " OFFERED_STREAMS,
        [ACCEPT_OF_LOG] = "406: Not Acceptable\n\nAvailable representations: text/plain, " OFFERED,
    };
    bool routed = k->custom || accept_router_takes(list, count);
    for (size_t i = 0; i < count && target == ACCEPT_OF_LOG; i++)
        routed = routed || text_eq(list[i].type, "text/plain");
    if (!routed) {
        answer_status(a, ret_refusal, 406, "NotAcceptable", offers[target], json_empty_map());
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        struct accept chosen = { .pretty = list[i].pretty };
        if (!media_of(list[i].type, target, &chosen.media) || !form_of(&list[i], &chosen.form))
            continue;
        chosen.api_version =
            text_eq(list[i].version, "v1beta1") ? "meta.k8s.io/v1beta1" : "meta.k8s.io/v1";
        chosen.content_type = chosen.media == MEDIA_JSON ? "application/json" : "application/yaml";
        *ret = chosen;
        return fits(a, k, target, chosen.form, ret_refusal);
    }
    answer_status(a,
        ret_refusal,
        406,
        "NotAcceptable",
        target == ACCEPT_OF_WATCH ? "only the following media types are accepted: " OFFERED_STREAMS
                                  : "only the following media types are accepted: " OFFERED,
        (struct json){ 0 });
    return false;
}
