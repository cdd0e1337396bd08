#pragma once

/* A folder of a test's own below /tmp, and files in it. */

#include <stddef.h>

const char *folder_new(void);
/* With everything in it. */
void folder_remove(const char *folder);
/* A file of so many bytes that are zero, with the folders above it. */
void folder_put(const char *folder, const char *name, size_t bytes);
