#pragma once

/* What the authentication files share. */

#include "apiserver/access/auth.h"
#include "apiserver/access/rbac.h"

#define AUTH_AUDIENCE "https://kubernetes.default.svc"

struct auth {
    struct apiserver *server;
    struct rbac *rbac;
    struct str token_key;
    const struct auth_static_token *tokens;
    bool allow_all;
};

/* The user of a token, for one of these audiences (a list; absent: the API server's own).
 * *ret_audiences (may be NULL) are those of them for which the token is valid. */
bool auth_token_user(struct auth *auth, struct arena *a, struct str token, struct json audiences,
    struct api_user *ret, struct json *ret_audiences, struct error *err) must_check;
/* A core object; absent if it does not exist. */
struct json auth_read(
    struct auth *auth, struct arena *a, const char *plural, const char *ns, const char *name);
/* {username, uid, groups, extra} */
struct json auth_user_json(struct arena *a, const struct api_user *user);
bool auth_is_master(const struct api_user *user);
