#pragma once

#include "mcp/middleware.h"

/* What a message is about, for logs, spans and metrics: the tool, prompt or URI, the name of the
 * client that initializes, the cursor of a list, …; NULL: nothing. */
const char *message_subject(struct arena *a, const struct mcp_message *m);
