#pragma once

/* The objects that every cluster has from the start: namespaces, the system's roles and bindings,
 * the Service `kubernetes`, priority classes. */

#include "base/json.h"

/* service_cidr: its first address belongs to the Service `kubernetes`. Returns whole objects with
 * apiVersion and kind, in the order in which to create them; existing ones are kept. */
struct json bootstrap_objects(struct arena *a, const char *service_cidr);
/* The Service `kubernetes` and its endpoints, which point to this server. */
struct json bootstrap_endpoint(
    struct arena *a, const char *service_cidr, const char *address, uint16_t port);
/* The objects of a new namespace: the ServiceAccount `default` and the ConfigMap kube-root-ca.crt
 * (ca is PEM; .ptr NULL: none). */
struct json bootstrap_namespace_objects(struct arena *a, const char *ns, struct str ca);
