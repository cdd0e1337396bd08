#pragma once

/* Some servers listen on all addresses and have no flag to change that. A preloaded library
 * (preload/address.c) binds them to the address of their pod. It works only in programs that use
 * the machine's dynamic linker, so not in most Go programs. */

#include "base/arena.h"
#include "base/error.h"

#define OWN_ADDRESS_VARIABLE "LEEBOARD_POD_ADDRESS"

/* Writes the library into that folder and returns its path; NULL: err. */
const char *own_address_install(struct arena *a, const char *folder, struct error *err) must_check;
