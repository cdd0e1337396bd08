#pragma once

/* The disk of a store: one SQLite file in a folder that belongs to one process.
 *
 *   FOLDER/lock          held while a server runs; has its process id in it
 *   FOLDER/leeboard.db   every change, one row each; the last row of an object is its state
 *
 * What is committed survives the death of the process, and with fsync that of the machine. */

#include "apiserver/store/store.h"

struct store_sqlite;

struct store_sqlite_options {
    bool no_fsync; /* faster, and a power failure may take the last seconds */
};

/* Makes the folder (mode 0700) if it is not there. Fails when another process has it, naming that
 * process, and when the file was written by a newer version. */
struct store_sqlite *store_sqlite_open(
    const char *folder, const struct store_sqlite_options *options, struct error *err) must_check;
void store_sqlite_close(struct store_sqlite *d);
/* For struct store_options; valid until it is closed. */
const struct store_disk *store_sqlite_disk(struct store_sqlite *d);

/* A consistent copy of a folder's file as FILE, whether or not a server runs on it. FILE must not
 * be there. */
bool store_sqlite_backup(const char *folder, const char *file, struct error *err) must_check;
