#pragma once

/* Google access tokens of service accounts: a signed assertion is sent to the account's token_uri
 * (RFC 7523), which returns a token for about an hour. It is requested on first use, and again five
 * minutes before it expires; until then the old one is used. */

#include "base/error.h"
#include "base/str.h"

struct env;
struct google_accounts;
struct http_client;
struct tls_context;

struct google_accounts *google_accounts_new(
    const struct env *env, struct http_client *client, struct tls_context *tls);
void google_accounts_free(struct google_accounts *g); /* NULL is allowed */

/* key: the JSON of a service account. NULL: there is no token yet; *ret_why says why, NULL if it
 * was requested. Valid until the next turn of the loop. */
const char *google_token(struct google_accounts *g, struct str key, const char **ret_why);
