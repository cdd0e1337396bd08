/* The pod of a gateway. */

#include "base/hash.h"
#include "base/names.h"
#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/vmcp.h"
#include "merge/gojson.h"

#define PULL_SECRETS_HASH "toolhive.stacklok.io/imagepullsecrets-hash"
#define VOLUME_NAME_MAX 63

/* Sorted by name, as in upstream's hash. */
static struct json by_name(struct arena *a, struct json list)
{
    struct json_builder map, sorted;
    json_builder_init(&map, a);
    json_builder_init(&sorted, a);
    json_each (item, list)
        json_put(&map, toolhive_text(*item, "name", ""), *item);
    struct json all = json_map_end(&map);
    json_each_member (m, all)
        json_push(&sorted, m->value);
    return json_list_end(&sorted);
}

static struct json probe(struct arena *a, const char *path, const int64_t (*times)[4])
{
    return json_fields(a,
        { "httpGet.path", json_str(path) },
        { "httpGet.port", json_str("http") },
        { "initialDelaySeconds", json_int((*times)[0]) },
        { "periodSeconds", json_int((*times)[1]) },
        { "timeoutSeconds", json_int((*times)[2]) },
        { "failureThreshold", json_int((*times)[3]) });
}

/* A running gateway keeps its image until its object changes, unless --vmcp-image is set. */
static const char *image(struct vmcp *v, struct json live)
{
    const char *ours = v->p.settings->vmcp_image;
    const char *running = json_get_text(live, "spec.template.spec.containers.0.image");
    bool asked = !text_eq(ours, toolhive_settings_default.vmcp_image);
    bool unchanged = json_get_int(v->p.status, "observedGeneration", 0) == v->p.generation;
    if (asked || !running || !unchanged || text_eq(running, ours))
        return ours;
    plan_condition(v->p.out,
        "GatewayImageCurrent",
        false,
        "ImageKept",
        "the gateway runs %s until this object changes; then it gets %s. To choose an image, set "
        "VMCP_IMAGE for the operator",
        running,
        ours);
    return running;
}

static void push_redis_password(const struct vmcp *v, struct json_builder *env)
{
    struct json storage = json_get(v->spec, "sessionStorage");
    const struct toolhive_settings *s = v->p.settings;
    struct json ref = json_get(storage, "passwordRef");
    if (json_present(storage) && !text_eq(json_get_text(storage, "provider"), "redis"))
        return;
    if (!json_present(storage) && !text_empty(s->redis_addr) && !text_empty(s->redis_secret_name))
        ref = json_fields(v->p.a,
            { "name", json_str(s->redis_secret_name) },
            { "key", json_str(s->redis_secret_key) });
    if (json_present(ref))
        json_push(env, toolhive_env_secret(v->p.a, "THV_SESSION_REDIS_PASSWORD", ref));
}

static struct json environment(struct vmcp *v)
{
    struct arena *a = v->p.a;
    struct json_builder env;
    struct json secret = json_get(v->p.oidc, "spec.inline.clientSecretRef");
    json_builder_init(&env, a);
    json_push(&env, toolhive_env(a, "VMCP_NAME", v->p.name));
    json_push(&env, toolhive_env(a, "VMCP_NAMESPACE", v->p.ns));
    if (json_present(secret) && text_eq(json_get_text(v->p.oidc, "spec.type"), "inline"))
        json_push(&env, toolhive_env_secret(a, "VMCP_OIDC_CLIENT_SECRET", secret));
    vmcp_outgoing_env(v, &env);
    vmcp_header_env(v, &env);
    json_push(&env,
        toolhive_env_secret(a,
            "VMCP_SESSION_HMAC_SECRET",
            json_fields(a,
                { "name", json_strf(a, "%s-hmac-secret", v->p.name) },
                { "key", json_str("hmac-secret") })));
    push_redis_password(v, &env);
    proxy_telemetry_env(&v->p, &env);
    proxy_auth_server_env(&v->p, json_get(v->spec, "authServerConfig"), &env);
    proxy_required_env(&env);
    return json_list_end(&env);
}

/* An entry's name may be too long for a volume; then it gets a hash. */
static const char *ca_volume(struct arena *a, const char *entry)
{
    const char *name = arena_printf(a, "ca-bundle-%s", entry);
    if (strlen(name) <= VOLUME_NAME_MAX)
        return name;
    struct sha256 h;
    sha256_init(&h);
    sha256_add(&h, entry, strlen(entry));
    const char *hex = sha256_end_hex(&h, a);
    size_t length = VOLUME_NAME_MAX - strlen("ca-bundle--") - 8;
    while (length && entry[length - 1] == '-')
        length--;
    return arena_printf(a, "ca-bundle-%.*s-%.8s", (int)length, entry, hex);
}

