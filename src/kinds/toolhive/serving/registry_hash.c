/* Upstream's hashes of a registry: FNV-1a over Go's debug format of the spec. They are in the pod
 * template, so with equal hashes the pods keep running when this operator takes over. */

#include "base/buf.h"
#include "kinds/toolhive/serving/registry.h"
#include "merge/gojson.h"

#define TEXT_BYTES_MAX ((size_t)8 << 20)

static const char *fnv(struct arena *a, struct buf *b)
{
    uint32_t h = 0x811c9dc5;
    const char *text = buf_text(b);
    for (size_t i = 0; i < b->len; i++)
        h = (h ^ (uint8_t)text[i]) * 0x01000193;
    buf_done(b);
    return arena_printf(a, "%x", h);
}

static void add_bytes(struct buf *b, const char *text)
{
    buf_add_text(b, "([]uint8)[");
    for (const char *c = text; *c; c++)
        buf_printf(b, "%s%u", c == text ? "" : " ", (uint8_t)*c);
    buf_add_text(b, "]");
}

/* A list of raw JSON: the field's name, its type, {Raw:…} for each item. */
static void add_raw_list(struct buf *b, struct arena *a, const char *name, struct json list)
{
    buf_printf(b, " %s:([]v1.JSON)", name);
    if (!json_present(list)) {
        buf_add_text(b, "<nil>");
        return;
    }
    bool first = true;
    buf_add_text(b, "[");
    json_each (item, list) {
        buf_add_text(b, first ? "{Raw:" : " {Raw:");
        add_bytes(b, gojson_text(a, *item));
        buf_add_text(b, "}");
        first = false;
    }
    buf_add_text(b, "]");
}

static void add_secret(struct buf *b, struct json ref)
{
    struct json optional = json_get(ref, "optional");
    buf_add_text(b, " PGPassSecretRef:(*v1.SecretKeySelector)");
    if (!json_present(ref)) {
        buf_add_text(b, "<nil>");
        return;
    }
    buf_printf(b,
        "{LocalObjectReference:(v1.LocalObjectReference){Name:(string)%s} Key:(string)%s "
        "Optional:(*bool)%s}",
        toolhive_text(ref, "name", ""),
        toolhive_text(ref, "key", ""),
        !json_present(optional) ? "<nil>"
        : optional.boolean      ? "true"
                                : "false");
}

static void add_pull_secrets(struct buf *b, struct json list)
{
    buf_add_text(b, " ImagePullSecrets:([]v1.LocalObjectReference)");
    if (!json_present(list)) {
        buf_add_text(b, "<nil>");
        return;
    }
    bool first = true;
    buf_add_text(b, "[");
    json_each (item, list) {
        buf_printf(b, "%s{Name:(string)%s}", first ? "" : " ", toolhive_text(*item, "name", ""));
        first = false;
    }
    buf_add_text(b, "]");
}

const char *registry_spec_hash(struct arena *a, struct json spec)
{
    struct buf b = BUF_INIT(TEXT_BYTES_MAX);
    struct json tmpl = json_get(spec, "podTemplateSpec");
    buf_add_text(&b, "(v1beta1.MCPRegistrySpec){ConfigYAML:(string)");
    buf_add_text(&b, toolhive_text(spec, "configYAML", ""));
    add_raw_list(&b, a, "Volumes", json_get(spec, "volumes"));
    add_raw_list(&b, a, "VolumeMounts", json_get(spec, "volumeMounts"));
    add_secret(&b, json_get(spec, "pgpassSecretRef"));
    buf_printf(&b, " DisplayName:(string)%s", toolhive_text(spec, "displayName", ""));
    buf_add_text(&b, " PodTemplateSpec:(*runtime.RawExtension)");
    if (json_present(tmpl)) {
        buf_add_text(&b, "{Raw:");
        add_bytes(&b, gojson_text(a, tmpl));
        buf_add_text(&b, " Object:(runtime.Object)<nil>}");
    } else {
        buf_add_text(&b, "<nil>");
    }
    add_pull_secrets(&b, json_get(spec, "imagePullSecrets"));
    buf_add_text(&b, "}");
    return fnv(a, &b);
}

const char *registry_content_hash(struct arena *a, const char *text)
{
    struct buf b = BUF_INIT(TEXT_BYTES_MAX);
    add_bytes(&b, text);
    return fnv(a, &b);
}
