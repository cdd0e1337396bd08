#include "cli/serve/webhook_cert.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/resource.h"
#include "base/timer.h"
#include "http/tls_cert.h"
#include "kinds/llmkube/admission.h"
#include "kube/client.h"

#define DAY_S ((int64_t)86400)
#define AUTHORITY_DAYS 3650
#define AUTHORITY_RENEW_DAYS 365
#define LEAF_DAYS 90
#define LEAF_RENEW_DAYS 30
/* Another client may replace the Secret or a caBundle, and another replica may renew it. */
#define LOOK_MS 60000
#define LOOK_SOON_MS 1000

static const struct resource CONFIGURATIONS[] = {
    {
        .group = "admissionregistration.k8s.io",
        .version = "v1",
        .kind = "ValidatingWebhookConfiguration",
        .plural = "validatingwebhookconfigurations",
        .cluster_scoped = true,
    },
    {
        .group = "admissionregistration.k8s.io",
        .version = "v1",
        .kind = "MutatingWebhookConfiguration",
        .plural = "mutatingwebhookconfigurations",
        .cluster_scoped = true,
    },
};

struct webhook_cert {
    struct webhook_cert_options o;
    struct arena arena; /* for one check */
    struct timer timer;
    struct kube_op *op;
    struct str bundle, certificate, key; /* of the Secret, during a check */
    size_t configuration;                /* the configuration being checked */
    bool soon;                           /* something is missing: check again soon */
    char told[200];                      /* the last problem that was logged */
    uint8_t served[SHA256_BYTES];        /* digest of the certificate that changed() got */
};

static void look(void *ctx);
static void on_configuration(void *ctx, const struct kube_reply *reply);

/* ---- checking ---- */

static void rest(struct webhook_cert *w)
{
    arena_reset(&w->arena);
    timer_set(w->o.env, &w->timer, w->soon ? LOOK_SOON_MS : LOOK_MS);
}

/* Logs each problem once, not at each check. */
static void trouble(struct webhook_cert *w, const char *what, const char *why)
{
    char text[sizeof(w->told)];
    snprintf(text, sizeof(text), "%s: %s", what, why);
    if (!text_eq(text, w->told))
        log_warn("webhooks: %s", text);
    memcpy(w->told, text, sizeof(text));
    w->soon = true;
}

static void serve(struct webhook_cert *w)
{
    uint8_t digest[SHA256_BYTES];
    sha256_of(w->certificate, digest);
    if (memcmp(digest, w->served, sizeof(digest)) != 0) {
        memcpy(w->served, digest, sizeof(digest));
        w->o.changed(w->o.ctx, w->certificate, w->key);
    }
    if (!w->soon)
        w->told[0] = '\0';
    rest(w);
}

/* ---- caBundle ---- */

static bool is_ours(struct json webhook)
{
    for (const struct admission *a = llmkube_admissions; a->name; a++)
        if (text_eq(json_get_text(webhook, "name"), a->name))
            return true;
    return false;
}

static void next_configuration(struct webhook_cert *w)
{
    if (w->configuration == lengthof(CONFIGURATIONS)) {
        serve(w);
        return;
    }
    w->op = kube_get(w->o.client,
        (struct kube_target){
            .resource = &CONFIGURATIONS[w->configuration], .name = w->o.configuration },
        (struct kube_then){ .done = on_configuration, .ctx = w });
}

static void on_bundle(void *ctx, const struct kube_reply *reply)
{
    struct webhook_cert *w = ctx;
    w->op = NULL;
    if (reply->error.code)
        trouble(w, "cannot set the caBundle", reply->error.text);
    else
        log_info("webhooks: set the caBundle of %s %s",
            CONFIGURATIONS[w->configuration].kind,
            w->o.configuration);
    w->configuration++;
    next_configuration(w);
}

