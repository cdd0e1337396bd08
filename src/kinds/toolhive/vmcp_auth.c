/* How a gateway connects to the members of its group: authentication, headers and CA bundles. A
 * member whose authentication cannot be built is left out; it is never contacted with another
 * identity. */

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/document.h"
#include "kinds/toolhive/vmcp.h"

#define CA_BUNDLES "/etc/toolhive/ca-bundles"
/* Conditions for individual back ends; further ones are only counted. */
#define BACKEND_CONDITIONS_MAX 24
#define CONDITION_TYPE_MAX 316

static bool fault(struct vmcp *v, const char *format, ...) printf_like(2, 3);
static bool fault(struct vmcp *v, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    v->p.fault = arena_vprintf(v->p.a, format, args);
    va_end(args);
    return false;
}

static const char *env_name(struct arena *a, const char *prefix, const char *config)
{
    return arena_printf(a, "%s_%s", prefix, toolhive_env_word(a, config));
}
#define EXCHANGE_SECRET "TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET"
#define INJECTED_VALUE "TOOLHIVE_HEADER_INJECTION_VALUE"
#define IDP_SECRET "TOOLHIVE_XAA_IDP_CLIENT_SECRET"
#define TARGET_SECRET "TOOLHIVE_XAA_TARGET_CLIENT_SECRET"

/* ---- strategies ---- */

static struct json env_if(struct arena *a, struct json ref, const char *prefix, const char *config)
{
    return json_if(json_present(ref), json_str(env_name(a, prefix, config)));
}

static struct json exchange(struct arena *a, struct json t, const char *config)
{
    static const char urn[] = "urn:ietf:params:oauth:token-type:";
    const char *type = toolhive_text(t, "subjectTokenType", "");
    return json_fields(a,
        { "type", json_str("token_exchange") },
        { "tokenExchange.tokenUrl", json_get(t, "tokenUrl") },
        { "tokenExchange.clientId", json_get(t, "clientId") },
        { "tokenExchange.clientSecretEnv",
            env_if(a, json_get(t, "clientSecretRef"), EXCHANGE_SECRET, config) },
        { "tokenExchange.audience", json_get(t, "audience") },
        { "tokenExchange.scopes", json_get(t, "scopes") },
        { "tokenExchange.subjectTokenType",
            !*type || text_starts(type, urn) ? json_str_or_absent(type)
                                             : json_strf(a, "%s%s", urn, type) },
        { "tokenExchange.subjectProviderName", json_get(t, "subjectProviderName") });
}

static struct json cross_app(struct arena *a, struct json x, const char *config)
{
    return json_fields(a,
        { "type", json_str("xaa") },
        { "xaa.idpTokenUrl", json_get(x, "idpTokenUrl") },
        { "xaa.idpClientId", json_get(x, "idpClientId") },
        { "xaa.idpClientSecretEnv",
            env_if(a, json_get(x, "idpClientSecretRef"), IDP_SECRET, config) },
        { "xaa.targetTokenUrl", json_get(x, "targetTokenUrl") },
        { "xaa.insecureTargetTokenUrl", json_get(x, "insecureTargetTokenUrl") },
        { "xaa.targetClientId", json_get(x, "targetClientId") },
        { "xaa.targetClientSecretEnv",
            env_if(a, json_get(x, "targetClientSecretRef"), TARGET_SECRET, config) },
        { "xaa.targetAudience", json_get(x, "targetAudience") },
        { "xaa.targetResource", json_get(x, "targetResource") },
        { "xaa.scopes", json_get(x, "scopes") },
        { "xaa.subjectProviderName", json_get(x, "subjectProviderName") },
        { "xaa.subjectTokenType", json_get(x, "subjectTokenType") });
}

static struct json inject(struct arena *a, struct json h, const char *config)
{
    return json_fields(a,
        { "type", json_str("header_injection") },
        { "headerInjection.headerName", json_get(h, "headerName") },
        { "headerInjection.headerValueEnv",
            env_if(a, json_get(h, "valueSecretRef"), INJECTED_VALUE, config) });
}

static struct json aws(struct arena *a, struct json s)
{
    return json_fields(a, { "type", json_str("aws_sts") }, { "awsSts", s });
}

