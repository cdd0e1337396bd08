#pragma once

/* The data folder of `leeboard up`, and how other commands find the running one.
 *
 *   DATA/up.pid        the running process, which holds a lock on it
 *   DATA/server        objects and certificates (the API server's folder)
 *   DATA/node          pods: their files and logs
 *   DATA/volumes       claims: NAMESPACE/NAME each, including the model cache
 *   DATA/models        copies of local model files
 *   DATA/kubeconfig    the administrator's
 *   DATA/endpoint      the models' address while it runs, and the file of keys
 *   DATA/chat          the history of chats
 *   DATA/up.log        the log with --detach, or during the live display */

#include "cli/cli.h"

#define UP_CHAT_HISTORY "chat"

extern const struct cli_flag up_folder_flags[]; /* --data */

/* --data, or else the system's default place for this user's data; absolute. */
bool up_folder(struct cli *cli, const char **ret, struct error *err) must_check;
/* DATA/NAME. */
const char *up_folder_path(struct arena *a, const char *folder, const char *name);
/* Creates it, and the subfolders that no other code creates. Only this user may access it, even if
 * it existed before with a wider mode. Fails if another user owns it. */
bool up_folder_make(struct arena *a, const char *folder, struct error *err) must_check;
/* Locks it until this process ends. Fails if another process has it, and names that. */
bool up_folder_lock(struct arena *a, const char *folder, struct error *err) must_check;
/* The process that runs on it; 0: none. */
int up_folder_pid(struct arena *a, const char *folder);
/* Whether a process runs on it, for frequent polling. */
bool up_folder_runs(const char *folder);
/* The kubeconfig of the running process; NULL: none runs. */
const char *up_folder_kubeconfig(struct arena *a, const char *folder);
/* Redirects standard error (with out also standard output) to DATA/up.log. *ret: the old standard
 * error, -1 if there is none. */
bool up_folder_log(
    struct arena *a, const char *folder, bool out, int *ret, struct error *err) must_check;

/* Publishes the shared endpoint of the models for other commands; url NULL removes it. key_file may
 * be NULL. */
bool up_folder_write_endpoint(struct arena *a, const char *folder, const char *url,
    const char *key_file, struct error *err) must_check;
/* False: none runs, or it has no endpoint. *ret_key_file NULL: no key is needed. */
bool up_folder_read_endpoint(
    struct arena *a, const char *folder, const char **ret_url, const char **ret_key_file);
