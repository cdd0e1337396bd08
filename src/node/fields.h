#pragma once

/* What a pod says about itself (the downward API), and what its containers get as environment. */

#include "base/json.h"

struct objects;

/* What resolving looks at. */
struct pod_view {
    struct json pod;
    const struct objects *objects;
    const char *pod_ip, *host_ip, *node_name;
    struct json allocatable; /* of the node: what a container without limits may use */
    struct json tokens;      /* audience to token of its service account */
};

/* fieldRef.fieldPath. Fails on one that there is not. */
bool fields_get(struct arena *a, const struct pod_view *v, const char *path, const char **ret,
    struct error *err) must_check;
/* resourceFieldRef; container is used where the reference names none. */
bool fields_resource(struct arena *a, const struct pod_view *v, struct json ref,
    struct json container, const char **ret, struct error *err) must_check;

/* Secret data as it is stored: bytes in base64. */
bool fields_secret_value(struct arena *a, struct json encoded, struct str *ret) must_check;

/* The environment of a container as a map of texts: `under` first, then envFrom, then env, with
 * $(NAME) expanded. A source that is missing and not optional fails with the kubelet's words. */
bool fields_env(struct arena *a, const struct pod_view *v, struct json container, struct json under,
    struct json *ret, struct error *err) must_check;
/* $(NAME) by a map of texts; $$ is $, and a name that is not there stays as it is. */
const char *fields_expand(struct arena *a, const char *text, struct json variables);
struct json fields_expand_list(struct arena *a, struct json texts, struct json variables);