struct built {
    struct json strategy;
    const char *wrong;  /* NULL: it was built */
    const char *reason; /* NULL: ConversionFailed */
};

static struct built strategy_of(const struct vmcp *v, const char *name)
{
    struct arena *a = v->p.a;
    struct json config = view_get(v->p.in, &TOOLHIVE_EXTERNAL_AUTH_CONFIG, name);
    struct json spec = json_get(config, "spec");
    const char *type = toolhive_text(spec, "type", "");
    struct json valid = json_find(json_get(config, "status.conditions"), "type", "Valid");
    if (!json_present(config))
        return (struct built){ .wrong = arena_printf(a,
                                   "failed to get MCPExternalAuthConfig %s: "
                                   "MCPExternalAuthConfig.toolhive.stacklok.dev \"%s\" not found",
                                   name,
                                   name) };
    if (text_eq(json_get_text(valid, "status"), "False")) {
        const char *reason = toolhive_text(valid, "reason", "InvalidExternalAuthConfig");
        return (struct built){
            .wrong =
                arena_printf(a, "invalid (%s): %s", reason, toolhive_text(valid, "message", "")),
            .reason = reason,
        };
    }
    if (text_eq(type, "tokenExchange"))
        return (struct built){ exchange(a, json_get(spec, "tokenExchange"), name) };
    if (text_eq(type, "headerInjection"))
        return (struct built){ inject(a, json_get(spec, "headerInjection"), name) };
    if (text_eq(type, "xaa"))
        return (struct built){ cross_app(a, json_get(spec, "xaa"), name) };
    if (text_eq(type, "awsSts"))
        return (struct built){ aws(a, json_get(spec, "awsSts")) };
    if (text_eq(type, "upstreamInject"))
        return (struct built){ json_fields(a,
            { "type", json_str("upstream_inject") },
            { "upstreamInject.providerName", json_get(spec, "upstreamInject.providerName") }) };
    if (text_eq(type, "unauthenticated"))
        return (struct built){ json_fields(a, { "type", json_str("unauthenticated") }) };
    return (struct built){ .wrong = arena_printf(a, "unsupported auth type: %s", type) };
}

/* Sets the upstream whose token a strategy uses, if the embedded auth server has several. */
static struct built with_provider(const struct vmcp *v, struct built b)
{
    static const char *const kinds[] = { "tokenExchange", "awsSts", "xaa" };
    struct json providers = json_get(v->spec, "authServerConfig.upstreamProviders");
    if (b.wrong || !json_present(json_get(v->spec, "authServerConfig")))
        return b;
    for (size_t i = 0; i < lengthof(kinds); i++) {
        struct json of = json_get(b.strategy, kinds[i]);
        if (!json_present(of) || !text_empty(json_get_text(of, "subjectProviderName")))
            continue;
        if (text_eq(kinds[i], "xaa") && providers.count > 1)
            return (struct built){
                .wrong = "failed to inject subject provider name: SubjectProviderName must be set "
                         "explicitly for xaa when more than one upstream is configured",
                .reason = "AmbiguousSubjectProvider",
            };
        const char *first = toolhive_text(json_item(providers, 0), "name", "default");
        of = json_with_member(v->p.a, of, "subjectProviderName", json_str(first));
        b.strategy = json_with_member(v->p.a, b.strategy, kinds[i], of);
    }
    return b;
}

/* The setting of the default, or of one back end. In discovered mode upstream writes it
 * differently: without defaults. */
static struct built chosen(const struct vmcp *v, struct json choice)
{
    if (text_eq(json_get_text(choice, "type"), "discovered"))
        return (struct built){ json_fields(
            v->p.a, { "type", json_str(v->fixed ? "discovered" : "unauthenticated") }) };
    struct built b = strategy_of(v, toolhive_text(choice, "externalAuthConfigRef.name", ""));
    if (v->fixed)
        return with_provider(v, b);
    struct json x = json_get(b.strategy, "xaa");
    x = json_with_member(v->p.a, x, "idpClientSecretEnv", json_none);
    x = json_with_member(v->p.a, x, "targetClientSecretEnv", json_none);
    if (json_present(json_get(b.strategy, "xaa")))
        b.strategy = json_with_member(v->p.a, b.strategy, "xaa", x);
    return b;
}

