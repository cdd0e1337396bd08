#pragma once

/* Secrets of type kubernetes.io/service-account-token: filled with a token of the account that they
 * name, and removed with it. In a large cluster kube-controller-manager's work. A label tells the
 * day on which a token was used last; a ConfigMap, since when that is told. */

#include "apiserver/core/server.h"

struct secret_tokens;

struct secret_tokens *secret_tokens_new(struct apiserver *s);
/* Once the first namespaces are there. */
void secret_tokens_start(struct secret_tokens *t);
void secret_tokens_free(struct secret_tokens *t);
/* Somebody came with the token of this Secret. */
void secret_tokens_used(struct secret_tokens *t, struct json secret);
/* What it wrote last may have been undone. */
void secret_tokens_doubt(struct secret_tokens *t);
