#pragma once

/* Authentication and authorization.
 *
 *   credentials ──auth_authenticate──> user ──auth_impersonate──> user ──auth_allows──> yes or no
 *
 * The host calls the first two, because HTTP headers and TLS are not known here. The server calls
 * the last one for every request. The rules are RBAC rules from the store; they stay compiled until
 * a role or a binding changes. Members of system:masters may do everything. */

#include "apiserver/core/answer.h"
#include "apiserver/core/server.h"

struct auth;

struct auth_static_token {
    const char *token;
    struct api_user user;
};

struct auth *auth_new(struct apiserver *s, const struct apiserver_options *options);
void auth_free(struct auth *auth);
/* Borrowed; terminated by an entry without a token. */
void auth_set_static_tokens(struct auth *auth, const struct auth_static_token *tokens);

/* ---- authentication ---- */

struct auth_credentials {
    struct str bearer;                /* from the Authorization header; .ptr NULL: none */
    const char *common_name;          /* from a verified client certificate; NULL: none */
    const char *const *organizations; /* the O entries of its subject */
    struct str certificate_der;       /* for its fingerprint; may be empty */
};

/* Invalid credentials fail (401, see auth_answer_unauthorized()); without credentials the user is
 * system:anonymous. */
bool auth_authenticate(struct auth *auth, struct arena *a, const struct auth_credentials *c,
    struct api_user *ret, struct error *err) must_check;

struct auth_request;

/* The Impersonate-User, -Group, -Uid and -Extra-… headers of a request (see api_request), if the
 * user may impersonate for this request. False: *ret_answer has the reason. Without such headers
 * *ret is the user. */
bool auth_impersonate(struct auth *auth, struct arena *a, const struct api_user *user,
    const struct api_header *headers, const struct auth_request *r, struct api_user *ret,
    struct api_answer *ret_answer) must_check;

/* ---- authorization ---- */

struct auth_request {
    const char *verb; /* "deletecollection", …; or the HTTP method in lower case if path is set */
    const char *path; /* of a non-resource URL: "/healthz"; NULL: a resource */
    const char *group, *version, *resource, *subresource, *ns, *name; /* "" where none */
};

/* *ret_reason (may be NULL): the binding that allows it, or the error of a binding that might, or
 * "". */
bool auth_allows(struct auth *auth, struct arena *a, const struct api_user *user,
    const struct auth_request *r, const char **ret_reason);
/* The 403 for a request, worded as by the API server; the 401. */
void auth_answer_forbidden(struct arena *a, const struct api_user *user,
    const struct auth_request *r, const char *reason, struct api_answer *ret);
void auth_answer_unauthorized(struct arena *a, struct api_answer *ret);

/* Whether the writer of a role or binding (create, update, patch; old and new state) has all the
 * rights that it grants, or may `escalate` or `bind`. Call it after validation. False: *ret_answer
 * is the 403. Returns true for objects of other kinds. */
bool auth_check_escalation(struct auth *auth, const struct api_write *w, struct json object,
    struct api_answer *ret_answer) must_check;

/* The current rules of a ClusterRole with an aggregationRule. */
struct json auth_aggregate(struct auth *auth, struct arena *a, struct json cluster_role);

/* ---- reviews and tokens: POSTs that store nothing ---- */

/* SelfSubjectAccessReview, SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectRulesReview,
 * SelfSubjectReview, TokenReview: the kinds of the registry in the groups authorization.k8s.io and
 * authentication.k8s.io whose only verb is create. */
bool auth_is_review(const struct api_kind *k);
/* Registers them; false: one exists already. */
bool auth_register_reviews(struct registry *r) must_check;
/* body is decoded, and its apiVersion and kind are correct. namespace is "" unless it is in the
 * path. Always sets an answer. */
void auth_review(struct auth *auth, struct arena *a, const struct api_user *user,
    const struct api_kind *k, const char *ns, struct json body, struct api_answer *ret);
/* POST …/serviceaccounts/NAME/token with a TokenRequest; its kind, for decoding. */
const struct api_kind *auth_token_kind(void);
#define AUTH_TOKEN_SECONDS 3600 /* default */
void auth_token_request(struct auth *auth, struct arena *a, const struct api_user *user,
    const char *ns, const char *name, struct json body, struct api_answer *ret);
/* The token of an account for a Secret: valid while both exist. */
const char *auth_secret_token(
    struct auth *auth, struct arena *a, const char *ns, const char *secret, struct json account);
