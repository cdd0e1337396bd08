#include "mcp/middleware.h"

const struct mcp_step *const mcp_steps[] = {
    NULL,
};
