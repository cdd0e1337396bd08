#pragma once

/* A certificate of our own making, for servers that nobody gave one. */

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* EC P-256, signed by itself, valid from an hour ago for days; PEM in the arena. */
bool tls_self_signed(struct arena *a, const char *host, int days, struct str *ret_certificate,
    struct str *ret_key, struct error *err) must_check;
