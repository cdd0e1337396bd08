#pragma once

/* The general categories of Unicode, for \p{…} in regular expressions. */

#include "base/base.h"

/* Runs of characters from 0 on: two letters of a category ("Cn": not assigned), then how many
 * characters in hexadecimal: "Cc20Zs1Po3…". */
extern const char cel_unicode_runs[];
