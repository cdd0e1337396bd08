#pragma once

/* Events go an hour after they last said something, as kube-apiserver's do: otherwise what happens
 * again and again would fill the disk. Looked at every ten minutes. */

#include "apiserver/core/server.h"

struct expiry;

struct expiry *expiry_new(struct apiserver *s);
void expiry_free(struct expiry *x);
