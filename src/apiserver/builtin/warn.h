#pragma once

/* Warnings about valid but inadvisable objects of built-in kinds, worded as by the API server. */

#include "apiserver/core/registry.h"

/* The predecessor of the field for the storage class. */
#define STORAGE_CLASS_ANNOTATION "volume.beta.kubernetes.io/storage-class"

void warn_pod(const struct api_write *w, struct json object);
void warn_pod_template(const struct api_write *w, struct json object);
/* What all pod specs share; path is that of the spec. */
void warn_pod_spec(const struct api_write *w, struct json spec, const char *path);
/* Its volumes; path is that of the list. */
/* For a volume of a pod, or of a PersistentVolume's spec. */
void warn_volumes(const struct api_write *w, struct json volumes, const char *path);
/* Warns about amounts[what] if it is not a whole number of bytes. */
void warn_fraction(
    const struct api_write *w, struct json amounts, const char *path, const char *what);
/* Deployments, ReplicaSets, ReplicationControllers and Jobs: their names are used for the names of
 * Pods. */
void warn_workload(const struct api_write *w, struct json object);
/* DaemonSets and StatefulSets: only the template. */
void warn_template(const struct api_write *w, struct json object);
void warn_job(const struct api_write *w, struct json object);
void warn_cron_job(const struct api_write *w, struct json object);
void warn_service(const struct api_write *w, struct json object);
void warn_claim(const struct api_write *w, struct json object);
void warn_volume(const struct api_write *w, struct json object);
void warn_endpoint_slice(const struct api_write *w, struct json object);
void warn_ingress(const struct api_write *w, struct json object);
void warn_node(const struct api_write *w, struct json object);
