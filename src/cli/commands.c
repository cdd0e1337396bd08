#include "cli/cli.h"

const struct cli_command *const cli_commands[] = {
    &cli_up,
    &cli_down,
    &cli_ps,
    &cli_logs,
    &cli_kubeconfig,
    &cli_models,
    &cli_operator,
    &cli_apiserver,
    &cli_apply,
    &cli_get,
    &cli_delete,
    &cli_render,
    &cli_manifests,
    &cli_mcp,
    &cli_sim,
    &cli_completion,
    &cli_man,
    &cli_version,
    &cli_help,
    NULL,
};
