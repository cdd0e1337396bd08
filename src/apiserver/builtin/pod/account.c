/* The ServiceAccount of a Pod. Every Pod has one, and its token is mounted into every container
 * unless this is switched off. */

#include "apiserver/builtin/pod/pod.h"
#include "apiserver/core/meta.h"
#include "apiserver/core/server.h"

#define TOKEN_MOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define TOKEN_VOLUME "kube-api-access-"
/* An hour, but distinguishable from a value that a client set. */
#define TOKEN_SECONDS 3607

static struct json token_volume(struct arena *a, const char *name)
{
    struct json token = json_map(
        a, { "expirationSeconds", json_int(TOKEN_SECONDS) }, { "path", json_str("token") });
    struct json ca = json_map(a, { "key", json_str("ca.crt") }, { "path", json_str("ca.crt") });
    struct json ns = json_map(a,
        { "fieldRef",
            json_map(a,
                { "apiVersion", json_str("v1") },
                { "fieldPath", json_str("metadata.namespace") }) },
        { "path", json_str("namespace") });
    struct json sources = json_list(a,
        json_map(a, { "serviceAccountToken", token }),
        json_map(a,
            { "configMap",
                json_map(
                    a, { "items", json_list(a, ca) }, { "name", json_str("kube-root-ca.crt") }) }),
        json_map(a, { "downwardAPI", json_map(a, { "items", json_list(a, ns) }) }));
    return json_map(a,
        { "name", json_str(name) },
        { "projected", json_map(a, { "defaultMode", json_int(0644) }, { "sources", sources }) });
}

static struct json with_item(struct arena *a, struct json map, const char *list, struct json item)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_push_all(&b, json_member(map, list));
    json_push(&b, item);
    return json_with_member(a, map, list, json_list_end(&b));
}

static bool mounts_token(struct json container)
{
    json_each (m, json_member(container, "volumeMounts"))
        if (text_eq(json_get_text(*m, "mountPath"), TOKEN_MOUNT))
            return true;
    return false;
}

/* Adds the mount to every container in the list; *any: at least one got it. */
static struct json mount_all(
    struct arena *a, struct json spec, const char *list, const char *volume, bool *any)
{
    struct json_builder b;
    json_builder_init(&b, a);
    json_each (c, json_member(spec, list)) {
        struct json mount = json_map(a,
            { "mountPath", json_str(TOKEN_MOUNT) },
            { "name", json_str(volume) },
            { "readOnly", json_bool(true) });
        bool has = mounts_token(*c);
        *any = *any || !has;
        json_push(&b, has ? *c : with_item(a, *c, "volumeMounts", mount));
    }
    return json_with_member(a, spec, list, json_or_absent(json_list_end(&b)));
}

static struct json mount_token(const struct api_write *w, struct json spec)
{
    struct arena *a = w->arena;
    const char *volume = NULL;
    bool any = false;
    json_each (v, json_member(spec, "volumes"))
        if (!volume && text_starts(json_get_text(*v, "name"), TOKEN_VOLUME))
            volume = json_get_text(*v, "name");
    bool there = volume != NULL;
    if (!there)
        volume = meta_random_name(apiserver_env(w->server), a, TOKEN_VOLUME);
    spec = mount_all(a, spec, "initContainers", volume, &any);
    spec = mount_all(a, spec, "containers", volume, &any);
    return any && !there ? with_item(a, spec, "volumes", token_volume(a, volume)) : spec;
}

/* The Pod decides whether it wants the token, then its account; the default is yes. */
static bool wants_token(struct json spec, struct json account)
{
    return json_get_bool(spec,
        "automountServiceAccountToken",
        json_get_bool(account, "automountServiceAccountToken", true));
}

bool pod_account_admit(const struct api_write *w, struct json *object, struct error *err)
{
    struct arena *a = w->arena;
    struct json spec = json_member(*object, "spec");
    const char *ns = json_get_text(*object, "metadata.namespace");
    const char *name = json_get_text(spec, "serviceAccountName");
    struct json mirror =
        json_member(json_get(*object, "metadata.annotations"), "kubernetes.io/config.mirror");
    if (!w->server || json_present(mirror))
        return true;
    const struct api_kind *k =
        registry_find(apiserver_registry(w->server), "", "v1", "serviceaccounts");
    name = text_empty(name) ? "default" : name;
    spec = json_with_member(a, spec, "serviceAccountName", json_str(name));
    spec = json_with_member(a, spec, "serviceAccount", json_str(name));
    struct json account = apiserver_read(w->server, a, k, ns ? ns : "", name);
    if (!json_present(account))
        return fail(err,
            ERR_FORBIDDEN,
            "pods \"%s\" is forbidden: error looking up service account %s/%s: serviceaccount "
            "\"%s\" not found",
            meta_asked_name(*object),
            ns,
            name,
            name);
    if (wants_token(spec, account))
        spec = mount_token(w, spec);
    if (!json_member(spec, "imagePullSecrets").count)
        spec = json_with_member(
            a, spec, "imagePullSecrets", json_or_absent(json_member(account, "imagePullSecrets")));
    *object = json_with_member(a, *object, "spec", spec);
    return true;
}
