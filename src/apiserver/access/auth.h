#pragma once

/* Who asks, and whether they may.
 *
 *   credentials ──auth_authenticate──> user ──auth_impersonate──> user ──auth_allows──> yes or no
 *
 * The first two are the host's (HTTP headers and TLS are not known here); the last is asked by the
 * server for every request. Rules are RBAC's, read from the store and kept compiled until a role or
 * a binding changes. Members of system:masters may do everything. */

#include "apiserver/core/answer.h"
#include "apiserver/core/server.h"

struct auth;

struct auth_static_token {
    const char *token;
    struct api_user user;
};

struct auth *auth_new(struct apiserver *s, const struct apiserver_options *options);
void auth_free(struct auth *auth);
/* Borrowed; ends with an entry without a token. */
void auth_set_static_tokens(struct auth *auth, const struct auth_static_token *tokens);

/* ---- who ---- */

struct auth_credentials {
    struct str bearer;                /* of Authorization; .ptr NULL: none */
    const char *common_name;          /* of a verified client certificate; NULL: none */
    const char *const *organizations; /* its O's */
    struct str certificate_der;       /* for its fingerprint; may be empty */
};

/* Credentials that are not good fail (401, see auth_answer_unauthorized()); none at all is
 * system:anonymous. */
bool auth_authenticate(struct auth *auth, struct arena *a, const struct auth_credentials *c,
    struct api_user *ret, struct error *err) must_check;

struct auth_request;

/* Impersonate-User, -Group, -Uid and -Extra-… of a request (see api_request), if the user may do
 * that for this request. False: *ret_answer says why not. Without such headers *ret is the user. */
bool auth_impersonate(struct auth *auth, struct arena *a, const struct api_user *user,
    const struct api_header *headers, const struct auth_request *r, struct api_user *ret,
    struct api_answer *ret_answer) must_check;

/* ---- whether ---- */

struct auth_request {
    const char *verb; /* get list watch create update patch delete deletecollection, or HTTP's in
                       * lower case if path is given */
    const char *path; /* of what is no resource: "/healthz"; NULL: a resource */
    const char *group, *version, *resource, *subresource, *ns, *name; /* "" where none */
};

/* *ret_reason (may be NULL): which binding allows it; or what is wrong with one that might; or "".
 */
bool auth_allows(struct auth *auth, struct arena *a, const struct api_user *user,
    const struct auth_request *r, const char **ret_reason);
/* The 403 for it, worded as the API server words it; the 401. */
void auth_answer_forbidden(struct arena *a, const struct api_user *user,
    const struct auth_request *r, const char *reason, struct api_answer *ret);
void auth_answer_unauthorized(struct arena *a, struct api_answer *ret);

/* Whether the writer of a role or binding (create, update, patch; old and new state) has all the
 * rights that it gives, or may `escalate` or `bind`. Call it after validation. False: *ret_answer
 * is the 403. Takes objects of other kinds too, and lets them pass. */
bool auth_check_escalation(struct auth *auth, const struct api_write *w, struct json object,
    struct api_answer *ret_answer) must_check;

/* The rules that a ClusterRole with an aggregationRule should have now. */
struct json auth_aggregate(struct auth *auth, struct arena *a, struct json cluster_role);

/* ---- reviews and tokens: POSTs that store nothing ---- */

/* SelfSubjectAccessReview, SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectRulesReview,
 * SelfSubjectReview, TokenReview; the kinds of the registry whose only verb is create in the groups
 * authorization.k8s.io and authentication.k8s.io. */
bool auth_is_review(const struct api_kind *k);
/* Adds them; false: one is there already. */
bool auth_register_reviews(struct registry *r) must_check;
/* body is decoded and its apiVersion and kind are right. namespace "" unless in the path. Always
 * answers. */
void auth_review(struct auth *auth, struct arena *a, const struct api_user *user,
    const struct api_kind *k, const char *ns, struct json body, struct api_answer *ret);
/* POST …/serviceaccounts/NAME/token with a TokenRequest, whose kind is for decoding. */
const struct api_kind *auth_token_kind(void);
#define AUTH_TOKEN_SECONDS 3600 /* unless it says otherwise */
void auth_token_request(struct auth *auth, struct arena *a, const struct api_user *user,
    const char *ns, const char *name, struct json body, struct api_answer *ret);
/* The token of an account that a Secret holds: good until one of the two goes. */
const char *auth_secret_token(
    struct auth *auth, struct arena *a, const char *ns, const char *secret, struct json account);
