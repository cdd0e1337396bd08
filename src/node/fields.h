#pragma once

/* The downward API, and the environment of containers. */

#include "base/json.h"

struct objects;

/* The inputs for resolving a field. */
struct pod_view {
    struct json pod;
    const struct objects *objects;
    const char *pod_ip, *host_ip, *node_name;
    struct json allocatable; /* of the node: the limit of containers that have none */
    struct json tokens;      /* audience to service account token */
};

/* fieldRef.fieldPath. Fails if the path is unknown. */
bool fields_get(struct arena *a, const struct pod_view *v, const char *path, const char **ret,
    struct error *err) must_check;
/* resourceFieldRef; `container` is the default if the reference names none. */
bool fields_resource(struct arena *a, const struct pod_view *v, struct json ref,
    struct json container, const char **ret, struct error *err) must_check;

/* Secret data as stored: base64. */
bool fields_secret_value(struct arena *a, struct json encoded, struct str *ret) must_check;

/* The environment of a container as a map of strings: `under` first, then envFrom, then env, with
 * $(NAME) expanded. A source that is missing and not optional fails with the kubelet's message. */
bool fields_env(struct arena *a, const struct pod_view *v, struct json container, struct json under,
    struct json *ret, struct error *err) must_check;
/* Replaces $(NAME) from a map of strings. $$ becomes $, and an unknown name is left unchanged. */
const char *fields_expand(struct arena *a, const char *text, struct json variables);
struct json fields_expand_list(struct arena *a, struct json texts, struct json variables);