/* Applies only differences, and only for existing webhooks: an apply would add missing ones. */
static void on_configuration(void *ctx, const struct kube_reply *reply)
{
    struct webhook_cert *w = ctx;
    struct arena *a = &w->arena;
    const char *bundle = base64_encode(a, w->bundle);
    w->op = NULL;
    struct json_builder webhooks;
    json_builder_init(&webhooks, a);
    bool differs = false;
    json_each (webhook, json_get(reply->body, "webhooks")) {
        if (!is_ours(*webhook))
            continue;
        differs |= !text_eq(json_get_text(*webhook, "clientConfig.caBundle"), bundle);
        json_push(&webhooks,
            json_fields(a,
                { "name", json_str(arena_strdup(a, json_get_text(*webhook, "name"))) },
                { "clientConfig.caBundle", json_str(bundle) }));
    }
    /* An installation with only some of the webhooks has only one configuration. */
    if (reply->error.code && reply->error.code != ERR_NOT_FOUND)
        trouble(w, "cannot look at the webhook configurations", reply->error.text);
    w->soon |= reply->error.code != ERR_NONE && w->configuration == 0;
    if (!differs || !w->o.may_write(w->o.ctx)) {
        w->soon |= differs; /* the leader sets it; this process may become the leader */
        w->configuration++;
        next_configuration(w);
        return;
    }
    const struct resource *r = &CONFIGURATIONS[w->configuration];
    w->op = kube_apply(w->o.client,
        (struct kube_target){ .resource = r, .name = w->o.configuration },
        json_fields(a,
            { "apiVersion", json_str(resource_api_version(a, r)) },
            { "kind", json_str(r->kind) },
            { "metadata.name", json_str(w->o.configuration) },
            { "webhooks", json_list_end(&webhooks) }),
        (struct kube_write){ .field_manager = "leeboard", .force = true },
        (struct kube_then){ .done = on_bundle, .ctx = w });
}

/* ---- the Secret ---- */

static const char *const *hosts(struct webhook_cert *w)
{
    const char **list = arena_array(&w->arena, 8, sizeof(*list));
    list[0] = arena_printf(&w->arena, "%s.%s.svc", w->o.service, w->o.ns);
    list[1] = arena_printf(&w->arena, "%s.%s.svc.cluster.local", w->o.service, w->o.ns);
    list[2] = w->o.service;
    list[3] = "localhost"; /* for an operator outside the cluster, behind a tunnel */
    list[4] = "127.0.0.1";
    return list;
}

static struct str data_of(struct webhook_cert *w, struct json secret, const char *name)
{
    struct str ret = { 0 };
    struct json text = json_member(json_get(secret, "data"), name);
    if (!json_text(text) || !base64_decode(&w->arena, str_of(json_text(text)), &ret))
        return (struct str){ "", 0 };
    return ret;
}

/* A new CA is followed by the previous one, which issued the certificates of other replicas. */
static struct str bundle_of(struct webhook_cert *w, struct str fresh, struct str before)
{
    int64_t now_s = env_wall_ms(w->o.env) / 1000;
    size_t first = 0;
    while (first < before.len && !str_starts((struct str){ before.ptr + first, before.len - first },
                                     STR("-----END CERTIFICATE-----")))
        first++;
    first = first < before.len ? first + strlen("-----END CERTIFICATE-----") : 0;
    if (!first || !tls_is_valid_at(before, now_s))
        return fresh;
    return str_of(
        arena_printf(&w->arena, "%.*s%.*s\n", (int)fresh.len, fresh.ptr, (int)first, before.ptr));
}

static void on_written(void *ctx, const struct kube_reply *reply)
{
    struct webhook_cert *w = ctx;
    w->op = NULL;
    bool raced = reply->error.code == ERR_CONFLICT || reply->error.code == ERR_EXISTS;
    if (reply->error.code && !raced)
        trouble(w, "cannot keep the certificate", reply->error.text);
    else if (!raced)
        log_info("webhooks: issued a certificate, in Secret %s/%s", w->o.ns, w->o.secret);
    /* The stored Secret counts, even if another replica wrote it. */
    if (reply->error.code && !raced) {
        rest(w);
        return;
    }
    arena_reset(&w->arena);
    timer_set(w->o.env, &w->timer, 0);
}

static struct json secret_of(struct webhook_cert *w, struct json before, struct str ca,
    struct str ca_key, struct str certificate, struct str key)
{
    struct arena *a = &w->arena;
    struct json data = json_map(a,
        { "ca.crt", json_str(base64_encode(a, ca)) },
        { "ca.key", json_str(base64_encode(a, ca_key)) },
        { "tls.crt", json_str(base64_encode(a, certificate)) },
        { "tls.key", json_str(base64_encode(a, key)) });
    if (json_present(before))
        return json_with_member(a, before, "data", data);
    return json_fields(a,
        { "apiVersion", json_str("v1") },
        { "kind", json_str("Secret") },
        { "metadata.name", json_str(w->o.secret) },
        { "metadata.namespace", json_str(w->o.ns) },
        { "metadata.labels",
            json_map(a, { "app.kubernetes.io/managed-by", json_str("leeboard") }) },
        { "type", json_str("kubernetes.io/tls") },
        { "data", data });
}

