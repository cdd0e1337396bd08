#include "apiserver/builtin/pod/security_admit.h"

#include <string.h>

#include "apiserver/builtin/pod/security.h"
#include "apiserver/core/call.h"
#include "apiserver/core/object.h"
#include "apiserver/core/server.h"
#include "apiserver/store/store.h"

/* The maximum number of existing pods that are checked when a namespace's level changes. */
#define PODS_MAX 3000

/* False: the object's namespace has no policy. Cheap, because only namespaces with the label prefix
 * in their text are parsed. */
static bool read_policy(const struct api_write *w, struct json object, struct pod_policy *ret)
{
    const char *ns = json_get_text(object, "metadata.namespace");
    const struct api_kind *k =
        w->server ? registry_find(apiserver_registry(w->server), "", "v1", "namespaces") : NULL;
    const struct store_object *o =
        k && ns ? store_get(store_table(apiserver_store(w->server), k->table), "", ns) : NULL;
    if (!o || !memmem(o->text.ptr, o->text.len, POD_SECURITY_PREFIX, strlen(POD_SECURITY_PREFIX)))
        return false;
    struct field_errors errors;
    field_errors_init(&errors, w->arena);
    struct json labels = json_get(object_read(k, w->arena, o), "metadata.labels");
    *ret = pod_policy_read(labels, &errors);
    return true;
}

static void warn_of(
    const struct api_write *w, struct pod_standard s, struct json meta, struct json spec)
{
    struct pod_verdict v = pod_standard_judge(w->arena, s, meta, spec);
    if (v.details && w->call)
        call_warn(w->call,
            arena_printf(w->arena,
                "would violate PodSecurity \"%s\": %s",
                pod_standard_text(w->arena, s),
                v.details));
}

void pod_security_warn(const struct api_write *w, struct json object, struct json tmpl)
{
    struct pod_policy p;
    if (json_present(tmpl) && read_policy(w, object, &p))
        warn_of(w, p.warn, json_member(tmpl, "metadata"), json_member(tmpl, "spec"));
}

/* ---- pods ---- */

static bool has_other_images(struct json old, struct json fresh)
{
    if (old.count != fresh.count)
        return true;
    for (size_t i = 0; i < fresh.count; i++)
        if (!json_equal(json_member(old.items[i], "image"), json_member(fresh.items[i], "image")))
            return true;
    return false;
}

/* The standards do not cover the other mutable fields of a pod. */
static bool matters(struct json old, struct json fresh)
{
    struct json had = json_member(old, "ephemeralContainers");
    if (has_other_images(json_member(old, "containers"), json_member(fresh, "containers")) ||
        has_other_images(json_member(old, "initContainers"), json_member(fresh, "initContainers")))
        return true;
    json_each (c, json_member(fresh, "ephemeralContainers")) {
        struct json was = json_find(had, "name", json_get_text(*c, "name"));
        if (!json_present(was) || !json_equal(json_member(was, "image"), json_member(*c, "image")))
            return true;
    }
    return false;
}

bool pod_security_admit(const struct api_write *w, struct json pod, struct error *err)
{
    struct arena *a = w->arena;
    struct json meta = json_member(pod, "metadata"), spec = json_member(pod, "spec");
    struct pod_policy p;
    (void)err;
    if (text_eq(w->subresource, "status") || !read_policy(w, pod, &p) ||
        (json_present(w->old) && !matters(json_member(w->old, "spec"), spec)))
        return true;
    struct pod_verdict v = pod_standard_judge(a, p.enforce, meta, spec);
    if (v.details)
        return call_fail(w->call,
            status_forbidden(a,
                w->kind,
                json_get_text(meta, "name"),
                arena_printf(a,
                    "violates PodSecurity \"%s\": %s",
                    pod_standard_text(a, p.enforce),
                    v.details)));
    warn_of(w, p.warn, meta, spec);
    return true;
}

/* ---- namespaces ---- */

