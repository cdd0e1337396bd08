#pragma once

/* Host ports of pods: whether they are free. Who connects to one is led to the pod by the proxy
 * (proxy/proxy.h); a pod in the host's network listens itself. */

#include "base/json.h"

/* Why a pod cannot have a host port because another one has it, in the scheduler's words; NULL: it
 * can. */
const char *host_ports_clash(struct arena *a, struct json pod, struct json other);
/* … because some program of this machine listens there, or we may not. */
const char *host_ports_taken(struct arena *a, struct json pod, const char *host_ip);
/* Those that nobody forwards, "containers[x].ports[y].hostPort, …": `none`: of all protocols, else
 * of those that are not TCP. NULL: there are none. */
const char *host_ports_idle(struct arena *a, struct json pod, bool none);
