#pragma once

/* Secrets of type kubernetes.io/service-account-token: filled with a token of the account that they
 * name, and removed with it. In a large cluster kube-controller-manager's work. */

#include "apiserver/server.h"

struct secret_tokens;

struct secret_tokens *secret_tokens_new(struct apiserver *s);
void secret_tokens_free(struct secret_tokens *t);
/* What it wrote last may have been undone. */
void secret_tokens_doubt(struct secret_tokens *t);
bool secret_tokens_is_pending(const struct secret_tokens *t);
/* Before a flush: opens the calls that are due, whose answers nobody reads. */
void secret_tokens_run(struct secret_tokens *t);