static void issue(struct webhook_cert *w, struct json before)
{
    struct arena *a = &w->arena;
    struct error err;
    int64_t now_s = env_wall_ms(w->o.env) / 1000;
    struct str ca = data_of(w, before, "ca.crt"), ca_key = data_of(w, before, "ca.key");
    struct str certificate, key, fresh = ca;
    bool lasts = ca_key.len && tls_is_valid_at(ca, now_s + AUTHORITY_RENEW_DAYS * DAY_S);
    struct tls_issue what = { .common_name = hosts(w)[0], .hosts = hosts(w), .days = LEAF_DAYS };
    if ((!lasts && !tls_authority(a, "leeboard-webhooks", AUTHORITY_DAYS, &fresh, &ca_key, &err)) ||
        !tls_issue(a, fresh, ca_key, &what, &certificate, &key, &err)) {
        trouble(w, "no certificate", err.text);
        rest(w);
        return;
    }
    struct json secret =
        secret_of(w, before, lasts ? ca : bundle_of(w, fresh, ca), ca_key, certificate, key);
    struct kube_target at = { .resource = &RESOURCE_SECRET, .ns = w->o.ns };
    struct kube_write how = { .field_manager = "leeboard" };
    struct kube_then then = { .done = on_written, .ctx = w };
    if (!json_present(before)) {
        w->op = kube_create(w->o.client, at, secret, how, then);
        return;
    }
    at.name = w->o.secret;
    w->op = kube_update(w->o.client, at, secret, how, then);
}

static void on_secret(void *ctx, const struct kube_reply *reply)
{
    struct webhook_cert *w = ctx;
    w->op = NULL;
    bool none = reply->error.code == ERR_NOT_FOUND;
    struct json secret = none ? json_none : json_copy(&w->arena, reply->body);
    int64_t now_s = env_wall_ms(w->o.env) / 1000;
    if (reply->error.code && !none) {
        trouble(w, "cannot look at the certificate", reply->error.text);
        rest(w);
        return;
    }
    w->bundle = data_of(w, secret, "ca.crt");
    w->certificate = data_of(w, secret, "tls.crt");
    w->key = data_of(w, secret, "tls.key");
    const char *const *names = hosts(w);
    bool lasts =
        tls_is_issued(w->certificate, w->key, w->bundle, names, now_s + LEAF_RENEW_DAYS * DAY_S) &&
        tls_is_valid_at(w->bundle, now_s + AUTHORITY_RENEW_DAYS * DAY_S);
    bool usable = tls_is_issued(w->certificate, w->key, w->bundle, names, now_s);
    if (!lasts && w->o.may_write(w->o.ctx)) {
        issue(w, secret);
    } else if (!usable) {
        w->soon = true; /* the leader issues it; this process may become the leader */
        rest(w);
    } else {
        w->soon |= !lasts;
        w->configuration = 0;
        next_configuration(w);
    }
}

static void look(void *ctx)
{
    struct webhook_cert *w = ctx;
    w->soon = false;
    w->op = kube_get(w->o.client,
        (struct kube_target){ .resource = &RESOURCE_SECRET, .ns = w->o.ns, .name = w->o.secret },
        (struct kube_then){ .done = on_secret, .ctx = w });
}

struct webhook_cert *webhook_cert_new(const struct webhook_cert_options *options)
{
    struct webhook_cert *w = mem_new_of(struct webhook_cert);
    *w = (struct webhook_cert){ .o = *options };
    arena_init(&w->arena, (size_t)16 << 20);
    timer_init(&w->timer, look, w);
    timer_set(w->o.env, &w->timer, 0);
    return w;
}

void webhook_cert_free(struct webhook_cert *w)
{
    if (!w)
        return;
    if (w->op)
        kube_op_cancel(w->o.client, w->op);
    timer_stop(w->o.env, &w->timer);
    arena_done(&w->arena);
    free(w);
}
