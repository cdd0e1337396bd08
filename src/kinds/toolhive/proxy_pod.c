/* The pod of a proxy, its Service and its identity. */

#include "base/names.h"
#include "base/quantity.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/proxy.h"

#define OVERRIDES "resourceOverrides.proxyDeployment"
#define USER 1000

static struct json maybe(bool wanted, struct json v)
{
    return json_if(wanted, v);
}

/* ---- the container ---- */

static struct json probe(
    struct arena *a, int64_t delay_s, int64_t period_s, int64_t timeout_s, int64_t failures)
{
    return json_fields(a,
        { "httpGet.path", json_str("/health") },
        { "httpGet.port", json_str("http") },
        { "initialDelaySeconds", json_int_or_absent(delay_s) },
        { "periodSeconds", json_int(period_s) },
        { "timeoutSeconds", json_int(timeout_s) },
        { "failureThreshold", json_int(failures) });
}

static bool has_env(const struct json_builder *env, const char *name)
{
    for (uint32_t i = 0; i < env->count; i++)
        if (text_eq(json_get_text(env->members[i].value, "name"), name))
            return true;
    return false;
}

static void push_missing(struct json_builder *env, const char *name, const char *value)
{
    if (!has_env(env, name))
        json_push(env, toolhive_env(env->arena, name, value));
}

static bool has_secret_env(const struct json_builder *env)
{
    for (uint32_t i = 0; i < env->count; i++)
        if (text_starts(json_get_text(env->members[i].value, "name"), "TOOLHIVE_SECRET_"))
            return true;
    return false;
}

void proxy_required_env(struct json_builder *env)
{
    push_missing(env, "XDG_CONFIG_HOME", "/tmp");
    push_missing(env, "HOME", "/tmp");
    push_missing(env, "TOOLHIVE_RUNTIME", "kubernetes");
    push_missing(env, "UNSTRUCTURED_LOGS", "false");
    if (has_secret_env(env))
        push_missing(env, "TOOLHIVE_SECRETS_PROVIDER", "environment");
}

static void push_users(const struct proxy *p, struct json_builder *env)
{
    json_each (item, json_get(p->spec, OVERRIDES ".env"))
        json_push(env,
            toolhive_env(
                p->a, toolhive_text(*item, "name", ""), toolhive_text(*item, "value", "")));
}

/* Reports users' variables that the operator's replace. */
static void ignore_users(struct proxy *p, struct json env)
{
    json_each (item, json_get(p->spec, OVERRIDES ".env")) {
        const char *name = toolhive_text(*item, "name", "");
        struct json there = json_find(env, "name", name);
        if (!text_eq(toolhive_text(there, "value", ""), toolhive_text(*item, "value", "")))
            proxy_ignore(p, "spec." OVERRIDES ".env[%s]", name);
    }
}

struct json proxy_env_once(struct arena *a, struct json env)
{
    struct json_builder last, list;
    json_builder_init(&last, a);
    json_builder_init(&list, a);
    int64_t i = 0;
    json_each (item, env)
        json_put(&last, toolhive_text(*item, "name", ""), json_int(i++));
    struct json places = json_map_end(&last);
    i = 0;
    json_each (item, env)
        if (json_member(places, toolhive_text(*item, "name", "")).integer == i++)
            json_push(&list, *item);
    return json_list_end(&list);
}

static struct json environment(struct proxy *p, const struct proxy_pod *pod)
{
    struct json_builder env;
    json_builder_init(&env, p->a);
    json_push_all(&env, pod->env_first);
    struct json client = json_get(p->external, "spec.tokenExchange.clientSecretRef");
    if (proxy_external_is(p, "tokenExchange") && json_present(client))
        json_push(&env, toolhive_env_secret(p->a, "TOOLHIVE_TOKEN_EXCHANGE_CLIENT_SECRET", client));
    struct json token = json_get(p->external, "spec.bearerToken.tokenSecretRef");
    if (p->remote && proxy_external_is(p, "bearerToken"))
        json_push(&env,
            toolhive_env_secret(p->a,
                arena_printf(p->a, "TOOLHIVE_SECRET_%s", toolhive_text(token, "name", "")),
                token));
    struct json oidc = json_get(p->oidc, "spec.inline.clientSecretRef");
    if (json_present(oidc) && text_eq(json_get_text(p->oidc, "spec.type"), "inline"))
        json_push(&env, toolhive_env_secret(p->a, "TOOLHIVE_OIDC_CLIENT_SECRET", oidc));
    push_users(p, &env);
    struct json password = json_get(p->spec, "sessionStorage.passwordRef");
    if (text_eq(json_get_text(p->spec, "sessionStorage.provider"), "redis") &&
        json_present(password))
        json_push(&env, toolhive_env_secret(p->a, "THV_SESSION_REDIS_PASSWORD", password));
    json_push_all(&env, pod->env_last);
    struct json server = proxy_auth_server(p);
    if (!p->remote)
        proxy_auth_server_env(p, server, &env);
    proxy_required_env(&env);
    if (p->remote)
        proxy_auth_server_env(p, server, &env);
    struct json list = proxy_env_once(p->a, json_list_end(&env));
    ignore_users(p, list);
    return list;
}

