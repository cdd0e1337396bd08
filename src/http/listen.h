#pragma once

/* A listening TCP socket. */

#include "base/error.h"

/* address NULL: all, of both families where there are both. port 0: any free one. -1 with err. */
int listen_tcp(const char *address, uint16_t port, struct error *err) must_check;
uint16_t listen_port(int fd);
/* As many descriptors as the hard limit allows: the usual soft limit of 1024 is soon used up. */
void listen_raise_files(void);
