#pragma once

/* The Models and InferenceServices of this machine, for commands that name one. */

#include "cli/ask.h"

extern const struct cli_flag things_flags[]; /* --namespace */

/* The server of this machine and the namespace of the command line. ask_close() is due after
 * failure too. */
bool things_open(
    struct cli *cli, const char *folder, struct ask *ret, struct error *err) must_check;
/* Absent: it is not there. */
bool things_get(struct ask *q, const struct resource *r, const char *name, struct json *ret,
    struct error *err) must_check;
bool things_list(
    struct ask *q, const struct resource *r, struct json *ret, struct error *err) must_check;
bool things_delete(
    struct ask *q, const struct resource *r, const char *name, struct error *err) must_check;
/* Members of a merge patch win; null takes one away. */
bool things_patch(struct ask *q, const struct resource *r, const char *name, struct json patch,
    struct error *err) must_check;
/* The service, and the Model that it serves; a Model that nobody serves yet is one, too. Absent:
 * there is none. Fails, with the names that there are, if there is neither. */
bool things_find(struct ask *q, const char *name, struct json *ret_service, struct json *ret_model,
    struct error *err) must_check;
/* A service that uses the Model, other than this one; NULL: none does. */
bool things_find_user(struct ask *q, const char *model, const char *other, const char **ret,
    struct error *err) must_check;
