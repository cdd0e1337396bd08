#pragma once

/* Access tokens of Google for service accounts: a signed assertion goes to the account's token_uri
 * (RFC 7523), a token for about an hour comes back. It is asked for when somebody first wants it,
 * and again five minutes before it ends; until then the old one is good. */

#include "base/error.h"
#include "base/str.h"

struct env;
struct google_accounts;
struct http_client;
struct tls_context;

struct google_accounts *google_accounts_new(
    const struct env *env, struct http_client *client, struct tls_context *tls);
void google_accounts_free(struct google_accounts *g); /* takes NULL */

/* key: the JSON of a service account. NULL: there is no token yet; then *ret_why says why, NULL if
 * it is on its way. Valid until the loop goes on. */
const char *google_token(struct google_accounts *g, struct str key, const char **ret_why);
