#pragma once

/* What every cluster has from its beginning: namespaces, the roles and bindings of the system, the
 * Service `kubernetes`, priority classes. */

#include "base/json.h"

/* service_cidr: its first address is the Service kubernetes'.
 * Whole objects with apiVersion and kind, in the order in which they are to be made; each is
 * created if it is not there. */
struct json bootstrap_objects(struct arena *a, const char *service_cidr);
/* The Service `kubernetes` and its endpoints, which lead to the server itself. */
struct json bootstrap_endpoint(
    struct arena *a, const char *service_cidr, const char *address, uint16_t port);
/* What a new namespace is given: its ServiceAccount `default` and the ConfigMap kube-root-ca.crt
 * (ca PEM; .ptr NULL: none). */
struct json bootstrap_namespace_objects(struct arena *a, const char *ns, struct str ca);