void proxy_push_otel_headers(const struct proxy *p, struct json_builder *env)
{
    struct arena *a = p->a;
    json_each (h, json_get(p->telemetry, "spec.openTelemetry.sensitiveHeaders"))
        json_push(env,
            toolhive_env_secret(a,
                arena_printf(a,
                    "TOOLHIVE_OTEL_HEADER_%s",
                    toolhive_env_word(a, toolhive_text(*h, "name", ""))),
                json_get(*h, "secretKeyRef")));
}

/* ---- volumes ---- */

void proxy_files_init(struct proxy_files *f, struct arena *a)
{
    f->a = a;
    json_builder_init(&f->volumes, a);
    json_builder_init(&f->mounts, a);
}

void proxy_push_map(struct proxy_files *f, const char *volume, const char *map, const char *key,
    const char *path, const char *mount)
{
    json_push(&f->volumes,
        json_fields(f->a,
            { "name", json_str(volume) },
            { "configMap.name", json_str(map) },
            { "configMap.items",
                maybe(key,
                    json_list(f->a,
                        json_fields(
                            f->a, { "key", json_str(key) }, { "path", json_str(path) }))) }));
    json_push(&f->mounts,
        json_fields(f->a,
            { "name", json_str(volume) },
            { "mountPath", json_str(mount) },
            { "readOnly", json_bool(true) }));
}

static void push_host_paths(const struct proxy *p, struct proxy_files *f)
{
    json_each (v, json_get(p->spec, "volumes")) {
        json_push(&f->volumes,
            json_fields(f->a,
                { "name", json_get(*v, "name") },
                { "hostPath.path", json_get(*v, "hostPath") }));
        json_push(&f->mounts,
            json_fields(f->a,
                { "name", json_get(*v, "name") },
                { "mountPath", json_get(*v, "mountPath") },
                { "readOnly", json_true_or_absent(json_get_bool(*v, "readOnly", false)) }));
    }
}

static void push_authz(const struct proxy *p, struct proxy_files *f)
{
    struct json authz = json_get(p->spec, "authzConfig");
    const char *type = json_get_text(authz, "type");
    if (text_eq(type, "inline"))
        proxy_push_map(f,
            "authz-config",
            arena_printf(f->a, "%s-authz-inline", p->name),
            "authz.json",
            "authz.json",
            "/etc/toolhive/authz");
    else if (text_eq(type, "configMap"))
        proxy_push_map(f,
            "authz-config",
            toolhive_text(authz, "configMap.name", ""),
            toolhive_text(authz, "configMap.key", "authz.json"),
            "authz.json",
            "/etc/toolhive/authz");
}

void proxy_push_bundle(struct proxy_files *f, struct json config, const char *path,
    const char *prefix, const char *mount)
{
    struct json ref = json_get(config, path);
    const char *name = json_get_text(ref, "name"), *key = toolhive_text(ref, "key", "ca.crt");
    if (name)
        proxy_push_map(f,
            arena_printf(f->a, "%s-%s", prefix, name),
            name,
            key,
            key,
            arena_printf(f->a, "%s/%s", mount, name));
}

static struct proxy_files files_of(struct proxy *p)
{
    struct proxy_files f;
    proxy_files_init(&f, p->a);
    proxy_push_map(
        &f, "runconfig", arena_printf(p->a, "%s-runconfig", p->name), NULL, NULL, "/etc/runconfig");
    proxy_webhook_volumes(p, &f.volumes, &f.mounts);
    push_host_paths(p, &f);
    struct json profile = json_get(p->spec, "permissionProfile");
    if (text_eq(json_get_text(profile, "type"), "configmap"))
        proxy_push_map(&f,
            "permission-profile",
            toolhive_text(profile, "name", ""),
            NULL,
            NULL,
            "/etc/toolhive/profiles");
    push_authz(p, &f);
    if (text_eq(json_get_text(p->oidc, "spec.type"), "inline"))
        proxy_push_bundle(
            &f, p->oidc, "spec.inline.caBundleRef.configMapRef", "oidc-ca-bundle", "/config/certs");
    proxy_push_bundle(&f,
        p->telemetry,
        "spec.openTelemetry.caBundleRef.configMapRef",
        "otel-ca-bundle",
        "/config/certs/otel");
    proxy_auth_server_volumes(p, proxy_auth_server(p), &f.volumes, &f.mounts);
    return f;
}

