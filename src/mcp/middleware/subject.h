#pragma once

#include "mcp/middleware.h"

/* The subject of a message, for logs, spans and metrics: the tool, prompt or URI, the name of the
 * client that initializes, the cursor of a list, …; NULL: none. */
const char *message_subject(struct arena *a, const struct mcp_message *m);
