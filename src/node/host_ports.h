#pragma once

/* Host ports of pods and whether they are free. The proxy (proxy/proxy.h) forwards connections to
 * the pod; a pod with hostNetwork listens on the port itself. */

#include "base/json.h"

/* The scheduler's message if another pod has one of the same host ports; NULL: no conflict. */
const char *host_ports_clash(struct arena *a, struct json pod, struct json other);
/* The same, if another program on this machine uses a port or this process may not open it. */
const char *host_ports_taken(struct arena *a, struct json pod, const char *host_ip);
/* The host ports that are not forwarded, "containers[x].ports[y].hostPort, …". `none`: no port is
 * forwarded; otherwise all but TCP ports. NULL: the list is empty. */
const char *host_ports_idle(struct arena *a, struct json pod, bool none);
