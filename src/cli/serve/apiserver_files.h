#pragma once

/* What a built-in API server keeps beside its objects, and its kubeconfig.
 *
 *   FOLDER/ca.crt, ca.key    its own authority, made at the first start
 *   FOLDER/token.key         signs the tokens of ServiceAccounts
 *   FOLDER/kubeconfig        for the administrator
 *
 * Private files have mode 0600, and appear whole or not at all. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

struct apiserver_files {
    struct str ca, ca_key;
    struct str token_key;
    struct str certificate, key; /* of the server, for this start */
};

/* Reads what is there and makes the rest. folder NULL: nothing is kept. hosts: names and addresses
 * beside the usual ones that the server is reached by; NULL-terminated. */
bool apiserver_files_load(struct arena *a, const char *folder, const char *const *hosts,
    struct apiserver_files *ret, struct error *err) must_check;
/* Writes an administrator's kubeconfig for the server at this URL. */
bool apiserver_files_write_kubeconfig(struct arena *a, const struct apiserver_files *f,
    const char *url, const char *path, struct error *err) must_check;
