/* config.json, which the router program reads. Its bytes are the same as those of upstream's
 * operator, which uses Go's encoding/json with an indent of two: keys in the order of their
 * declaration, and some characters escaped for HTML. Different bytes would change the hash, and
 * restart every router when Leeboard takes over. */

#include "kinds/llmkube/router.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/time.h"

#define CONFIG_BYTES_MAX ((size_t)1 << 20) /* the API server's limit for a ConfigMap */

struct writer {
    struct buf out;
    int depth;
    bool empty; /* the innermost object or list is still empty */
};

static void add_text(struct writer *w, const char *text)
{
    buf_add_char(&w->out, '"');
    for (const char *c = text; *c; c++) {
        unsigned char byte = (unsigned char)*c;
        if (byte == '"' || byte == '\\')
            buf_printf(&w->out, "\\%c", byte);
        else if (byte == '\n' || byte == '\r' || byte == '\t' || byte == '\b' || byte == '\f')
            buf_printf(&w->out,
                "\\%c",
                byte == '\n'   ? 'n'
                : byte == '\r' ? 'r'
                : byte == '\t' ? 't'
                : byte == '\b' ? 'b'
                               : 'f');
        else if (byte < 0x20 || byte == '<' || byte == '>' || byte == '&')
            buf_printf(&w->out, "\\u%04x", byte);
        else if (byte == 0xe2 && (unsigned char)c[1] == 0x80 &&
                 ((unsigned char)c[2] & 0xfe) == 0xa8) {
            buf_printf(&w->out, "\\u202%x", c[2] & 0xf);
            c += 2;
        } else
            buf_add_char(&w->out, *c);
    }
    buf_add_char(&w->out, '"');
}

static void line(struct writer *w)
{
    buf_printf(&w->out, "\n%*s", 2 * w->depth, "");
}

/* Called before each member (key) or item (NULL). */
static void next(struct writer *w, const char *key)
{
    if (!w->empty)
        buf_add_char(&w->out, ',');
    w->empty = false;
    line(w);
    if (!key)
        return;
    add_text(w, key);
    buf_add_text(&w->out, ": ");
}

static void begin(struct writer *w, char bracket)
{
    buf_add_char(&w->out, bracket);
    w->depth++;
    w->empty = true;
}

static void end(struct writer *w, char bracket)
{
    w->depth--;
    if (!w->empty)
        line(w);
    w->empty = false;
    buf_add_char(&w->out, bracket);
}

static void put_text(struct writer *w, const char *key, const char *text)
{
    next(w, key);
    add_text(w, text ? text : "");
}

static void put_text_if(struct writer *w, const char *key, const char *text)
{
    if (!text_empty(text))
        put_text(w, key, text);
}

static void put_int_if(struct writer *w, const char *key, int64_t value)
{
    if (!value)
        return;
    next(w, key);
    buf_printf(&w->out, "%lld", (long long)value);
}

static void put_true_if(struct writer *w, const char *key, bool value)
{
    if (!value)
        return;
    next(w, key);
    buf_add_text(&w->out, "true");
}

static void put_texts_if(struct writer *w, const char *key, struct json list)
{
    if (!json_is(list, JSON_LIST) || !list.count)
        return;
    next(w, key);
    begin(w, '[');
    json_each (item, list)
        put_text(w, NULL, json_text(*item));
    end(w, ']');
}

/* ---- parts ---- */

static void put_pool(struct writer *w, const struct router_backend *b)
{
    const char *budget = json_get_text(b->pool, "spec.swapBudget");
    struct json members = json_get(b->pool, "spec.members");
    int64_t ns = 0;
    next(w, "pool");
    begin(w, '{');
    put_text(w, "name", json_get_text(b->pool, "metadata.name"));
    put_text(w, "namespace", json_get_text(b->pool, "metadata.namespace"));
    put_text(w, "member", b->service);
    next(w, "members");
    begin(w, '[');
    json_each (member, members)
        put_text(w, NULL, json_get_text(*member, "inferenceServiceRef.name"));
    end(w, ']');
    put_int_if(w, "swapBudget", budget && time_duration_parse(budget, &ns) ? ns : 0);
    end(w, '}');
}

static void put_backend(struct writer *w, const struct router_backend *b)
{
    next(w, NULL);
    begin(w, '{');
    put_text(w, "name", b->name);
    put_text_if(w, "displayName", b->display_name);
    put_text(w, "tier", b->tier);
    put_text(w, "address", b->address);
    put_text_if(w, "provider", b->provider);
    put_text_if(w, "model", b->model);
    put_texts_if(w, "capabilities", b->capabilities);
    put_int_if(w, "weight", b->weight);
    if (!text_empty(b->secret))
        put_text_if(w, "credentialsEnv", router_credential(b->provider));
    put_int_if(w, "timeout", b->timeout_ns);
    if (json_present(b->pool))
        put_pool(w, b);
    end(w, '}');
}

