/* The fields that an endpoint ignores. */

#include "merge/apply.h"

const struct fieldset *apply_reset_fields(
    struct arena *a, const char *group, const char *kind, const char *subresource, bool custom)
{
    /* Endpoints for a status may also write metadata, except for these. */
    static const struct {
        const char *group, *kind, *path;
    } more[] = {
        { "", "Pod", "metadata.deletionTimestamp" },
        { "", "Pod", "metadata.ownerReferences" },
        { "admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "metadata" },
        { "apiextensions.k8s.io", "CustomResourceDefinition", "metadata" },
        { "apps", "Deployment", "metadata.labels" },
        { "flowcontrol.apiserver.k8s.io", "FlowSchema", "metadata" },
        { "flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration", "metadata" },
        { "networking.k8s.io", "ServiceCIDR", "metadata" },
        { "resource.k8s.io", "ResourceClaim", "metadata" },
        { "storage.k8s.io", "VolumeAttachment", "metadata" },
    };
    const char *paths[4];
    size_t count = 0;
    bool request = text_eq(kind, "CertificateSigningRequest") && !custom;
    if (text_eq(subresource, "status")) {
        paths[count++] = "spec";
        if (custom)
            paths[count++] = "metadata";
        for (size_t i = 0; i < lengthof(more); i++)
            if (text_eq(more[i].group, group) && text_eq(more[i].kind, kind))
                paths[count++] = more[i].path;
    } else if (text_empty(subresource)) {
        paths[count++] = "status";
        if (request) /* the spec is immutable after the creation */
            paths[count++] = "spec";
    } else if (request) { /* its approval */
        paths[count++] = "spec";
        paths[count++] = "status.certificate";
    }
    return count ? fieldset_of_texts(a, paths, count) : NULL;
}
