#pragma once

/* A listening TCP socket. */

#include "base/error.h"

/* address NULL: all, for both IP families if available. port 0: any free port. Returns -1 with err
 * on failure. */
int listen_tcp(const char *address, uint16_t port, struct error *err) must_check;
uint16_t listen_port(int fd);
/* Raises the limit of open files to the hard limit, because the usual soft limit of 1024 is easily
 * reached. */
void listen_raise_files(void);
