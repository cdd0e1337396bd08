#pragma once

/* The volumes of a pod as directories and files of the machine.
 *
 *   POD/volumes/NAME          emptyDir, configMap, secret, projected, downwardAPI
 *   anywhere else             hostPath, and a claim whose volume is a directory (hostPath, local)
 *
 * Files and directories have the owner, group and mode that a kubelet gives them. A claim that this
 * node provisions belongs to the user of the first pod that mounts it.
 *
 * Files from objects are replaced all at once, as the kubelet does it: their names are links into
 * ..data, which is a link to a directory with one state. */

#include "node/fields.h"
#include "node/root.h"

struct resource;

extern const struct resource NODE_PERSISTENT_VOLUME;

/* The owner of a pod's volumes, by the kubelet's rules. Without root both are unset. */
struct volumes_owner {
    bool has_user, has_group;
    uint32_t user;  /* of all containers, if they have the same one */
    uint32_t group; /* spec.securityContext.fsGroup */
};
struct volumes_owner volumes_owner(struct json pod);

/* Creates missing volumes and updates changed ones. ret: a map of volume name to path. Fails with
 * the kubelet's message if an object is missing; with ERR_BUSY and *ret_audience if it needs a
 * token that is not in v->tokens. */
bool volumes_prepare(struct arena *a, const struct pod_view *v, const char *pod_directory,
    struct json *ret, const char **ret_audience, struct error *err) must_check;

/* The mounts of a container, parents before children. env: for subPathExpr. more: the node's own
 * files, ended by an empty entry; those whose path is in a volume are skipped. */
bool volumes_mounts(struct arena *a, struct json container, struct json places, struct json env,
    const struct root_mount *more, const struct root_mount **ret, size_t *ret_count,
    struct error *err) must_check;
