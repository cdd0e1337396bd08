#pragma once

/* What is valid and not good: warnings of the built-in kinds, in the words of the API server. */

#include "apiserver/registry.h"

void warn_pod(const struct api_write *w, struct json object);
/* Deployments, ReplicaSets, ReplicationControllers and Jobs: their names become names of Pods. */
void warn_workload(const struct api_write *w, struct json object);
/* DaemonSets and StatefulSets: the template alone. */
void warn_template(const struct api_write *w, struct json object);
void warn_job(const struct api_write *w, struct json object);
void warn_cron_job(const struct api_write *w, struct json object);
void warn_service(const struct api_write *w, struct json object);
void warn_claim(const struct api_write *w, struct json object);
void warn_volume(const struct api_write *w, struct json object);
void warn_ingress(const struct api_write *w, struct json object);
void warn_node(const struct api_write *w, struct json object);