bool proxy_volumes_fit(struct proxy *p)
{
    struct json users = json_get(p->spec, "volumes");
    if (!users.count)
        return true;
    struct proxy_files f = files_of(p);
    struct json volumes = json_list_end(&f.volumes), mounts = json_list_end(&f.mounts);
    json_each (v, users) {
        const char *name = toolhive_text(*v, "name", ""),
                   *path = toolhive_text(*v, "mountPath", "");
        size_t names = 0, paths = 0;
        json_each (other, volumes)
            names += text_eq(json_get_text(*other, "name"), name);
        json_each (other, mounts)
            paths += text_eq(json_get_text(*other, "mountPath"), path);
        if (names > 1)
            p->fault = arena_printf(
                p->a, "spec.volumes: the operator has a volume called %s; use another name", name);
        else if (paths > 1)
            p->fault = arena_printf(
                p->a, "spec.volumes: two volumes are mounted at %s; use another mountPath", path);
    }
    return !p->fault;
}

/* ---- the pod ---- */

static bool quantities(struct proxy *p, const char *side, struct json *ret)
{
    static const char *const names[] = { "cpu", "memory" };
    struct json_builder map;
    json_builder_init(&map, p->a);
    for (size_t i = 0; i < lengthof(names); i++) {
        const char *path = arena_printf(p->a, "resources.%s.%s", side, names[i]);
        const char *text = json_get_text(p->spec, path);
        struct quantity q;
        if (text_empty(text))
            continue;
        if (!quantity_parse(str_of(text), &q, NULL)) {
            p->fault = arena_printf(p->a,
                "spec.%s: \"%s\" is not a quantity. Use a form such as %s.",
                path,
                text,
                i ? "128Mi" : "100m");
            return false;
        }
        json_put(&map, names[i], json_str(text));
    }
    *ret = json_or_absent(json_map_end(&map));
    return true;
}

bool proxy_resources(struct proxy *p, struct json *ret)
{
    struct json limits, requests;
    if (!quantities(p, "limits", &limits) || !quantities(p, "requests", &requests))
        return false;
    *ret = json_or_absent(json_fields(p->a, { "limits", limits }, { "requests", requests }));
    return true;
}

struct json proxy_container_security(const struct proxy *p)
{
    bool ids = !p->settings->openshift;
    return json_fields(p->a,
        { "privileged", json_bool(false) },
        { "allowPrivilegeEscalation", json_bool(false) },
        { "readOnlyRootFilesystem", json_bool(true) },
        { "capabilities.drop", json_list(p->a, json_str("ALL")) },
        { "runAsNonRoot", json_bool(true) },
        { "runAsUser", maybe(ids, json_int(USER)) },
        { "runAsGroup", maybe(ids, json_int(USER)) },
        { "seccompProfile.type", json_str("RuntimeDefault") });
}

struct json proxy_pod_security(const struct proxy *p)
{
    bool ids = !p->settings->openshift;
    return json_fields(p->a,
        { "runAsNonRoot", json_bool(true) },
        { "runAsUser", maybe(ids, json_int(USER)) },
        { "runAsGroup", maybe(ids, json_int(USER)) },
        { "fsGroup", maybe(ids, json_int(USER)) },
        { "seccompProfile.type", json_str("RuntimeDefault") });
}

struct json proxy_pod_template(struct proxy *p, const struct proxy_pod *pod)
{
    struct arena *a = p->a;
    struct proxy_files files = files_of(p);
    struct json resources = { 0 };
    struct json metadata = json_get(p->spec, OVERRIDES ".podTemplateMetadataOverrides");
    bool ok = proxy_resources(p, &resources);
    assert(ok); /* checked before */
    struct json container = json_fields(a,
        { "name", json_str("toolhive") },
        { "image", json_str(pod->image) },
        { "args", pod->args },
        { "env", environment(p, pod) },
        { "ports",
            json_list(a,
                json_fields(a,
                    { "name", json_str("http") },
                    { "containerPort", json_int(p->port) },
                    { "protocol", json_str("TCP") })) },
        { "resources", resources },
        { "volumeMounts", json_list_end(&files.mounts) },
        { "startupProbe", probe(a, 0, 5, 3, 18) },
        { "livenessProbe", probe(a, 30, 10, 5, 3) },
        { "readinessProbe", probe(a, pod->ready_delay_s, 5, 3, 3) },
        { "securityContext", proxy_container_security(p) });
    return json_fields(a,
        { "metadata.labels", toolhive_merge(a, json_get(metadata, "labels"), p->labels) },
        { "metadata.annotations",
            toolhive_merge(a, json_get(metadata, "annotations"), pod->annotations) },
        { "spec.serviceAccountName", json_str(pod->account) },
        { "spec.terminationGracePeriodSeconds", json_int(30) },
        { "spec.imagePullSecrets",
            toolhive_pull_secrets(
                a, json_get(p->spec, OVERRIDES ".imagePullSecrets"), p->settings) },
        { "spec.securityContext", proxy_pod_security(p) },
        { "spec.containers", json_list(a, container) },
        { "spec.volumes", json_list_end(&files.volumes) });
}

