#pragma once

#include "mcp/middleware.h"

/* The step `awssts`, for servers of AWS: exchanges the client's token for keys of an IAM role
 * (AssumeRoleWithWebIdentity), and signs every request with them (Signature Version 4). */
extern const struct mcp_step mcp_step_aws_sts;

/* Reads the keys from a response of STS. False: it has none. */
struct aws_keys {
    const char *id, *secret, *token;
    int64_t expires_ms; /* on the wall clock */
};
bool aws_read_keys(struct arena *a, struct str xml, struct aws_keys *ret) must_check;
