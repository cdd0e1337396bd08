#pragma once

/* leeboard mcp list, tools and call: inspect and try the MCP servers of this machine. */

#include "cli/cli.h"

extern const struct cli_flag mcp_look_flags[];

/* Whether the first argument is one of these subcommands. */
bool mcp_look_is(const struct cli *cli);
int mcp_look(struct cli *cli);
