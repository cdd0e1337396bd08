#pragma once

/* Which IAM role an identity may assume: rules with a claim's value or a CEL expression over the
 * claims. The rule with the lowest priority wins, then the first one in the list. */

#include "mcp/middleware.h"

struct aws_roles;

/* config: aws_sts_config of a RunConfig. */
struct aws_roles *aws_roles_new(struct arena *a, struct json config, struct error *err) must_check;
/* NULL: no role for these claims. */
const char *aws_roles_choose(
    const struct aws_roles *r, struct arena *a, struct json claims) must_check;
