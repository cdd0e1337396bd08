#pragma once

/* The volumes of a pod as directories and files of the machine.
 *
 *   POD/volumes/NAME          emptyDir, configMap, secret, projected, downwardAPI
 *   anywhere else             hostPath, and a claim whose volume is a directory (hostPath, local)
 *
 * Files and directories have the owner, group and mode that a kubelet gives them. A claim that we
 * provide belongs to the user of the first pod that has it.
 *
 * Files that come from objects are swapped all at once, as the kubelet does it: the names are links
 * into ..data, which is a link to a directory of one state. */

#include "node/fields.h"
#include "node/root.h"

struct resource;

extern const struct resource NODE_PERSISTENT_VOLUME;

/* Whose a pod's volumes are, as a kubelet decides it. Without root everything is ours: both unset.
 */
struct volumes_owner {
    bool has_user, has_group;
    uint32_t user;  /* that of all containers, where they have the same */
    uint32_t group; /* spec.securityContext.fsGroup */
};
struct volumes_owner volumes_owner(struct json pod);

/* Makes what is not there and brings what changed up to date. ret: volume name to place, a map of
 * texts. Fails with the kubelet's words for what is missing; with ERR_BUSY and *ret_audience if a
 * token is needed that is not in v->tokens. */
bool volumes_prepare(struct arena *a, const struct pod_view *v, const char *pod_directory,
    struct json *ret, const char **ret_audience, struct error *err) must_check;

/* What a container has mounted, parents before children. env: for subPathExpr. more: files of the
 * node's own, ended by one without a place; those that lie in a volume are left out. */
bool volumes_mounts(struct arena *a, struct json container, struct json places, struct json env,
    const struct root_mount *more, const struct root_mount **ret, size_t *ret_count,
    struct error *err) must_check;
