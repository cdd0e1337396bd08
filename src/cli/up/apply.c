#include "cli/up/apply.h"

#include "base/str.h"
#include "cli/apply.h"
#include "cli/embedded.h"
#include "cli/up/stale.h"

#define CRDS_LABEL "leeboard.dev/made-from"
#define INSTALL_MS 5000 /* until the kind of a CRD among the manifests is served */

/* Objects that others depend on come first, in any file. */
static bool is_ground(struct json object)
{
    const char *kind = json_get_text(object, "kind");
    return text_eq(kind, "CustomResourceDefinition") || text_eq(kind, "Namespace");
}

static bool apply_all(struct ask *q, struct json objects, bool ground, struct error *err)
{
    struct apply_target target;
    const char *outcome;
    json_each (object, objects)
        if (is_ground(*object) == ground && !apply_object(q, *object, &target, &outcome, err)) {
            apply_name_error(*object, err);
            return false;
        }
    return true;
}

/* Parsing and checking our CRDs would be the slowest part of a start, so they have a label with the
 * digest of their source, and are skipped if it is unchanged. */
static bool apply_crds(struct ask *q, struct error *err)
{
    struct arena *a = &q->cli->arena;
    const char *digest = embedded_crds_digest(a);
    struct ask_request request = {
        .method = "GET",
        .path = arena_printf(a,
            "%s?labelSelector=" CRDS_LABEL "%%3D%s",
            resource_path(a, &RESOURCE_CRD, NULL, NULL, NULL),
            digest),
        .accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
    };
    int status;
    struct json there;
    if (!ask(q, &request, &status, &there, err))
        return false;
    size_t count = 0;
    while (embedded_crd_texts[count])
        count++;
    if (json_get(there, "items").count == count)
        return true;
    struct json label = json_map(a, { CRDS_LABEL, json_str(digest) });
    struct json_builder crds;
    json_builder_init(&crds, a);
    json_each (crd, embedded_crds(a)) {
        struct json labels = json_overlay(a, json_get(*crd, "metadata.labels"), label);
        json_push(&crds, json_with(a, *crd, "metadata.labels", labels));
    }
    return apply_all(q, json_list_end(&crds), true, err);
}

/* Manifests for NVIDIA's GPUs name this class; a local process needs none to use the devices. */
static struct json runtime_classes(struct arena *a)
{
    return json_list(a,
        json_fields(a,
            { "apiVersion", json_str("node.k8s.io/v1") },
            { "kind", json_str("RuntimeClass") },
            { "metadata.name", json_str("nvidia") },
            { "handler", json_str("nvidia") }));
}

bool up_apply(struct ask *q, const char *folder, struct inputs *in, struct error *err)
{
    struct json objects = inputs_list(in);
    if (!up_stale_settle(q, folder, err) || !apply_crds(q, err) ||
        !apply_all(q, embedded_priority_classes(&q->cli->arena), false, err) ||
        !apply_all(q, runtime_classes(&q->cli->arena), false, err))
        return false;
    q->install_ms = INSTALL_MS;
    if (!apply_check(q, in, err))
        return false;
    return apply_all(q, objects, true, err) && apply_all(q, objects, false, err);
}
