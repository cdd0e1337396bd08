#pragma once

/* The Models and InferenceServices of this machine, for commands that take a name. */

#include "cli/ask.h"

extern const struct cli_flag things_flags[]; /* --namespace */

/* Connects to the server of this machine, in the namespace of the command line. Call ask_close()
 * even after a failure. */
bool things_open(
    struct cli *cli, const char *folder, struct ask *ret, struct error *err) must_check;
/* Absent: not found. */
bool things_get(struct ask *q, const struct resource *r, const char *name, struct json *ret,
    struct error *err) must_check;
bool things_list(
    struct ask *q, const struct resource *r, struct json *ret, struct error *err) must_check;
bool things_delete(
    struct ask *q, const struct resource *r, const char *name, struct error *err) must_check;
/* Sends a merge patch; null removes a member. */
bool things_patch(struct ask *q, const struct resource *r, const char *name, struct json patch,
    struct error *err) must_check;
/* Finds the service and the Model that it serves, or only a Model that no service uses yet; the
 * other one is absent. Fails, with the existing names, if there is neither. */
bool things_find(struct ask *q, const char *name, struct json *ret_service, struct json *ret_model,
    struct error *err) must_check;
/* Another service that uses the Model; NULL: none. */
bool things_find_user(struct ask *q, const char *model, const char *other, const char **ret,
    struct error *err) must_check;
