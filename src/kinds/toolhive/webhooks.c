/* Webhooks of an MCPServer: their part of the RunConfig, and their Secrets as files. */

#include "base/time.h"
#include "kinds/toolhive/proxy.h"

#define MOUNTS "/etc/toolhive/webhooks"

/* Secrets of one webhook: their path in its spec, and the purpose of their file. */
static const struct {
    const char *path, *purpose;
} secrets[] = {
    { "hmacSecretRef", "hmac" },
    { "tlsConfig.caSecretRef", "tls_ca" },
    { "tlsConfig.clientCertSecretRef", "tls_client_cert" },
    { "tlsConfig.clientKeySecretRef", "tls_client_key" },
};

/* Upstream's hash: FNV-1a over Go's debug format of a string. */
static const char *hash(struct arena *a, const char *text)
{
    uint32_t h = 0x811c9dc5;
    for (const char *c = arena_printf(a, "(string)%s", text); *c; c++)
        h = (h ^ (uint8_t)*c) * 0x01000193;
    return arena_printf(a, "%x", h);
}

static const char *identifier(
    struct arena *a, const char *phase, const char *webhook, const char *purpose, struct json ref)
{
    const char *of = hash(
        a, arena_printf(a, "%s/%s", toolhive_text(ref, "name", ""), toolhive_text(ref, "key", "")));
    return toolhive_env_word(
        a, arena_printf(a, "webhook_%s_%s_%s_%s", phase, webhook, purpose, of));
}

static const char *file_name(struct arena *a, struct json ref)
{
    char *name = arena_strdup(a, toolhive_text(ref, "key", "secret"));
    for (char *c = name; *c; c++)
        *c = *c == '/' ? '_' : *c;
    return name;
}

static const char *mount_path(struct arena *a, const char *id, struct json ref)
{
    char *lower = arena_strdup(a, id);
    for (char *c = lower; *c; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c - 'A' + 'a') : *c;
    return arena_printf(a, MOUNTS "/%s/%s", lower, file_name(a, ref));
}

static struct json path_of(struct arena *a, const char *phase, struct json webhook, size_t secret)
{
    struct json ref = json_get(webhook, secrets[secret].path);
    if (!json_present(ref))
        return json_none;
    const char *name = toolhive_text(webhook, "name", "");
    return json_str(mount_path(a, identifier(a, phase, name, secrets[secret].purpose, ref), ref));
}

struct json proxy_webhooks(const struct proxy *p, const char *phase)
{
    struct arena *a = p->a;
    struct json_builder list;
    json_builder_init(&list, a);
    json_each (w, json_get(json_get(p->webhooks, "spec"), phase)) {
        int64_t timeout_ns = 0;
        const char *timeout = json_get_text(*w, "timeout");
        if (timeout && !time_duration_parse(timeout, &timeout_ns))
            timeout_ns = 0;
        struct json cert = path_of(a, phase, *w, 2), key = path_of(a, phase, *w, 3);
        bool pair = json_present(cert) && json_present(key);
        struct json tls = { 0 }, given = json_get(*w, "tlsConfig");
        if (json_present(given)) {
            struct json fields = json_fields(a,
                { "ca_bundle_path", path_of(a, phase, *w, 1) },
                { "client_cert_path", json_if(pair, cert) },
                { "client_key_path", json_if(pair, key) },
                { "insecure_skip_verify",
                    json_true_or_absent(json_get_bool(given, "insecureSkipVerify", false)) });
            tls = json_present(fields) ? fields : json_empty_map();
        }
        json_push(&list,
            json_fields(a,
                { "name", json_get(*w, "name") },
                { "url", json_get(*w, "url") },
                { "timeout", json_int(timeout_ns) },
                { "failure_policy", json_str(toolhive_text(*w, "failurePolicy", "fail")) },
                { "tls_config", tls },
                { "hmac_secret_ref", path_of(a, phase, *w, 0) }));
    }
    return json_or_absent(json_list_end(&list));
}

/* Sorted by identifier: the order of a map. */
void proxy_webhook_volumes(
    const struct proxy *p, struct json_builder *volumes, struct json_builder *mounts)
{
    static const char *const phases[] = { "mutating", "validating" };
    struct arena *a = p->a;
    struct json_builder by_id;
    json_builder_init(&by_id, a);
    for (size_t i = 0; i < lengthof(phases); i++)
        json_each (w, json_get(json_get(p->webhooks, "spec"), phases[i]))
            for (size_t s = 0; s < lengthof(secrets); s++) {
                struct json ref = json_get(*w, secrets[s].path);
                const char *name = toolhive_text(*w, "name", "");
                if (json_present(ref))
                    json_put(&by_id, identifier(a, phases[i], name, secrets[s].purpose, ref), ref);
            }
    json_each_member (m, json_map_end(&by_id)) {
        const char *volume = arena_printf(a, "whsec-%s", hash(a, m->key));
        const char *file = file_name(a, m->value);
        json_push(volumes,
            json_fields(a,
                { "name", json_str(volume) },
                { "secret.secretName", json_get(m->value, "name") },
                { "secret.items",
                    json_list(a,
                        json_fields(a,
                            { "key", json_get(m->value, "key") },
                            { "path", json_str(file) })) }));
        json_push(mounts,
            json_fields(a,
                { "name", json_str(volume) },
                { "mountPath", json_str(mount_path(a, m->key, m->value)) },
                { "subPath", json_str(file) },
                { "readOnly", json_bool(true) }));
    }
}
