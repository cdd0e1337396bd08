#pragma once

/* What is valid and not good: warnings of the built-in kinds, in the words of the API server. */

#include "apiserver/core/registry.h"

/* Where a storage class stood before there was a field for it. */
#define STORAGE_CLASS_ANNOTATION "volume.beta.kubernetes.io/storage-class"

void warn_pod(const struct api_write *w, struct json object);
void warn_pod_template(const struct api_write *w, struct json object);
/* The part that all of them share; path is that of the spec. */
void warn_pod_spec(const struct api_write *w, struct json spec, const char *path);
/* Its volumes; path is theirs. */
/* Of a volume of a pod, or of a PersistentVolume's spec. */
void warn_volumes(const struct api_write *w, struct json volumes, const char *path);
/* A number of bytes that is none: amounts[what]. */
void warn_fraction(
    const struct api_write *w, struct json amounts, const char *path, const char *what);
/* Deployments, ReplicaSets, ReplicationControllers and Jobs: their names become names of Pods. */
void warn_workload(const struct api_write *w, struct json object);
/* DaemonSets and StatefulSets: the template alone. */
void warn_template(const struct api_write *w, struct json object);
void warn_job(const struct api_write *w, struct json object);
void warn_cron_job(const struct api_write *w, struct json object);
void warn_service(const struct api_write *w, struct json object);
void warn_claim(const struct api_write *w, struct json object);
void warn_volume(const struct api_write *w, struct json object);
void warn_endpoint_slice(const struct api_write *w, struct json object);
void warn_ingress(const struct api_write *w, struct json object);
void warn_node(const struct api_write *w, struct json object);
