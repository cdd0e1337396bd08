#include "node/fields.h"

#include "base/base64.h"
#include "base/buf.h"
#include "base/quantity.h"
#include "base/resource.h"
#include "kube/objects.h"

/* ---- the downward API ---- */

/* One entry of a map: metadata.labels['key']. NULL: path has another form. */
static const char *subscript(struct arena *a, const char *path, const char *prefix)
{
    size_t start = strlen(prefix), length = strlen(path);
    if (!text_starts(path, prefix) || !text_starts(path + start, "['") || !text_ends(path, "']"))
        return NULL;
    return arena_strndup(a, path + start + 2, length - start - 4);
}

/* The whole map, one line per entry: key="value" with Go's quoting. */
static const char *map_lines(struct arena *a, struct json map)
{
    struct buf b = BUF_INIT(1 << 20);
    json_each_member (m, map) {
        buf_printf(&b, "%s%s=", b.len ? "\n" : "", m->key);
        json_print(&b, m->value);
    }
    const char *text = arena_strdup(a, buf_text(&b));
    buf_done(&b);
    return text;
}

bool fields_get(struct arena *a, const struct pod_view *v, const char *path, const char **ret,
    struct error *err)
{
    const struct {
        const char *path, *value;
    } known[] = {
        { "metadata.name", json_get_text(v->pod, "metadata.name") },
        { "metadata.namespace", json_get_text(v->pod, "metadata.namespace") },
        { "metadata.uid", json_get_text(v->pod, "metadata.uid") },
        { "spec.nodeName", v->node_name },
        { "spec.serviceAccountName", json_get_text(v->pod, "spec.serviceAccountName") },
        { "status.hostIP", v->host_ip },
        { "status.hostIPs", v->host_ip },
        { "status.podIP", v->pod_ip },
        { "status.podIPs", v->pod_ip },
    };
    for (size_t i = 0; path && i < lengthof(known); i++)
        if (text_eq(path, known[i].path)) {
            *ret = known[i].value ? known[i].value : "";
            return true;
        }
    static const char *const maps[] = { "metadata.labels", "metadata.annotations" };
    for (size_t i = 0; path && i < lengthof(maps); i++) {
        const char *key = subscript(a, path, maps[i]);
        struct json map = json_get(v->pod, maps[i]);
        if (!key && !text_eq(path, maps[i]))
            continue;
        const char *value = key ? json_text(json_member(map, key)) : map_lines(a, map);
        *ret = value ? value : "";
        return true;
    }
    return fail(err, ERR_INVALID, "fieldPath %s: unsupported", path ? path : "\"\"");
}

static struct json container_named(struct json pod, const char *name, struct json otherwise)
{
    if (text_empty(name))
        return otherwise;
    struct json found = json_find(json_get(pod, "spec.containers"), "name", name);
    return json_present(found) ? found
                               : json_find(json_get(pod, "spec.initContainers"), "name", name);
}

bool fields_resource(struct arena *a, const struct pod_view *v, struct json ref,
    struct json container, const char **ret, struct error *err)
{
    const char *resource = json_get_text(ref, "resource");
    struct str rest = str_of(resource), side = str_cut(&rest, '.');
    bool limits = str_eq(side, STR("limits"));
    if (!rest.ptr || !(limits || str_eq(side, STR("requests"))))
        return fail(err, ERR_INVALID, "resource %s: unsupported", resource ? resource : "\"\"");
    container = container_named(v->pod, json_get_text(ref, "containerName"), container);
    const char *name = str_dup(a, rest);
    struct json own = json_get(container, limits ? "resources.limits" : "resources.requests");
    const char *text = json_text(json_member(own, name));
    if (!text && limits)
        text = json_text(json_member(v->allocatable, name));
    const char *divisor = json_get_text(ref, "divisor");
    struct quantity value, by;
    if (!quantity_parse(str_of(text ? text : "0"), &value, err) ||
        !quantity_parse(str_of(text_empty(divisor) ? "1" : divisor), &by, err))
        return fail_in(err, "resource %s", resource);
    bool cpu = text_eq(name, "cpu");
    int64_t n = cpu ? quantity_milli_value(value) : quantity_value(value);
    int64_t d = cpu ? quantity_milli_value(by) : quantity_value(by);
    d = d > 0 ? d : cpu ? 1000 : 1; /* divisor "0" means 1 in the API */
    *ret = arena_printf(a, "%lld", (long long)(n / d + (n % d != 0)));
    return true;
}

bool fields_secret_value(struct arena *a, struct json encoded, struct str *ret)
{
    const char *text = json_text(encoded);
    return text && base64_decode(a, str_of(text), ret);
}

/* ---- environment ---- */