static struct proxy_files files_of(struct vmcp *v)
{
    struct arena *a = v->p.a;
    struct proxy_files f;
    proxy_files_init(&f, a);
    proxy_push_map(&f,
        "vmcp-config",
        arena_printf(a, "%s-vmcp-config", v->p.name),
        NULL,
        NULL,
        "/etc/vmcp-config");
    if (text_eq(json_get_text(v->p.oidc, "spec.type"), "inline"))
        proxy_push_bundle(&f,
            v->p.oidc,
            "spec.inline.caBundleRef.configMapRef",
            "oidc-ca-bundle",
            "/config/certs");
    for (size_t i = 0; i < v->member_count; i++) {
        const char *map, *key;
        if (vmcp_ca_path(a, &v->members[i], &map, &key))
            proxy_push_map(&f,
                ca_volume(a, v->members[i].name),
                map,
                key,
                key,
                arena_printf(a, "/etc/toolhive/ca-bundles/%s", v->members[i].name));
    }
    proxy_push_bundle(&f,
        v->p.telemetry,
        "spec.openTelemetry.caBundleRef.configMapRef",
        "otel-ca-bundle",
        "/config/certs/otel");
    proxy_auth_server_volumes(&v->p, json_get(v->spec, "authServerConfig"), &f.volumes, &f.mounts);
    return f;
}

static struct json container(struct vmcp *v, const char *image_, struct json mounts)
{
    static const int64_t alive[] = { 30, 10, 5, 3 }, ready[] = { 15, 5, 3, 3 };
    struct arena *a = v->p.a;
    bool debug = text_eq(json_get_text(v->given, "operational.logLevel"), "debug");
    return json_fields(a,
        { "name", json_str("vmcp") },
        { "image", json_str(image_) },
        { "imagePullPolicy", json_str("IfNotPresent") },
        { "args",
            json_list(a,
                json_str("serve"),
                json_str("--config=/etc/vmcp-config/config.yaml"),
                json_str("--host=0.0.0.0"),
                json_str("--port=4483"),
                json_str(debug ? "--debug" : NULL)) },
        { "env", environment(v) },
        { "ports",
            json_list(a,
                json_fields(a,
                    { "name", json_str("http") },
                    { "containerPort", json_int(VMCP_PORT) },
                    { "protocol", json_str("TCP") })) },
        { "resources.requests",
            json_map(a, { "cpu", json_str("100m") }, { "memory", json_str("128Mi") }) },
        { "resources.limits",
            json_map(a, { "cpu", json_str("500m") }, { "memory", json_str("512Mi") }) },
        { "volumeMounts", mounts },
        { "livenessProbe", probe(a, "/health", &alive) },
        { "readinessProbe", probe(a, "/readyz", &ready) },
        { "securityContext", proxy_container_security(&v->p) });
}

static struct json pod_template(struct vmcp *v, struct json live, const char *checksum)
{
    struct arena *a = v->p.a;
    struct proxy_files files = files_of(v);
    const char *own = arena_printf(a, "%s-vmcp", v->p.name);
    return json_fields(a,
        { "metadata.labels", v->p.labels },
        { "metadata.annotations",
            json_map(a, { TOOLHIVE_RUNCONFIG_CHECKSUM, json_str(checksum) }) },
        { "spec.serviceAccountName", json_str(toolhive_text(v->spec, "serviceAccount", own)) },
        { "spec.terminationGracePeriodSeconds", json_int(30) },
        { "spec.imagePullSecrets",
            toolhive_pull_secrets(a, json_get(v->spec, "imagePullSecrets"), v->p.settings) },
        { "spec.securityContext", proxy_pod_security(&v->p) },
        { "spec.containers",
            json_list(a, container(v, image(v, live), json_list_end(&files.mounts))) },
        { "spec.volumes", json_list_end(&files.volumes) });
}

bool vmcp_deployment(
    struct vmcp *v, struct json live, const char *checksum, struct json *ret, struct error *err)
{
    struct arena *a = v->p.a;
    struct json patch = json_get(v->spec, "podTemplateSpec"), none = { 0 };
    struct json tmpl = pod_template(v, live, checksum);
    struct json pull =
        toolhive_pull_secrets(a, json_get(v->spec, "imagePullSecrets"), v->p.settings);
    const char *unknown;
    if (json_present(patch) && !go_template_merge(a, tmpl, patch, &tmpl, err))
        return false;
    tmpl = go_template_keep(a,
        go_template_known(a, tmpl, &unknown),
        v->p.labels,
        json_map(a, { TOOLHIVE_RUNCONFIG_CHECKSUM, json_str(checksum) }));
    proxy_ignore_unknown(&v->p, unknown);
    *ret = json_fields(a,
        { "metadata.name", json_str(v->p.name) },
        { "metadata.labels", v->p.labels },
        { "metadata.annotations",
            json_or_absent(json_map(a,
                { TOOLHIVE_POD_TEMPLATE_HASH,
                    json_present(patch) ? json_str(toolhive_hash(a, patch)) : none },
                { PULL_SECRETS_HASH,
                    pull.count ? json_str(toolhive_hash(a, by_name(a, pull))) : none })) },
        { "spec.replicas", json_get(v->spec, "replicas") },
        { "spec.selector.matchLabels", v->p.labels },
        { "spec.template", tmpl });
    return true;
}
