#include "router/route.h"

#include <ctype.h>
#include <strings.h>

/* ---- globs ---- */

/* The next character and its number of bytes. */
static uint32_t rune_at(const char *text, size_t *ret_bytes)
{
    unsigned char c = (unsigned char)*text;
    size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;
    uint32_t rune = c;
    for (size_t i = 1; i < n; i++) {
        if (((unsigned char)text[i] & 0xc0) != 0x80) {
            n = 1;
            break;
        }
        rune = rune << 8 | (unsigned char)text[i];
    }
    *ret_bytes = n;
    return rune;
}

/* A character of a class, with escapes; false: the pattern is invalid. */
static bool class_rune(const char **pattern, uint32_t *ret)
{
    size_t n;
    if (**pattern == '\\')
        (*pattern)++;
    else if (**pattern == '-' || **pattern == ']')
        return false;
    if (!**pattern)
        return false;
    *ret = rune_at(*pattern, &n);
    *pattern += n;
    return **pattern != '\0';
}

/* Called after the bracket; -1: invalid pattern, otherwise whether the class has the character. */
static int match_class(const char **pattern, uint32_t rune)
{
    bool negated = **pattern == '^', found = false;
    *pattern += negated;
    for (bool first = true; first || **pattern != ']'; first = false) {
        uint32_t low, high;
        if (!class_rune(pattern, &low))
            return -1;
        high = low;
        if (**pattern == '-') {
            (*pattern)++;
            if (!class_rune(pattern, &high))
                return -1;
        }
        found = found || (rune >= low && rune <= high);
    }
    (*pattern)++;
    return found != negated;
}

/* Matches one element of the pattern other than a star: -1 invalid, 0 no, 1 yes with both
 * advanced. */
static int match_one(const char **pattern, const char **text)
{
    size_t n = 0;
    uint32_t rune = **text ? rune_at(*text, &n) : 0;
    if (**pattern == '[') {
        (*pattern)++;
        int got = match_class(pattern, rune);
        if (got < 0 || !n)
            return got < 0 ? -1 : 0;
        *text += n;
        return got;
    }
    if (**pattern == '?') {
        (*pattern)++;
        *text += n;
        return n && rune != '/';
    }
    if (**pattern == '\\' && !*++*pattern)
        return -1;
    if (**pattern != **text)
        return 0;
    (*pattern)++;
    (*text)++;
    return 1;
}

/* Remembers one star at a time: the last one can match everything that an earlier one could, except
 * across a slash, which no star matches. So this takes at most text times pattern steps. */