/* ---- conditions ---- */

struct telling {
    struct vmcp *v;
    size_t told, left_out;
};

static bool is_type(const char *type)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t length = strlen(type);
    return length <= CONDITION_TYPE_MAX && strspn(type, "-_.") == 0 &&
           strchr(letters, type[length - 1]) && strspn(type, letters) <= length &&
           strcspn(type, " /:\"'\\{}[]()") == length;
}

static void tell(struct telling *t, const char *prefix, const char *name, const char *what,
    const struct built *b)
{
    struct arena *a = t->v->p.a;
    const char *type = *name ? arena_printf(a, "%s-%s", prefix, name) : prefix;
    if (!is_type(type) || t->told == BACKEND_CONDITIONS_MAX) {
        t->left_out++;
        return;
    }
    t->told++;
    if (b->wrong)
        plan_condition(t->v->p.out,
            type,
            false,
            b->reason ? b->reason : "ConversionFailed",
            "Failed to convert %s auth config: %s",
            what,
            b->wrong);
    else
        plan_condition(t->v->p.out,
            type,
            true,
            "ConversionSucceeded",
            "%c%s auth config is valid",
            what[0] - 'a' + 'A',
            what + 1);
}

static const char *external_name(const struct member *m)
{
    return json_get_text(m->object, "spec.externalAuthConfigRef.name");
}

/* What members declare themselves. In a discovered group the gateway reads it again, so only the
 * conditions come from here. */
static void discover(
    struct vmcp *v, struct telling *t, struct json chosen_ones, struct json_builder *strategies)
{
    for (size_t i = 0; i < v->member_count; i++) {
        struct member *m = &v->members[i];
        const char *name = external_name(m);
        if (text_empty(name))
            continue;
        struct built b = strategy_of(v, name);
        bool overridden = json_present(json_member(chosen_ones, m->name));
        if (!overridden)
            b = with_provider(v, b);
        tell(t, "DiscoveredAuthConfig", m->name, "discovered", &b);
        if (overridden)
            continue;
        m->broken = b.wrong;
        if (!b.wrong)
            json_put(strategies, m->name, b.strategy);
    }
}

bool vmcp_outgoing(struct vmcp *v, struct json *ret)
{
    struct arena *a = v->p.a;
    struct json given = json_get(v->spec, "outgoingAuth"),
                chosen_ones = json_get(given, "backends");
    struct json_builder strategies;
    struct telling t = { v, 0, 0 };
    const char *wrong = NULL;
    struct built usual = { 0 };
    json_builder_init(&strategies, a);
    if (json_present(json_get(given, "default"))) {
        usual = chosen(v, json_get(given, "default"));
        tell(&t, "DefaultAuthConfig", "", "default", &usual);
        wrong = usual.wrong ? arena_printf(a, "default backend auth: %s", usual.wrong) : NULL;
    }
    struct json_builder discovered;
    json_builder_init(&discovered, a);
    discover(v, &t, chosen_ones, &discovered);
    if (v->fixed)
        json_put_all(&strategies, json_map_end(&discovered));
    json_each_member (m, chosen_ones) {
        struct built b = chosen(v, m->value);
        tell(&t, "BackendAuthConfig", m->key, "backend", &b);
        if (b.wrong && !wrong)
            wrong = arena_printf(a, "backend auth for %s: %s", m->key, b.wrong);
        json_put(&strategies, m->key, b.strategy);
    }
    if (t.left_out)
        plan_condition(v->p.out,
            "AuthConfigConditionsLimited",
            true,
            "TooManyBackends",
            "the authentication of %zu further back ends has no condition of its own",
            t.left_out);
    *ret = json_fields(a,
        { "source", json_str(v->fixed ? "inline" : "discovered") },
        { "default", usual.strategy },
        { "backends", json_or_absent(json_map_end(&strategies)) });
    return !wrong || fault(v,
                         "failed to create vmcp Config from VirtualMCPServer: failed to convert "
                         "outgoing auth: failed to convert %s",
                         wrong);
}

