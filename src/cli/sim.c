/* `leeboard sim`: runs the simulator, a separate program that is not part of the release. */

#include "cli/cli.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#define PATH_BYTES 4096

static int run(struct cli *cli)
{
    struct error err;
    char path[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    char *program = arena_printf(&cli->arena, "%s-sim", path);
    char **argv = arena_array(&cli->arena, cli->count + 2, sizeof(*argv));
    argv[0] = program;
    for (size_t i = 0; i < cli->count; i++)
        argv[1 + i] = arena_printf(&cli->arena, "--%s=%s", cli->names[i], cli->values[i]);
    argv[1 + cli->count] = NULL;
    execv(program, argv);
    fail(&err,
        ERR_NOT_FOUND,
        "%s: %s; it is built with `make build/release/leeboard-sim` and must be beside this "
        "program",
        program,
        strerror(errno));
    return cli_fail(cli, &err);
}

static const struct cli_flag flags[] = {
    { "seed", 0, "N", "1", "The first seed." },
    { "steps", 0, "M", "0", "Play more seeds until this number of steps is done." },
    { "seconds", 0, "T", "0", "Play more seeds for this number of seconds." },
    { "scenario", 0, "NAME", "random", "random, crashes, answers or rivals." },
    { "trace", 0, NULL, NULL, "Print each step." },
    { 0 },
};

const struct cli_command cli_sim = {
    .name = "sim",
    .summary = "Run the simulator, a program for developers (docs/simulation.md).",
    .flags = (const struct cli_flag *const[]){ flags, NULL },
    .hidden = true,
    .run = run,
};
