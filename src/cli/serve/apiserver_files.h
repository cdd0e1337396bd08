#pragma once

/* The files of a built-in API server besides its objects, and its kubeconfig.
 *
 *   FOLDER/ca.crt, ca.key    its own CA, created at the first start
 *   FOLDER/token.key         signs the tokens of ServiceAccounts
 *   FOLDER/kubeconfig        for the administrator
 *
 * Private files have mode 0600 and are written atomically. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

struct apiserver_files {
    struct str ca, ca_key;
    struct str token_key;
    struct str certificate, key; /* of the server, created for this start */
};

/* Reads the existing files and creates the others. folder NULL: in memory only. hosts: additional
 * names and addresses of the server; NULL-terminated. */
bool apiserver_files_load(struct arena *a, const char *folder, const char *const *hosts,
    struct apiserver_files *ret, struct error *err) must_check;
/* Writes an administrator's kubeconfig for a server with this URL. */
bool apiserver_files_write_kubeconfig(struct arena *a, const struct apiserver_files *f,
    const char *url, const char *path, struct error *err) must_check;
