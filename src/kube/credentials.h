#pragma once

/* Who we are, kept fresh: the token, the certificate and the CA of a configuration, whose files are
 * read again when they change, and whose plugin is run again when what it gave expires.
 *
 *   if (!credentials_ready(c)) wait for changed();      a plugin runs
 *   else if (credentials_error(c)) fail with it
 *   else use credentials_header() and credentials_tls() now, and remember credentials_epoch()
 *
 *   on a 401: if (credentials_rejected(c, epoch)) ask again; what is used then differs
 *
 * A file that cannot be read any more leaves what was read last in use: a projected token is
 * replaced by a rename, and the old one stays valid for a while. */

#include "base/error.h"
#include "base/str.h"

struct arena;
struct credentials;
struct env;
struct kube_config;
struct loop;
struct tls_context;

/* config outlives it. changed() is called when a plugin has ended. */
struct credentials *credentials_new(struct loop *loop, const struct env *env,
    const struct kube_config *config, void (*changed)(void *ctx), void *ctx) must_check;
void credentials_free(struct credentials *c);

/* Looks whether files changed (at most once in ten seconds) or the plugin's gift expired, and
 * starts the plugin if it must. */
bool credentials_ready(struct credentials *c);
/* Why there are none: a file that was never readable, a plugin that failed; NULL if all is well. */
const struct error *credentials_error(const struct credentials *c);
/* "Bearer …" or "Basic …", or NULL; valid until the next credentials_ready(). */
const char *credentials_header(const struct credentials *c);
/* Borrowed; another one once CA or certificate have changed. NULL for a server without TLS. */
struct tls_context *credentials_tls(const struct credentials *c);
/* Counts changes of any of this. */
uint64_t credentials_epoch(const struct credentials *c);
/* The server did not know us by what was in use then. True if there is something newer now, or will
 * be when the plugin has run again. */
bool credentials_rejected(struct credentials *c, uint64_t epoch);

/* ---- the plugin's protocol (client.authentication.k8s.io), for tests ---- */

struct kube_exec;

/* What goes into KUBERNETES_EXEC_INFO. */
const char *credentials_exec_info(struct arena *a, const struct kube_exec *exec);

struct credentials_exec_result {
    const char *token;             /* or NULL */
    const char *certificate, *key; /* PEM, or both NULL */
    int64_t expires_wall_ms;       /* INT64_MAX: never */
};
/* Reads an ExecCredential from a plugin's output. */
bool credentials_exec_parse(struct arena *a, const struct kube_exec *exec, struct str output,
    struct credentials_exec_result *ret, struct error *err) must_check;
