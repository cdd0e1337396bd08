#pragma once

/* Where `leeboard up` keeps everything, and how the commands beside it find the one that runs.
 *
 *   DATA/up.pid        the process that runs, which holds a lock on it
 *   DATA/server        objects and certificates (the API server's folder)
 *   DATA/node          pods: their files and logs
 *   DATA/volumes       claims: NAMESPACE/NAME each, the model cache among them
 *   DATA/models        copies of local model files
 *   DATA/kubeconfig    the administrator's
 *   DATA/endpoint      where all models answer while it runs, and the file of keys
 *   DATA/chat          what was asked in chats
 *   DATA/up.log        what is logged with --detach, or behind the live display */

#include "cli/cli.h"

#define UP_CHAT_HISTORY "chat"

extern const struct cli_flag up_folder_flags[]; /* --data */

/* --data, else where the system keeps such things for this user; absolute. */
bool up_folder(struct cli *cli, const char **ret, struct error *err) must_check;
/* DATA/NAME. */
const char *up_folder_path(struct arena *a, const char *folder, const char *name);
/* Makes it, and the folders that others do not make themselves. Only this user may enter it, also
 * if it was there before with a wider mode. Fails if it is another user's. */
bool up_folder_make(struct arena *a, const char *folder, struct error *err) must_check;
/* Makes it this process's until it ends. Fails if another one has it, naming that. */
bool up_folder_lock(struct arena *a, const char *folder, struct error *err) must_check;
/* The process that runs on it; 0: none does. */
int up_folder_pid(struct arena *a, const char *folder);
/* Whether one does, for who asks again and again. */
bool up_folder_runs(const char *folder);
/* The kubeconfig of the one that runs; NULL: none does. */
const char *up_folder_kubeconfig(struct arena *a, const char *folder);
/* Puts standard error (and with out standard output) into DATA/up.log. The old standard error is
 * *ret, -1 if there is none. */
bool up_folder_log(
    struct arena *a, const char *folder, bool out, int *ret, struct error *err) must_check;

/* The one address of the models, for the commands beside the one that runs: url NULL takes it away.
 * key_file may be NULL. */
bool up_folder_write_endpoint(struct arena *a, const char *folder, const char *url,
    const char *key_file, struct error *err) must_check;
/* False: none runs, or it has no such address. *ret_key_file NULL: no key is needed. */
bool up_folder_read_endpoint(
    struct arena *a, const char *folder, const char **ret_url, const char **ret_key_file);
