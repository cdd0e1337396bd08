#pragma once

/* The current token, certificate and CA of a configuration. Their files are read again when they
 * change, and a credential plugin is run again when its credentials expire.
 *
 *   if (!credentials_ready(c)) wait for changed();      a plugin is running
 *   else if (credentials_error(c)) fail with it
 *   else use credentials_header() and credentials_tls() now, and remember credentials_epoch()
 *
 *   on a 401: if (credentials_rejected(c, epoch)) retry with the new credentials
 *
 * If a file becomes unreadable, its last contents stay in use: a projected token is replaced by a
 * rename, and the old one stays valid for a while. */

#include "base/error.h"
#include "base/str.h"

struct arena;
struct credentials;
struct env;
struct kube_config;
struct loop;
struct tls_context;

/* config must outlive it. changed() is called when a plugin has ended. */
struct credentials *credentials_new(struct loop *loop, const struct env *env,
    const struct kube_config *config, void (*changed)(void *ctx), void *ctx) must_check;
void credentials_free(struct credentials *c);

/* Checks for changed files (at most once in ten seconds) and expired plugin credentials, and starts
 * the plugin if necessary. */
bool credentials_ready(struct credentials *c);
/* Why there are no credentials: a file that was never readable, or a plugin that failed. NULL if
 * there is no error. */
const struct error *credentials_error(const struct credentials *c);
/* "Bearer …" or "Basic …", or NULL; valid until the next credentials_ready(). */
const char *credentials_header(const struct credentials *c);
/* Borrowed. A different one after a change of CA or certificate. NULL for a server without TLS. */
struct tls_context *credentials_tls(const struct credentials *c);
/* Counts all these changes. */
uint64_t credentials_epoch(const struct credentials *c);
/* The server rejected the credentials of that epoch. True if there are newer ones, or will be when
 * the plugin has run again. */
bool credentials_rejected(struct credentials *c, uint64_t epoch);

/* ---- the plugin's protocol (client.authentication.k8s.io), for tests ---- */

struct kube_exec;

/* The value of KUBERNETES_EXEC_INFO. */
const char *credentials_exec_info(struct arena *a, const struct kube_exec *exec);

struct credentials_exec_result {
    const char *token;             /* or NULL */
    const char *certificate, *key; /* PEM, or both NULL */
    int64_t expires_wall_ms;       /* INT64_MAX: never */
};
/* Parses the ExecCredential that a plugin printed. */
bool credentials_exec_parse(struct arena *a, const struct kube_exec *exec, struct str output,
    struct credentials_exec_result *ret, struct error *err) must_check;
