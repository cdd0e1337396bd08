#pragma once

/* The manifests for admission webhooks, without the caBundle, which the operator sets. */

#include "base/json.h"

/* The list `webhooks` of a configuration. service: the Service of the webhooks, in namespace ns.
 * watched: names of the watched namespaces; absent: all. */
struct json webhook_manifests_list(
    struct arena *a, bool mutating, const char *ns, const char *service, struct json watched);
/* Rules for the operator: its Secret in its namespace, and the configurations. */
struct json webhook_manifests_secret_rules(struct arena *a, const char *secret);
struct json webhook_manifests_rules(struct arena *a, const char *name);
