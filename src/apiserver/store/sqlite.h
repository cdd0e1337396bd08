#pragma once

/* The disk of a store: one SQLite file in a folder that belongs to one process.
 *
 *   FOLDER/lock          held while a server runs; contains its process id
 *   FOLDER/leeboard.db   every change, one row each; the last row of an object is its state
 *
 * Commits survive a crash of the process and, with fsync, of the machine. */

#include "apiserver/store/store.h"

struct store_sqlite;

struct store_sqlite_options {
    bool no_fsync; /* faster, but a power failure may lose the last seconds */
};

/* Creates the folder (mode 0700) if it is missing. Fails if another process holds it, naming that
 * process, and if the file was written by a newer version. */
struct store_sqlite *store_sqlite_open(
    const char *folder, const struct store_sqlite_options *options, struct error *err) must_check;
void store_sqlite_close(struct store_sqlite *d);
/* For struct store_options; valid until the store_sqlite is closed. */
const struct store_disk *store_sqlite_disk(struct store_sqlite *d);

/* Writes a consistent copy of a folder's database to FILE, whether or not a server is running. FILE
 * must not exist. */
bool store_sqlite_backup(const char *folder, const char *file, struct error *err) must_check;