static void put_match(struct writer *w, struct json match)
{
    next(w, "match");
    begin(w, '{');
    put_texts_if(w, "dataClassification", json_get(match, "dataClassification"));
    put_text_if(w, "taskComplexity", json_get_text(match, "taskComplexity"));
    put_texts_if(w, "requiredCapabilities", json_get(match, "requiredCapabilities"));
    struct json headers = json_get(match, "headers");
    if (json_is(headers, JSON_MAP) && headers.count) {
        next(w, "headers");
        begin(w, '{');
        json_each_member (m, headers)
            put_text(w, m->key, json_text(m->value));
        end(w, '}');
    }
    put_texts_if(w, "models", json_get(match, "models"));
    end(w, '}');
}

static void put_rule(struct writer *w, const struct router_rule *rule, struct json backends)
{
    next(w, NULL);
    begin(w, '{');
    put_text(w, "name", rule->name);
    put_match(w, rule->match);
    next(w, "route");
    begin(w, '{');
    put_texts_if(w, "backends", backends);
    put_text_if(w, "strategy", rule->strategy);
    end(w, '}');
    put_true_if(w, "failClosed", rule->fail_closed);
    put_int_if(w, "timeout", rule->timeout_ns);
    end(w, '}');
}

static void put_policy(struct writer *w, const struct router_spec *spec, struct json raw)
{
    next(w, "policy");
    begin(w, '{');
    next(w, "classification");
    begin(w, '{');
    put_text(w, "mode", spec->mode);
    put_text_if(w, "headerKey", spec->class_header);
    put_texts_if(w,
        "sensitiveClassifications",
        json_get(raw, "policy.classification.sensitiveClassifications"));
    end(w, '}');
    next(w, "auditLog");
    begin(w, '{');
    put_text(w, "sink", spec->sink);
    put_text_if(w, "filePath", spec->file_path);
    put_true_if(w, "includeRequestBody", spec->include_body);
    end(w, '}');
    end(w, '}');
}

/* ---- the whole ---- */

/* A back end without an address is left out, because it would prevent the router from starting. A
 * rule that becomes empty is left out, too, unless its requests must not fall through to other
 * rules. */
static struct json known_backends(struct arena *a, const struct router *r, struct json names)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (name, names) {
        const struct router_backend *backend = router_backend(r, json_text(*name));
        if (backend && backend->address)
            json_push(&b, *name);
    }
    return json_list_end(&b);
}

static bool put_rules(struct writer *w, const struct router *r, struct error *err)
{
    bool begun = false;
    for (size_t i = 0; i < r->rule_count; i++) {
        const struct router_rule *rule = &r->rules[i];
        struct json backends = known_backends(r->arena, r, rule->backends);
        if (!backends.count && rule->fail_closed)
            return fail(err,
                ERR_INVALID,
                "rules[%zu] %s: no back end has an address, and the rule is failClosed",
                i,
                rule->name);
        if (!backends.count)
            continue;
        if (!begun) {
            next(w, "rules");
            begin(w, '[');
        }
        begun = true;
        put_rule(w, rule, backends);
    }
    if (begun)
        end(w, ']');
    return true;
}

static bool put_all(struct writer *w, const struct router *r, struct error *err)
{
    size_t known = 0;
    for (size_t i = 0; i < r->backend_count; i++)
        known += r->backends[i].address != NULL;
    if (!known)
        return fail(err, ERR_INVALID, "backends[0] %s: address is required", r->backends[0].name);
    begin(w, '{');
    next(w, "backends");
    begin(w, '[');
    for (size_t i = 0; i < r->backend_count; i++)
        if (r->backends[i].address)
            put_backend(w, &r->backends[i]);
    end(w, ']');
    if (!put_rules(w, r, err))
        return false;
    const struct router_backend *route = router_backend(r, r->spec.default_route);
    put_text_if(w, "defaultRoute", route && route->address ? r->spec.default_route : NULL);
    put_text_if(w, "defaultRouteStrategy", r->spec.default_route_strategy);
    put_policy(w, &r->spec, r->raw);
    end(w, '}');
    if (buf_overflowed(&w->out))
        return fail(err, ERR_TOO_LARGE, "larger than a ConfigMap may be; use fewer rules");
    return true;
}

bool router_compile(struct router *r, struct error *err)
{
    struct writer w = { .out = BUF_INIT(CONFIG_BYTES_MAX) };
    if (!r->backend_count)
        return fail(err, ERR_INVALID, "backends: at least one is needed");
    bool ok = put_all(&w, r, err);
    if (ok) {
        r->config = arena_strdup(r->arena, buf_text(&w.out));
        r->config_hash = sha256_hex(r->arena, buf_str(&w.out));
    }
    buf_done(&w.out);
    return ok;
}
