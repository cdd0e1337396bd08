#pragma once

/* `leeboard up --detach`: one process keeps running, the other waits until everything is ready.
 *
 *   command ──fork──> keeps running, output in DATA/up.log ──up_detach_tell──┐
 *      └── up_detach_wait: started? ready? <─────────────────────────────────┘ */

#include "cli/cli.h"

/* True in the process that keeps running, with *ret_pipe for up_detach_tell(). False in the one
 * that waits, with its exit code. */
bool up_detach(struct cli *cli, const char *folder, int *ret_pipe, int *ret_code);
/* Reports the start, or why it failed. */
void up_detach_tell(int pipe, const struct error *err);
