#pragma once

/* Role-based access control: what the roles and bindings in the store allow.
 *
 * They are read once and kept until one of them changes. Rules stay JSON; a query walks the
 * bindings that name the user. */

#include "apiserver/access/auth.h"
#include "apiserver/store/store.h"

struct rbac;

struct rbac *rbac_new(struct apiserver *s);
void rbac_free(struct rbac *r);

/* *ret_reason: the binding that allows it; if there is none, the errors of bindings that might
 * have, or "". */
bool rbac_allows(struct rbac *r, struct arena *a, const struct api_user *user,
    const struct auth_request *request, const char **ret_reason);
/* All rules of a user, cluster-wide and in a namespace ("" for none), as a list. */
struct json rbac_rules_of(
    struct rbac *r, struct arena *a, const struct api_user *user, const char *ns);
/* The rules that a binding in this namespace ("" for a ClusterRoleBinding) refers to; false: the
 * role does not exist. */
bool rbac_rules_of_ref(struct rbac *r, struct arena *a, const char *ns, struct json role_ref,
    struct json *ret) must_check;
/* The rules of all roles that a ClusterRole's aggregationRule selects. */
struct json rbac_aggregate(struct rbac *r, struct arena *a, struct json cluster_role);

/* Whether a rule allows a request. */
bool rbac_rule_allows(struct json rule, const struct auth_request *request);
/* The rights in `wanted` that are not in `held`: a list of texts in the API server's format; NULL:
 * none is missing. */
const char *rbac_missing(struct arena *a, struct json held, struct json wanted);
