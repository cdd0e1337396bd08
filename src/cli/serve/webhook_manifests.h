#pragma once

/* What an installation needs for admission webhooks, without the caBundle: that is the operator's.
 */

#include "base/json.h"

/* The list `webhooks` of a configuration. service: what they are behind, in namespace ns. watched:
 * names of the namespaces that are worked in; absent: all. */
struct json webhook_manifests_list(
    struct arena *a, bool mutating, const char *ns, const char *service, struct json watched);
/* Rules for the operator: its Secret, in its namespace; and the configurations. */
struct json webhook_manifests_secret_rules(struct arena *a, const char *secret);
struct json webhook_manifests_rules(struct arena *a, const char *name);
