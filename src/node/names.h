#pragma once

/* What pods know of Services by name: variables, and /etc/hosts. There is no DNS server: each pod
 * has a hosts file of its own, kept true while it runs. */

#include "node/fields.h"

struct buf;

/* NAME_SERVICE_HOST and all that as the kubelet makes it: for Services of the namespace (links:
 * spec.enableServiceLinks), and always for the API server, with the address that it listens on. */
struct json names_env(struct arena *a, const struct objects *objects, const char *ns, bool links);
/* Lines for /etc/hosts: NAME.NAMESPACE, NAME.NAMESPACE.svc, NAME.NAMESPACE.svc.cluster.local, and
 * NAME in this namespace (NULL: none). Of headless Services the endpoints, and HOSTNAME.NAME… of
 * those that have one. */
void names_hosts(struct buf *b, const struct objects *objects, const char *ns);
/* The whole hosts file of a pod: its own name, its hostAliases, Services, what the machine has. */
const char *names_hosts_file(struct arena *a, const struct pod_view *v);
/* In place, because it is bound into containers; nothing if it has that text already. */
bool names_hosts_write(const char *path, const char *text, struct error *err) must_check;