const char *fields_expand(struct arena *a, const char *text, struct json variables)
{
    if (!strchr(text, '$'))
        return text;
    struct buf b = BUF_INIT(1 << 20);
    for (const char *at = text; *at; at++) {
        const char *end = at[0] == '$' && at[1] == '(' ? strchr(at + 2, ')') : NULL;
        if (at[0] == '$' && at[1] == '$') {
            buf_add_char(&b, '$');
            at++;
        } else if (end) {
            const char *value =
                json_text(json_member_n(variables, (struct str){ at + 2, (size_t)(end - at - 2) }));
            if (value)
                buf_add_text(&b, value);
            else
                buf_add(&b, at, (size_t)(end - at + 1));
            at = end;
        } else {
            buf_add_char(&b, *at);
        }
    }
    const char *result = arena_strdup(a, buf_text(&b));
    buf_done(&b);
    return result;
}

struct json fields_expand_list(struct arena *a, struct json texts, struct json variables)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (text, texts)
        json_push(&b, json_str(fields_expand(a, json_text(*text), variables)));
    return json_list_end(&b);
}

/* One key of a ConfigMap or Secret; *ret stays NULL if it is optional and missing. */
static bool key_value(struct arena *a, const struct pod_view *v, const struct resource *kind,
    struct json ref, const char **ret, struct error *err)
{
    bool secret = kind == &RESOURCE_SECRET, optional = json_get_bool(ref, "optional", false);
    const char *ns = json_get_text(v->pod, "metadata.namespace");
    const char *name = json_get_text(ref, "name"), *key = json_get_text(ref, "key");
    struct json object = objects_get(v->objects, kind, ns, name);
    if (!json_present(object))
        return optional || fail(err,
                               ERR_NOT_FOUND,
                               "%s \"%s\" not found",
                               secret ? "secret" : "configmap",
                               name ? name : "");
    struct json value = json_member(json_get(object, "data"), key ? key : "");
    struct str bytes;
    if (secret && fields_secret_value(a, value, &bytes))
        value = json_str(bytes.ptr);
    *ret = json_text(value);
    if (*ret || optional)
        return true;
    return fail(err,
        ERR_NOT_FOUND,
        "couldn't find key %s in %s %s/%s",
        key ? key : "",
        secret ? "Secret" : "ConfigMap",
        ns,
        name);
}

static bool env_value(struct arena *a, const struct pod_view *v, struct json container,
    struct json from, const char **ret, struct error *err)
{
    struct json ref;
    if (json_present(ref = json_get(from, "fieldRef")))
        return fields_get(a, v, json_get_text(ref, "fieldPath"), ret, err);
    if (json_present(ref = json_get(from, "resourceFieldRef")))
        return fields_resource(a, v, ref, container, ret, err);
    if (json_present(ref = json_get(from, "configMapKeyRef")))
        return key_value(a, v, &RESOURCE_CONFIG_MAP, ref, ret, err);
    if (json_present(ref = json_get(from, "secretKeyRef")))
        return key_value(a, v, &RESOURCE_SECRET, ref, ret, err);
    return fail(err, ERR_UNSUPPORTED, "valueFrom has a source that this node does not know");
}

static bool add_env_from(struct arena *a, const struct pod_view *v, struct json from,
    struct json_builder *all, struct error *err)
{
    static const struct {
        const char *field, *word;
        const struct resource *kind;
    } sources[] = { { "configMapRef", "configmap", &RESOURCE_CONFIG_MAP },
        { "secretRef", "secret", &RESOURCE_SECRET } };
    const char *prefix = json_get_text(from, "prefix");
    for (size_t i = 0; i < lengthof(sources); i++) {
        struct json ref = json_get(from, sources[i].field);
        const char *name = json_get_text(ref, "name");
        if (!json_present(ref))
            continue;
        struct json object = objects_get(
            v->objects, sources[i].kind, json_get_text(v->pod, "metadata.namespace"), name);
        if (!json_present(object) && !json_get_bool(ref, "optional", false))
            return fail(err, ERR_NOT_FOUND, "%s \"%s\" not found", sources[i].word, name);
        json_each_member (m, json_get(object, "data")) {
            struct str bytes = str_of(json_text(m->value));
            if (sources[i].kind == &RESOURCE_SECRET && !fields_secret_value(a, m->value, &bytes))
                continue;
            json_put(all,
                arena_printf(a, "%s%s", prefix ? prefix : "", m->key),
                json_strn(a, bytes.ptr, bytes.len));
        }
    }
    return true;
}

bool fields_env(struct arena *a, const struct pod_view *v, struct json container, struct json under,
    struct json *ret, struct error *err)
{
    struct json_builder all;
    json_builder_init(&all, a);
    json_put_all(&all, under);
    json_each (from, json_get(container, "envFrom"))
        if (!add_env_from(a, v, *from, &all, err))
            return false;
    struct json map = json_map_end(&all);
    json_each (e, json_get(container, "env")) {
        const char *name = json_get_text(*e, "name"), *value = json_get_text(*e, "value");
        struct json from = json_get(*e, "valueFrom");
        if (json_present(from)) {
            value = NULL;
            if (!env_value(a, v, container, from, &value, err))
                return false;
            if (!value)
                continue;
        } else {
            value = fields_expand(a, value ? value : "", map);
        }
        map = json_with_member(a, map, name, json_str(value));
    }
    *ret = map;
    return true;
}
