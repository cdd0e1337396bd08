#include "apiserver/builtin/warn.h"

#include <stdarg.h>

#include "apiserver/builtin/pod/security_admit.h"
#include "apiserver/core/call.h"
#include "base/buf.h"
#include "base/names.h"
#include "base/quantity.h"

static void warn(const struct api_write *w, const char *format, ...) printf_like(2, 3);
static void warn(const struct api_write *w, const char *format, ...)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 10);
    va_list args;
    va_start(args, format);
    buf_vprintf(&b, format, args);
    va_end(args);
    call_warn(w->call, buf_text(&b));
}

static void warn_name(const struct api_write *w, struct json object, const char *use)
{
    const char *name = json_get_text(object, "metadata.name");
    bool is_long = name && strlen(name) > NAME_LABEL_MAX, dotted = name && strchr(name, '.');
    if (json_present(w->old) || (!is_long && !dotted))
        return;
    warn(w,
        "metadata.name: this is used in %s, which can result in surprising behavior; a DNS label "
        "is recommended: [%s%s%s]",
        use,
        is_long ? "must be no more than 63 characters" : "",
        is_long && dotted ? " " : "",
        dotted ? "must not contain dots" : "");
}

/* ---- pods and their templates ---- */

void warn_fraction(
    const struct api_write *w, struct json amounts, const char *path, const char *what)
{
    struct quantity q;
    const char *text = json_get_text(amounts, what);
    if (text && quantity_parse(str_of(text), &q, NULL) && quantity_milli_value(q) % 1000 != 0)
        warn(w,
            "%s[%s]: fractional byte value \"%s\" is invalid, must be an integer",
            path,
            what,
            text);
}

#define CRITICAL "scheduler.alpha.kubernetes.io/critical-pod"
#define APPARMOR "container.apparmor.security.beta.kubernetes.io/"

void warn_pod(const struct api_write *w, struct json object)
{
    if (json_present(w->old))
        return; /* no warnings for updates of pods, which come from programs */
    warn_name(w, object, "the Pod's hostname");
    json_each_member (m, json_get(object, "metadata.annotations")) {
        if (text_eq(m->key, CRITICAL))
            warn(w,
                "metadata.annotations[%s]: non-functional in v1.16+; use the \"priorityClassName\" "
                "field instead",
                m->key);
        if (text_starts(m->key, APPARMOR))
            warn(w,
                "metadata.annotations[%s]: deprecated since v1.30; use the \"appArmorProfile\" "
                "field instead",
                m->key);
    }
    warn_pod_spec(w, json_member(object, "spec"), "spec");
}

/* An update that does not change the spec gets no warnings about the template. */
static bool is_new(const struct api_write *w, struct json object)
{
    return !json_present(w->old) || json_get_int(w->old, "metadata.generation", 0) !=
                                        json_get_int(object, "metadata.generation", 0);
}

void warn_template(const struct api_write *w, struct json object)
{
    if (is_new(w, object))
        warn_pod_spec(w, json_get(object, "spec.template.spec"), "spec.template.spec");
    pod_security_warn(w, object, json_get(object, "spec.template"));
}

void warn_pod_template(const struct api_write *w, struct json object)
{
    if (is_new(w, object))
        warn_pod_spec(w, json_get(object, "template.spec"), "template.spec");
    pod_security_warn(w, object, json_member(object, "template"));
}

void warn_workload(const struct api_write *w, struct json object)
{
    warn_name(w, object, "Pod names and hostnames");
    warn_template(w, object);
}

void warn_job(const struct api_write *w, struct json object)
{
    struct json spec = json_member(object, "spec");
    warn_name(w, object, "Pod names and hostnames");
    if (is_new(w, object) && text_eq(json_get_text(spec, "completionMode"), "Indexed") &&
        json_get_int(spec, "completions", 0) > 100000 &&
        json_get_int(spec, "parallelism", 0) > 10000)
        warn(w,
            "spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism "
            "higher than 10^4, Kubernetes might not be able to track completedIndexes when a big "
            "number of indexes fail");
    warn_template(w, object);
}

void warn_cron_job(const struct api_write *w, struct json object)
{
    static const char path[] = "spec.jobTemplate.spec.template.spec";
    warn_name(w, object, "Pod names and hostnames");
    if (is_new(w, object))
        warn_pod_spec(w, json_get(object, path), path);
    pod_security_warn(w, object, json_get(object, "spec.jobTemplate.spec.template"));
}

/* ---- others ---- */

void warn_service(const struct api_write *w, struct json object)
{
    struct json spec = json_member(object, "spec");
    bool external = text_eq(json_get_text(spec, "type"), "ExternalName"),
         headless = text_eq(json_get_text(spec, "clusterIP"), "None");
    if (json_member(spec, "externalIPs").count)
        warn(w,
            "%s",
            external   ? "spec.externalIPs is ignored when spec.type is \"ExternalName\""
            : headless ? "spec.externalIPs is ignored for headless services"
                       : "spec.externalIPs is deprecated and may no longer be implemented in some "
                         "clusters");
    if (!external && !text_empty(json_get_text(spec, "externalName")))
        warn(w, "spec.externalName is ignored when spec.type is not \"ExternalName\"");
    if (text_eq(json_get_text(spec, "trafficDistribution"), "PreferClose"))
        warn(w, "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"");
    if (!external && text_eq(json_get_text(spec, "clusterIP"), "None") &&
        text_eq(json_get_text(spec, "sessionAffinity"), "ClientIP"))
        warn(w, "spec.SessionAffinity is ignored for headless services");
}

static void warn_class(const struct api_write *w, struct json object)
{
    struct json annotations = json_get(object, "metadata.annotations");
    if (json_present(json_member(annotations, STORAGE_CLASS_ANNOTATION)))
        warn(w,
            "metadata.annotations[" STORAGE_CLASS_ANNOTATION
            "]: deprecated since v1.8; use \"storageClassName\" attribute instead");
}

void warn_claim(const struct api_write *w, struct json object)
{
    warn_class(w, object);
    warn_fraction(
        w, json_get(object, "spec.resources.requests"), "spec.resources.requests", "storage");
}

void warn_volume(const struct api_write *w, struct json object)
{
    warn_class(w, object);
    if (text_eq(json_get_text(object, "spec.persistentVolumeReclaimPolicy"), "Recycle"))
        warn(w,
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. "
            "Instead, the recommended approach is to use dynamic provisioning.");
}

void warn_endpoint_slice(const struct api_write *w, struct json object)
{
    if (!json_present(w->old) && text_eq(json_get_text(object, "addressType"), "FQDN"))
        warn(w, "spec.addressType: FQDN endpoints are deprecated");
}

void warn_ingress(const struct api_write *w, struct json object)
{
    static const char old[] = "kubernetes.io/ingress.class";
    if (!json_present(w->old) &&
        json_present(json_member(json_get(object, "metadata.annotations"), old)))
        warn(w, "annotation \"%s\" is deprecated, please use 'spec.ingressClassName' instead", old);
}

void warn_node(const struct api_write *w, struct json object)
{
    if (!text_empty(json_get_text(object, "spec.externalID")))
        warn(w, "spec.externalID: this field is deprecated, and is unused by Kubernetes");
}