bool router_route_glob(const char *pattern, const char *text)
{
    const char *star = NULL, *from = NULL;
    while (*text || *pattern) {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
            continue;
        }
        const char *p = pattern, *t = text;
        int got = *pattern ? match_one(&p, &t) : 0;
        if (got < 0)
            return false;
        if (got) {
            pattern = p;
            text = t;
        } else if (star && *from && *from != '/') {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    return true;
}

/* ---- features ---- */

static const char *lower(struct arena *a, struct str s)
{
    char *text = str_dup(a, str_trim(s));
    for (char *c = text; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return text;
}

void router_route_features_read(struct arena *a, const struct router_config *c,
    struct http_headers headers, struct route_features *ret)
{
    *ret = (struct route_features){
        .model = "", .data_class = "", .complexity = "", .headers = headers
    };
    struct str name = str_of(c->class_header);
    bool first = true;
    for (size_t i = 0; i < headers.count; i++) {
        struct str value = headers.list[i].value;
        if (!str_eq_nocase(headers.list[i].name, name))
            continue;
        if (first)
            ret->data_class = lower(a, value);
        first = false;
        while (value.ptr && ret->class_count < ROUTE_CLASSES_MAX) {
            const char *data_class = lower(a, str_cut(&value, ','));
            ret->classes[ret->class_count++] = data_class;
            ret->sensitive = ret->sensitive || router_config_is_sensitive(c, data_class);
        }
        /* Too many classes: the rest is unknown, so treat the request as sensitive. */
        ret->sensitive = ret->sensitive || value.ptr;
    }
    struct str complexity = http_header_find(headers, "x-llmkube-task-complexity");
    if (complexity.ptr)
        ret->complexity = lower(a, complexity);
}

/* ---- rules ---- */

static bool has_text(struct json list)
{
    return list.type == JSON_LIST && list.count > 0;
}

static bool class_matches(struct json wanted, const struct route_features *f)
{
    json_each (item, wanted) {
        const char *text = json_text(*item);
        if (f->class_count == 0 && !*text)
            return true;
        for (size_t i = 0; i < f->class_count; i++)
            if (strcasecmp(text, f->classes[i]) == 0)
                return true;
    }
    return false;
}

static bool model_matches(struct json globs, const char *model)
{
    json_each (item, globs)
        if (*model ? router_route_glob(json_text(*item), model) : text_eq(json_text(*item), "*"))
            return true;
    return false;
}

static bool headers_match(struct json wanted, struct http_headers headers)
{
    json_each_member (m, wanted) {
        struct str value = http_header_find(headers, m->key);
        if (!value.ptr || !str_eq(value, str_of(json_text(m->value))))
            return false;
    }
    return true;
}

static bool is_capable(const struct router_backend *b, struct json wanted)
{
    json_each (item, wanted)
        if (!json_list_has(b->capabilities, json_text(*item)))
            return false;
    return true;
}

static bool any_capable(const struct router_rule *r)
{
    for (size_t i = 0; i < r->backend_count; i++)
        if (is_capable(r->backends[i], r->capabilities))
            return true;
    return false;
}

static bool rule_matches(const struct router_rule *r, const struct route_features *f)
{
    return (!has_text(r->classes) || class_matches(r->classes, f)) &&
           (text_empty(r->complexity) || strcasecmp(r->complexity, f->complexity) == 0) &&
           (!has_text(r->models) || model_matches(r->models, f->model)) &&
           headers_match(r->headers, f->headers) && any_capable(r);
}

const char *router_route_model_id(const struct router_backend *b)
{
    return !text_empty(b->display_name) ? b->display_name
           : !text_empty(b->model)      ? b->model
                                        : b->name;
}

/* Names that upstream supports take precedence over those in /v1/models. */
static const struct router_backend *named(const struct router_config *c, const char *model)
{
    for (size_t i = 0; i < c->backend_count; i++) {
        const struct router_backend *b = &c->backends[i];
        if (text_eq(text_empty(b->display_name) ? b->name : b->display_name, model))
            return b;
    }
    for (size_t i = 0; i < c->backend_count; i++)
        if (text_eq(router_route_model_id(&c->backends[i]), model))
            return &c->backends[i];
    for (size_t i = 0; i < c->backend_count && c->by_name; i++)
        if (text_eq(c->backends[i].name, model) || json_list_has(c->backends[i].served, model))
            return &c->backends[i];
    return NULL;
}

static void offer(struct route *route, const struct router_backend *b, bool local_only)
{
    if (b->is_local || !local_only)
        route->backends[route->count++] = b;
}

struct route router_route_find(
    struct arena *a, const struct router_config *c, const struct route_features *f)
{
    struct route route = { 0 };
    for (size_t i = 0; i < c->rule_count && !route.rule; i++)
        if (rule_matches(&c->rules[i], f))
            route.rule = &c->rules[i];
    if (route.rule) {
        const struct router_rule *r = route.rule;
        route.backends = arena_array(a, r->backend_count, sizeof(*route.backends));
        for (size_t i = 0; i < r->backend_count; i++)
            if (is_capable(r->backends[i], r->capabilities))
                offer(&route, r->backends[i], f->sensitive);
        route.refusal = route.count ? ROUTE_FOUND : ROUTE_FAIL_CLOSED;
        return route;
    }
    const struct router_backend *b =
        c->match_backend_names && *f->model ? named(c, f->model) : NULL;
    if (c->by_name && !*f->model && c->backend_count == 1)
        b = c->backends;
    b = b ?: c->default_route;
    if (!b) {
        route.refusal = c->by_name ? ROUTE_UNKNOWN : ROUTE_NONE;
        return route;
    }
    route.backends = arena_array(a, 1, sizeof(*route.backends));
    offer(&route, b, f->sensitive);
    route.refusal = route.count ? ROUTE_FOUND : ROUTE_FAIL_CLOSED;
    return route;
}