/* ---- fixed back ends ---- */

const char *vmcp_ca_path(
    struct arena *a, const struct member *m, const char **ret_map, const char **ret_key)
{
    struct json ref = json_get(m->object, "spec.caBundleRef.configMapRef");
    if (m->kind != MEMBER_ENTRY || !json_present(ref))
        return NULL;
    *ret_map = toolhive_text(ref, "name", "");
    *ret_key = toolhive_text(ref, "key", "ca.crt");
    return arena_printf(a, CA_BUNDLES "/%s/%s", m->name, *ret_key);
}

static bool is_of_kubernetes(const char *key)
{
    static const char *const prefixes[] = {
        "kubectl.kubernetes.io/", "kubernetes.io/", "deployment.kubernetes.io/", "k8s.io/"
    };
    for (size_t i = 0; i < lengthof(prefixes); i++)
        if (text_starts(key, prefixes[i]))
            return true;
    return false;
}

/* workload_status is the value of a healthy member: upstream writes the present phase, so that
 * every change of a member's phase rolls the gateway. */
static struct json metadata_of(const struct vmcp *v, const struct member *m)
{
    static const char *const types[] = { "mcp_server", "remote_proxy", "server_entry" };
    struct json_builder map;
    json_builder_init(&map, v->p.a);
    json_each_member (annotation, json_get(m->object, "metadata.annotations"))
        if (!is_of_kubernetes(annotation->key))
            json_put(&map, annotation->key, annotation->value);
    json_put(&map, "tool_type", json_str("mcp"));
    json_put(&map, "workload_type", json_str(types[m->kind]));
    json_put(&map, "workload_status", json_str(m->kind == MEMBER_ENTRY ? "Valid" : "Ready"));
    json_put(&map, "namespace", json_str(v->p.ns));
    json_put(&map, "remote_url", json_get(m->object, "spec.remoteUrl"));
    json_put(&map, "group", json_str(v->group));
    return json_map_end(&map);
}

static const char *transport_of(const struct member *m)
{
    const char *transport = json_get_text(m->object, "spec.transport");
    return m->kind == MEMBER_SERVER ? toolhive_text(m->object, "spec.proxyMode", transport)
                                    : transport;
}

static bool has_ca(const struct vmcp *v, const struct member *m)
{
    const char *map, *key;
    if (!vmcp_ca_path(v->p.a, m, &map, &key))
        return true;
    struct json bundle = view_get(v->p.in, &TOOLHIVE_CONFIG_MAP, map);
    return json_present(json_member(json_get(bundle, "data"), key));
}

struct json vmcp_backends(struct vmcp *v)
{
    struct json_builder by_name;
    json_builder_init(&by_name, v->p.a);
    for (size_t i = 0; i < v->member_count; i++) {
        const struct member *m = &v->members[i];
        bool entry = m->kind == MEMBER_ENTRY;
        const char *url = json_get_text(m->object, entry ? "spec.remoteUrl" : "status.url");
        const char *transport = transport_of(m), *map, *key;
        bool valid = !entry || text_eq(json_get_text(m->object, "status.phase"), "Valid");
        if (m->broken || text_empty(url) || text_empty(transport) || !valid || !has_ca(v, m))
            continue;
        json_put(&by_name,
            m->name,
            json_fields(v->p.a,
                { "name", json_str(m->name) },
                { "url", json_str(url) },
                { "transport", json_str(transport) },
                { "caBundlePath", json_str(vmcp_ca_path(v->p.a, m, &map, &key)) },
                { "metadata", metadata_of(v, m) }));
    }
    struct json_builder list;
    json_builder_init(&list, v->p.a);
    struct json map = json_map_end(&by_name);
    json_each_member (m, map)
        json_push(&list, m->value);
    return json_list_end(&list);
}

/* ---- variables ---- */

static void put_secret(struct json_builder *by_name, const char *name, struct json ref)
{
    if (json_present(ref))
        json_put(by_name, name, toolhive_env_secret(by_name->arena, name, ref));
}