const char *proxy_image(struct proxy *p, const char *running, bool unchanged)
{
    bool chosen = !text_empty(p->settings->runner_image);
    const char *ours = chosen ? p->settings->runner_image : p->settings->own_runner_image;
    if (chosen || !running || !unchanged || text_eq(running, ours))
        return ours;
    plan_condition(p->out,
        "ProxyImageCurrent",
        false,
        "ImageKept",
        "the proxy runs %s until this object changes; then it gets %s. To choose an image, set "
        "TOOLHIVE_RUNNER_IMAGE for the operator",
        running,
        ours);
    return running;
}

/* ---- Service and identity ---- */

void proxy_plan_service(struct proxy *p, const char *name)
{
    struct arena *a = p->a;
    struct json overrides = json_get(p->spec, "resourceOverrides.proxyService");
    plan_child(p->out,
        &RESOURCE_SERVICE,
        json_fields(a,
            { "metadata.name", json_str(name) },
            { "metadata.labels", toolhive_merge(a, json_get(overrides, "labels"), p->labels) },
            { "metadata.annotations", json_or_absent(json_get(overrides, "annotations")) },
            { "spec.selector", p->labels },
            { "spec.sessionAffinity",
                json_str(toolhive_text(p->spec, "sessionAffinity", "ClientIP")) },
            { "spec.ports",
                json_list(a,
                    json_fields(a,
                        { "name", json_str("http") },
                        { "port", json_int(p->port) },
                        { "targetPort", json_int(p->port) },
                        { "protocol", json_str("TCP") })) }));
}

static struct json words(struct arena *a, const char *text)
{
    struct json_builder list;
    json_builder_init(&list, a);
    struct str rest = str_of(text);
    while (rest.ptr)
        json_push(&list, json_str(str_dup(a, str_cut(&rest, ' '))));
    return json_list_end(&list);
}

struct json proxy_rules(struct arena *a, const char *const (*rows)[3])
{
    struct json_builder rules;
    json_builder_init(&rules, a);
    for (; (*rows)[1]; rows++)
        json_push(&rules,
            json_fields(a,
                { "apiGroups", json_list(a, json_str((*rows)[0])) },
                { "resources", words(a, (*rows)[1]) },
                { "verbs", words(a, (*rows)[2]) }));
    return json_list_end(&rules);
}

void proxy_plan_account(
    struct proxy *p, const char *name, struct json pull_secrets, struct json rules)
{
    struct arena *a = p->a;
    plan_child(p->out,
        &RESOURCE_SERVICE_ACCOUNT,
        json_fields(a,
            { "metadata.name", json_str(name) },
            { "imagePullSecrets", toolhive_pull_secrets(a, pull_secrets, p->settings) }));
    plan_child(p->out,
        &TOOLHIVE_ROLE,
        json_fields(a, { "metadata.name", json_str(name) }, { "rules", rules }));
    plan_child(p->out,
        &TOOLHIVE_ROLE_BINDING,
        json_fields(a,
            { "metadata.name", json_str(name) },
            { "roleRef.apiGroup", json_str("rbac.authorization.k8s.io") },
            { "roleRef.kind", json_str("Role") },
            { "roleRef.name", json_str(name) },
            { "subjects",
                json_list(a,
                    json_fields(a,
                        { "kind", json_str("ServiceAccount") },
                        { "name", json_str(name) },
                        { "namespace", json_str(p->ns) })) }));
    plan_after(p->out, &TOOLHIVE_ROLE, name);
}

void proxy_plan_rbac(struct proxy *p, const char *name, struct json rules)
{
    proxy_plan_account(p, name, json_get(p->spec, OVERRIDES ".imagePullSecrets"), rules);
}

const char *proxy_trouble(const struct proxy *p, const char *service)
{
    const char *config = arena_printf(p->a, "%s-runconfig", p->name);
    const struct {
        const struct resource *resource;
        const char *name;
    } children[] = {
        { &RESOURCE_DEPLOYMENT, p->name },
        { &TOOLHIVE_CONFIG_MAP, config },
        { &RESOURCE_SERVICE, service },
    };
    for (size_t i = 0; i < lengthof(children); i++) {
        struct view_trouble t = view_trouble(p->in, children[i].resource, children[i].name);
        if (t.what == TROUBLE_FOREIGN || t.what == TROUBLE_REFUSED)
            return t.message;
    }
    return NULL;
}
