#pragma once

/* Functions with a safer alternative in this folder; using one does not compile. (git has the same
 * idea.) */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(name, instead) name##_is_banned_use_##instead

#undef strcpy
#define strcpy(...) BANNED(strcpy, arena_strdup)
#undef strcat
#define strcat(...) BANNED(strcat, buf_add)
#undef strncpy
#define strncpy(...) BANNED(strncpy, arena_strndup)
#undef strncat
#define strncat(...) BANNED(strncat, buf_add)
#undef sprintf
#define sprintf(...) BANNED(sprintf, arena_printf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf, arena_vprintf)
#undef strtok
#define strtok(...) BANNED(strtok, str_cut)
#undef atoi
#define atoi(...) BANNED(atoi, str_to_int)
#undef atol
#define atol(...) BANNED(atol, str_to_int)
#undef gmtime
#define gmtime(...) BANNED(gmtime, gmtime_r)
#undef localtime
#define localtime(...) BANNED(localtime, localtime_r)