static void put_secrets(const struct vmcp *v, struct json_builder *by_name, const char *name)
{
    struct arena *a = v->p.a;
    struct json spec = json_get(view_get(v->p.in, &TOOLHIVE_EXTERNAL_AUTH_CONFIG, name), "spec");
    put_secret(by_name,
        env_name(a, EXCHANGE_SECRET, name),
        json_get(spec, "tokenExchange.clientSecretRef"));
    put_secret(by_name,
        env_name(a, INJECTED_VALUE, name),
        json_get(spec, "headerInjection.valueSecretRef"));
    put_secret(by_name, env_name(a, IDP_SECRET, name), json_get(spec, "xaa.idpClientSecretRef"));
    put_secret(
        by_name, env_name(a, TARGET_SECRET, name), json_get(spec, "xaa.targetClientSecretRef"));
}

/* Skips a variable that the list already has. */
static void push_new(
    struct json_builder *env, struct json map, struct json before, struct json before_that)
{
    json_each_member (m, map)
        if (!json_present(json_member(before, m->key)) &&
            !json_present(json_member(before_that, m->key)))
            json_push(env, m->value);
}

void vmcp_outgoing_env(struct vmcp *v, struct json_builder *env)
{
    struct json given = json_get(v->spec, "outgoingAuth"), none = { 0 };
    struct json_builder found, named, usual;
    if (!json_present(given))
        return;
    json_builder_init(&found, v->p.a);
    json_builder_init(&named, v->p.a);
    json_builder_init(&usual, v->p.a);
    for (size_t i = 0; !v->fixed && i < v->member_count; i++)
        if (!text_empty(external_name(&v->members[i])))
            put_secrets(v, &found, external_name(&v->members[i]));
    json_each_member (m, json_get(given, "backends"))
        if (json_get_text(m->value, "externalAuthConfigRef.name"))
            put_secrets(v, &named, json_get_text(m->value, "externalAuthConfigRef.name"));
    const char *name = json_get_text(given, "default.externalAuthConfigRef.name");
    if (name)
        put_secrets(v, &usual, name);
    struct json of_members = json_map_end(&found), of_spec = json_map_end(&named);
    push_new(env, of_members, none, none);
    push_new(env, of_spec, of_members, none);
    push_new(env, json_map_end(&usual), of_members, of_spec);
}

static void put_headers(const struct vmcp *v, const struct member *m, struct json_builder *by_name)
{
    static const struct document_field fields[] = {
        { "addPlaintextHeaders", DOCUMENT_TEXT, DOCUMENT_MAP, .omitempty = true },
        { "addHeadersFromSecret", DOCUMENT_TEXT, DOCUMENT_MAP, .omitempty = true },
        { 0 },
    };
    struct arena *a = v->p.a;
    struct json given = json_get(m->object, "spec.headerForward");
    struct json_builder secrets;
    json_builder_init(&secrets, a);
    json_each (h, json_get(given, "addHeadersFromSecret")) {
        const char *header = toolhive_text(*h, "headerName", "");
        const char *id = arena_printf(
            a, "HEADER_FORWARD_%s_%s", toolhive_env_word(a, header), toolhive_env_word(a, m->name));
        json_put(&secrets, header, json_str(id));
        put_secret(
            by_name, arena_printf(a, "TOOLHIVE_SECRET_%s", id), json_get(*h, "valueSecretRef"));
    }
    struct json manifest = json_fields(a,
        { "addPlaintextHeaders", json_or_absent(json_get(given, "addPlaintextHeaders")) },
        { "addHeadersFromSecret", json_or_absent(json_map_end(&secrets)) });
    const char *name = env_name(a, "TOOLHIVE_HEADER_FORWARD", m->name);
    if (json_present(json_or_absent(manifest)))
        json_put(by_name, name, toolhive_env(a, name, document_json_compact(a, fields, manifest)));
}

void vmcp_header_env(struct vmcp *v, struct json_builder *env)
{
    struct json_builder by_name;
    json_builder_init(&by_name, v->p.a);
    for (size_t i = 0; i < v->member_count; i++)
        if (v->members[i].kind == MEMBER_ENTRY)
            put_headers(v, &v->members[i], &by_name);
    struct json map = json_map_end(&by_name);
    json_each_member (m, map)
        json_push(env, m->value);
}
