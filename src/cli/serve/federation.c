#include "cli/serve/federation.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/resource.h"
#include "base/time.h"
#include "cli/cli.h"
#include "engine/engine.h"
#include "engine/view.h"
#include "http/loop.h"
#include "kinds/llmkube/federated_cluster.h"
#include "kinds/llmkube/inference_service.h"
#include "kinds/llmkube/model.h"
#include "kinds/llmkube/settings.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/http_transport.h"

#define INTERVAL_S 30
#define NOT_READY_MS 1000

struct federation {
    struct federation_options o;
    struct kube_config config; /* of the hub cluster */
    struct http_transport *transport;
    struct kube_client *client;
    struct kube_op *op;
    struct timer timer;
    int64_t interval_ms;
    char told[200]; /* the last problem that was logged */
};

/* Logs each problem once, not at each heartbeat. */
static void tell(struct federation *f, const char *what, const char *why)
{
    char text[sizeof(f->told)];
    snprintf(text, sizeof(text), "%s: %s", what, why);
    if (!text_eq(text, f->told))
        log_warn("federation: %s", text);
    memcpy(f->told, text, sizeof(text));
}

static void on_written(void *ctx, const struct kube_reply *reply)
{
    struct federation *f = ctx;
    const char *name = f->o.settings->federation_cluster_name;
    f->op = NULL;
    if (reply->error.code == ERR_NOT_FOUND) {
        tell(f, name, "no FederatedCluster of that name is registered yet");
    } else if (reply->error.code) {
        tell(f, "cannot report", reply->error.text);
    } else {
        int64_t wanted_s = json_get_int(reply->body, "spec.heartbeatIntervalSeconds", INTERVAL_S);
        f->interval_ms = (wanted_s > 0 && wanted_s < INTERVAL_S ? wanted_s : INTERVAL_S) * 1000;
        if (f->told[0])
            log_info("federation: %s is reported again", name);
        f->told[0] = '\0';
    }
    timer_set(loop_env(f->o.loop), &f->timer, f->interval_ms);
}

/* Everything in this cluster, or why it is not known yet. */
static bool look(struct federation *f, struct arena *a, struct json *ret, struct error *err)
{
    struct view models, services;
    if (!engine_look(f->o.engine, a, &llmkube_model_kind, json_none, &models, err) ||
        !engine_look(f->o.engine, a, &llmkube_inference_service_kind, json_none, &services, err))
        return false;
    *ret = federated_cluster_report(a,
        view_list(&models, &LLMKUBE_MODEL, NULL, NULL),
        view_list(&services, &LLMKUBE_INFERENCE_SERVICE, NULL, NULL),
        view_list(&models, &RESOURCE_NODE, NULL, NULL));
    return true;
}

static void beat(void *ctx)
{
    struct federation *f = ctx;
    const struct env *env = loop_env(f->o.loop);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json status;
    struct error err;
    if (!f->o.may_write(f->o.ctx) || !look(f, &a, &status, &err)) {
        timer_set(env, &f->timer, NOT_READY_MS);
        return;
    }
    status = json_overlay(&a,
        status,
        json_map(&a,
            { "lastHeartbeatTime", json_str(time_format(&a, env_wall_ms(env))) },
            { "observedVersion", json_str(LEEBOARD_VERSION) }));
    f->op = kube_patch(f->client,
        (struct kube_target){ .resource = &FEDERATION_CLUSTER,
            .name = f->o.settings->federation_cluster_name,
            .subresource = "status" },
        KUBE_PATCH_MERGE,
        json_fields(&a, { "status", status }),
        (struct kube_write){ .field_manager = "leeboard-edge" },
        (struct kube_then){ .done = on_written, .ctx = f });
}

bool federation_new(const struct federation_options *o, struct federation **ret, struct error *err)
{
    const struct llmkube_settings *s = o->settings;
    *ret = NULL;
    if (!s->federation_is_edge)
        return true;
    if (text_empty(s->federation_datacenter_kubeconfig) || text_empty(s->federation_cluster_name))
        return fail(err,
            ERR_INVALID,
            "--federation-role=edge needs --federation-datacenter-kubeconfig and "
            "--federation-cluster-name");
    struct federation *f = mem_new_of(struct federation);
    *f = (struct federation){ .o = *o, .interval_ms = INTERVAL_S * 1000 };
    timer_init(&f->timer, beat, f);
    *ret = f;
    const struct kube_config_options where = { .kubeconfig = s->federation_datacenter_kubeconfig };
    if (!kube_config_load(o->arena, &where, &f->config, err))
        return fail_in(err, "--federation-datacenter-kubeconfig");
    f->transport =
        http_transport_new(o->loop, &(struct http_transport_options){ .config = &f->config }, err);
    if (!f->transport)
        return false;
    f->client = kube_client_new(http_transport_kube(f->transport), loop_env(o->loop));
    timer_set(loop_env(o->loop), &f->timer, 0);
    return true;
}

void federation_free(struct federation *f)
{
    if (!f)
        return;
    timer_stop(loop_env(f->o.loop), &f->timer);
    if (f->op)
        kube_op_cancel(f->client, f->op);
    if (f->client)
        kube_client_free(f->client);
    if (f->transport)
        http_transport_free(f->transport);
    free(f);
}
