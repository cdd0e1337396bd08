#pragma once

/* Secrets of type kubernetes.io/service-account-token: filled with a token of the account that they
 * name, and deleted with it, as kube-controller-manager does. A label holds the day on which a
 * token was last used; a ConfigMap holds the day since which usage is tracked. */

#include "apiserver/core/server.h"

struct secret_tokens;

struct secret_tokens *secret_tokens_new(struct apiserver *s);
/* Call it when the first namespaces exist. */
void secret_tokens_start(struct secret_tokens *t);
void secret_tokens_free(struct secret_tokens *t);
/* A client authenticated with the token of this Secret. */
void secret_tokens_used(struct secret_tokens *t, struct json secret);
/* Its last writes may have been undone. */
void secret_tokens_doubt(struct secret_tokens *t);
