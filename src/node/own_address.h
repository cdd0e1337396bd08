#pragma once

/* Servers that listen on all addresses and have no flag for another: a library that is loaded into
 * them (preload/address.c) binds them to the address of their pod. It works in programs that use
 * the machine's dynamic linker, which is to say not in those of Go. */

#include "base/arena.h"
#include "base/error.h"

#define OWN_ADDRESS_VARIABLE "LEEBOARD_POD_ADDRESS"

/* The library's file in that folder; NULL: err. */
const char *own_address_install(struct arena *a, const char *folder, struct error *err) must_check;