struct group { /* pods with the same violations */
    const char *reasons;
    const char *name; /* of the first pod */
    size_t count;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_to_group(struct group *groups, size_t *count, struct group fresh)
{
    for (size_t i = 0; i < *count; i++)
        if (text_eq(groups[i].reasons, fresh.reasons)) {
            groups[i].count++; /* the table is sorted by name */
            return;
        }
    groups[(*count)++] = fresh;
}

static void warn_groups(const struct api_write *w, const struct group *groups, size_t count)
{
    struct arena *a = w->arena;
    const char **lines = arena_array(a, count, sizeof(*lines));
    for (size_t i = 0; i < count; i++) {
        size_t others = groups[i].count - 1;
        const char *more =
            !others ? ""
                    : arena_printf(a, " (and %zu other pod%s)", others, others == 1 ? "" : "s");
        lines[i] = arena_printf(a, "%s%s: %s", groups[i].name, more, groups[i].reasons);
    }
    qsort(lines, count, sizeof(*lines), by_text);
    for (size_t i = 0; i < count; i++)
        call_warn(w->call, lines[i]);
}

static void warn_pods(const struct api_write *w, const char *ns, struct pod_standard s)
{
    struct arena *a = w->arena;
    const struct api_kind *k = registry_find(apiserver_registry(w->server), "", "v1", "pods");
    const struct store_table *table = store_table(apiserver_store(w->server), k->table);
    struct store_cursor cursor = { .ns = ns };
    struct group *groups = arena_array(a, PODS_MAX, sizeof(*groups));
    size_t count = 0, all = 0;
    const struct store_object *o;
    while ((o = store_next(table, &cursor))) {
        if (all++ >= PODS_MAX)
            continue;
        cleanup(arena_done) struct arena scratch = ARENA_INIT;
        struct json pod = object_read(k, &scratch, o), meta = json_member(pod, "metadata");
        struct pod_verdict v = pod_standard_judge(&scratch, s, meta, json_member(pod, "spec"));
        if (v.reasons)
            add_to_group(groups,
                &count,
                (struct group){
                    arena_strdup(a, v.reasons), arena_strdup(a, json_get_text(meta, "name")), 1 });
    }
    if (all > PODS_MAX)
        call_warn(w->call,
            arena_printf(a,
                "new PodSecurity enforce level only checked against the first %d of %zu existing "
                "pods",
                PODS_MAX,
                all));
    if (!count)
        return;
    call_warn(w->call,
        arena_printf(a,
            "existing pods in namespace \"%s\" violate the new PodSecurity enforce level \"%s\"",
            ns,
            pod_standard_text(a, s)));
    warn_groups(w, groups, count);
}

/* Existing violations are ignored. */
static bool is_same(const struct field_errors *old, const struct field_errors *fresh)
{
    return text_eq(field_errors_text(old), field_errors_text(fresh));
}

bool pod_security_admit_namespace(const struct api_write *w, struct json ns, struct error *err)
{
    struct field_errors errors, old_errors;
    const char *name = json_get_text(ns, "metadata.name");
    struct json labels = json_get(ns, "metadata.labels"),
                old_labels = json_get(w->old, "metadata.labels");
    (void)err;
    if (*w->subresource || (json_present(w->old) && json_equal(labels, old_labels)))
        return true;
    field_errors_init(&errors, w->arena);
    field_errors_init(&old_errors, w->arena);
    struct pod_standard old = pod_policy_read(old_labels, &old_errors).enforce,
                        fresh = pod_policy_read(labels, &errors).enforce;
    if (errors.count && (!json_present(w->old) || !is_same(&old_errors, &errors)))
        return call_fail(w->call, status_invalid(w->arena, "", "Namespace", name, &errors));
    if (json_present(w->old) && w->server && fresh.level != POD_PRIVILEGED &&
        (fresh.minor != old.minor || fresh.level > old.level))
        warn_pods(w, name, fresh);
    return true;
}
