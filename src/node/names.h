#pragma once

/* How pods find Services by name: environment variables and /etc/hosts. There is no DNS server.
 * Each pod has its own hosts file, which is updated while it runs. */

#include "node/fields.h"

struct buf;

/* NAME_SERVICE_HOST and its relatives, as the kubelet sets them: for Services of the namespace
 * (links: spec.enableServiceLinks), and always for the API server, with its real address. */
struct json names_env(struct arena *a, const struct objects *objects, const char *ns, bool links);
/* Lines for /etc/hosts: NAME.NAMESPACE, NAME.NAMESPACE.svc, NAME.NAMESPACE.svc.cluster.local, and
 * NAME in this namespace (NULL: none). A headless Service has its endpoints' addresses, and
 * HOSTNAME.NAME… for endpoints with a hostname. */
void names_hosts(struct buf *b, const struct objects *objects, const char *ns);
/* The complete hosts file of a pod: its own name, its hostAliases, Services, the machine's
 * entries. */
const char *names_hosts_file(struct arena *a, const struct pod_view *v);
/* Writes in place, because the file is bind-mounted. Does nothing if the text is unchanged. */
bool names_hosts_write(const char *path, const char *text, struct error *err) must_check;
