#pragma once

/* Deletes Events an hour after their last occurrence, as kube-apiserver does; otherwise recurring
 * events would fill the disk. Runs every ten minutes. */

#include "apiserver/core/server.h"

struct expiry;

struct expiry *expiry_new(struct apiserver *s);
void expiry_free(struct expiry *x);
