/* Authorization of the proxies: policies in the spec, in a ConfigMap, or in an MCPAuthzConfig. */

#include "base/yaml.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/proxy.h"
#include "merge/gojson.h"

static bool fault(struct proxy *p, const char *format, ...) printf_like(2, 3);
static bool fault(struct proxy *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    p->fault = arena_vprintf(p->a, format, args);
    va_end(args);
    return false;
}

/* Claims named in the spec override those in the document. */
static struct json with_claims(struct proxy *p, struct json cedar)
{
    static const char *const names[][2] = {
        { "groupClaimName", "group_claim_name" },
        { "roleClaimName", "role_claim_name" },
        { "groupEntityType", "group_entity_type" },
    };
    struct json config = json_get(p->spec, "authzConfig");
    for (size_t i = 0; i < lengthof(names); i++) {
        const char *text = json_get_text(config, names[i][0]);
        if (!text_empty(text))
            cedar = json_with_member(p->a, cedar, names[i][1], json_str(text));
    }
    return cedar;
}

static struct json inline_document(struct proxy *p)
{
    struct json config = json_get(p->spec, "authzConfig.inline");
    return json_fields(p->a,
        { "version", json_str("1.0") },
        { "type", json_str("cedarv1") },
        { "cedar.policies", json_get(config, "policies") },
        { "cedar.entities_json", json_str(toolhive_text(config, "entitiesJson", "[]")) });
}

static bool check_document(struct proxy *p, struct json document, const char *where)
{
    const char *type = json_get_text(document, "type");
    if (text_empty(json_get_text(document, "version")))
        return fault(p, "invalid authz config from %s: version is required", where);
    if (text_empty(type))
        return fault(p, "invalid authz config from %s: type is required", where);
    if (text_eq(type, "cedarv1") && !json_get(document, "cedar.policies").count)
        return fault(p,
            "invalid authz config from %s: invalid cedarv1 configuration: at least one policy is "
            "required for Cedar authorization",
            where);
    if (!text_eq(type, "cedarv1") && !text_eq(type, "httpv1"))
        return fault(p,
            "invalid authz config from %s: type \"%s\" is not known; use cedarv1 or httpv1",
            where,
            type);
    return true;
}

static bool from_config_map(struct proxy *p, struct json *ret)
{
    struct json ref = json_get(p->spec, "authzConfig.configMap"), documents;
    const char *name = toolhive_text(ref, "name", ""),
               *key = toolhive_text(ref, "key", "authz.json");
    const char *where = arena_printf(p->a, "ConfigMap %s/%s key \"%s\"", p->ns, name, key);
    struct json map = view_get(p->in, &TOOLHIVE_CONFIG_MAP, name);
    struct error err;
    if (!json_present(map))
        return fault(p,
            "failed to get Authz ConfigMap %s/%s: ConfigMap \"%s\" not found",
            p->ns,
            name,
            name);
    const char *text = json_text(json_member(json_get(map, "data"), key));
    if (!text)
        return fault(p, "Authz ConfigMap %s/%s is missing key \"%s\"", p->ns, name, key);
    if (text_empty(str_dup(p->a, str_trim(str_of(text)))))
        return fault(p, "Authz ConfigMap %s/%s key \"%s\" is empty", p->ns, name, key);
    if (!yaml_parse_all(p->a, str_of(text), where, &documents, &err) || documents.count != 1)
        return fault(
            p, "failed to parse authz config from %s: it is no JSON or YAML object", where);
    struct json document = json_item(documents, 0);
    if (!check_document(p, document, where))
        return false;
    if (text_eq(json_get_text(document, "type"), "cedarv1"))
        document =
            json_with_member(p->a, document, "cedar", with_claims(p, json_get(document, "cedar")));
    *ret = document;
    return true;
}

bool proxy_authz(struct proxy *p, struct json *ret, bool *ret_inline)
{
    const char *type = json_get_text(p->spec, "authzConfig.type");
    *ret = json_none;
    *ret_inline = false;
    if (json_present(p->authz)) {
        const char *of = toolhive_text(p->authz, "spec.type", "");
        *ret = json_map(p->a,
            { "version", json_str("1.0") },
            { "type", json_str(of) },
            { text_eq(of, "httpv1") ? "pdp" : "cedar", json_get(p->authz, "spec.config") });
        return true;
    }
    if (text_eq(type, "inline")) {
        *ret_inline = true;
        struct json document = inline_document(p);
        *ret =
            json_with_member(p->a, document, "cedar", with_claims(p, json_get(document, "cedar")));
        return true;
    }
    return !text_eq(type, "configMap") || from_config_map(p, ret);
}

void proxy_plan_authz(struct proxy *p)
{
    if (!text_eq(json_get_text(p->spec, "authzConfig.type"), "inline"))
        return;
    struct json labels =
        json_with_member(p->a, p->labels, "toolhive.stacklok.io/authz", json_str("inline"));
    plan_child(p->out,
        &TOOLHIVE_CONFIG_MAP,
        json_fields(p->a,
            { "metadata.name", json_strf(p->a, "%s-authz-inline", p->name) },
            { "metadata.labels", labels },
            { "data",
                json_map(
                    p->a, { "authz.json", json_str(gojson_text(p->a, inline_document(p))) }) }));
}
