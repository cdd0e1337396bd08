#pragma once

/* `leeboard up --detach`: the one that runs on, and the one that waits until everything is ready.
 *
 *   command ──fork──> runs on, its output in DATA/up.log ──up_detach_tell──┐
 *      └── up_detach_wait: started? ready? <──────────────────────────────┘ */

#include "cli/cli.h"

/* True in the process that runs on, with *ret_pipe for up_detach_tell(). False in the one that
 * waits, with its exit code. */
bool up_detach(struct cli *cli, const char *folder, int *ret_pipe, int *ret_code);
/* It has started, or why it did not. */
void up_detach_tell(int pipe, const struct error *err);
