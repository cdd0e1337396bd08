#include "apiserver/store/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/json.h"

/* The version of the schema: one more than the number of migrations. */
#define LAYOUT 1
#define APPLICATION 0x4c454542 /* "LEEB": identifies the file for `file` and others */
#define PATH_BYTES 4096
#define BUSY_MS 5000

enum statement { BEGIN, COMMIT, ROLLBACK, WRITE, COMPACT, COMPACTED, STATEMENT_COUNT };

/* Rows are found by version when loading, and by name when compacting. */
static const char *const statement_texts[STATEMENT_COUNT] = {
    [BEGIN] = "BEGIN IMMEDIATE",
    [COMMIT] = "COMMIT",
    [ROLLBACK] = "ROLLBACK",
    [WRITE] = "INSERT INTO change (version, tbl, namespace, name, gone, body)"
              " VALUES (?, ?, ?, ?, ?, ?)",
    [COMPACT] = "DELETE FROM change AS old WHERE version <= ?1 AND (gone OR EXISTS"
                " (SELECT 1 FROM change AS new WHERE new.tbl = old.tbl"
                " AND new.namespace = old.namespace AND new.name = old.name"
                " AND new.version > old.version AND new.version <= ?1))",
    [COMPACTED] = "UPDATE history SET since = ?",
};

static const char *const migrations[LAYOUT] = {
    "CREATE TABLE change (version INTEGER PRIMARY KEY, tbl TEXT NOT NULL, namespace TEXT NOT NULL,"
    " name TEXT NOT NULL, gone INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE INDEX change_name ON change (tbl, namespace, name, version);"
    "CREATE TABLE history (since INTEGER NOT NULL);"
    "INSERT INTO history VALUES (1);",
};

struct store_sqlite {
    struct store_disk disk;
    sqlite3 *db;
    sqlite3_stmt *statements[STATEMENT_COUNT];
    int lock;
    bool used; /* the folder has contained a database */
    bool open; /* in a transaction */
};

/* A full disk is a temporary error; other errors mean a broken file or machine. */
static bool sql_fail(sqlite3 *db, struct error *err, const char *what)
{
    int code = sqlite3_errcode(db);
    enum error_code kind =
        code == SQLITE_FULL || code == SQLITE_BUSY ? ERR_UNAVAILABLE : ERR_INTERNAL;
    return fail(err,
        kind,
        "%s: %s%s",
        what,
        sqlite3_errmsg(db),
        code == SQLITE_FULL ? "; free some space" : "");
}

static bool run(struct store_sqlite *d, enum statement which, struct error *err)
{
    sqlite3_stmt *s = d->statements[which];
    int code = sqlite3_step(s);
    bool fine = code == SQLITE_DONE || sql_fail(d->db, err, "write to the data folder");
    sqlite3_reset(s);
    sqlite3_clear_bindings(s);
    return fine;
}

static bool execute(struct store_sqlite *d, const char *text, struct error *err)
{
    return sqlite3_exec(d->db, text, NULL, NULL, NULL) == SQLITE_OK ||
           sql_fail(d->db, err, "set up the data folder");
}

static bool begin(struct store_sqlite *d, struct error *err)
{
    if (d->open)
        return true;
    d->open = run(d, BEGIN, err);
    return d->open;
}

/* ---- interface for the store ---- */

static bool disk_write(void *self, const struct store_row *row, struct error *err)
{
    struct store_sqlite *d = self;
    if (!begin(d, err))
        return false;
    sqlite3_stmt *s = d->statements[WRITE];
    sqlite3_bind_int64(s, 1, (sqlite3_int64)row->version);
    sqlite3_bind_text(s, 2, row->table, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, row->ns, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 4, row->name, -1, SQLITE_STATIC);
    sqlite3_bind_int(s, 5, row->gone);
    sqlite3_bind_blob64(s, 6, row->text.ptr, row->text.len, SQLITE_STATIC);
    return run(d, WRITE, err);
}

static bool disk_commit(void *self, struct error *err)
{
    struct store_sqlite *d = self;
    if (d->open && !run(d, COMMIT, err))
        return false;
    d->open = false;
    return true;
}

static void disk_rollback(void *self)
{
    struct store_sqlite *d = self;
    struct error ignored; /* after some failures SQLite has already rolled back */
    if (d->open && !sqlite3_get_autocommit(d->db))
        (void)!run(d, ROLLBACK, &ignored);
    d->open = false;
}

static bool disk_compact(void *self, uint64_t up_to, struct error *err)
{
    struct store_sqlite *d = self;
    assert(!d->open);
    if (!begin(d, err))
        return false;
    sqlite3_bind_int64(d->statements[COMPACT], 1, (sqlite3_int64)up_to);
    sqlite3_bind_int64(d->statements[COMPACTED], 1, (sqlite3_int64)up_to);
    if (run(d, COMPACT, err) && run(d, COMPACTED, err) && disk_commit(d, err))
        return true;
    disk_rollback(d);
    return false;
}

static bool is_json(struct str text)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json v;
    return json_parse(&a, text, &v, NULL) && json_is(v, JSON_MAP);
}

static bool read_rows(struct store_sqlite *d, sqlite3_stmt *s,
    void (*row)(void *ctx, const struct store_row *row), void *ctx, uint64_t *last,
    struct error *err)
{
    int code;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) {
        struct store_row r = {
            .version = (uint64_t)sqlite3_column_int64(s, 0),
            .table = (const char *)sqlite3_column_text(s, 1),
            .ns = (const char *)sqlite3_column_text(s, 2),
            .name = (const char *)sqlite3_column_text(s, 3),
            .gone = sqlite3_column_int(s, 4),
            .text = { sqlite3_column_blob(s, 5), (size_t)sqlite3_column_bytes(s, 5) },
        };
        if (!r.table || !r.ns || !r.name || !r.text.ptr || r.version <= *last)
            return fail(err,
                ERR_INVALID,
                "the data folder has a change %llu that cannot be read; restore a backup",
                (unsigned long long)r.version);
        if (!is_json(r.text))
            return fail(err,
                ERR_INVALID,
                "the data folder has %s %s/%s, version %llu, as a text that is no JSON; restore a "
                "backup",
                r.table,
                r.ns,
                r.name,
                (unsigned long long)r.version);
        *last = r.version;
        row(ctx, &r);
    }
    return code == SQLITE_DONE || sql_fail(d->db, err, "read the data folder");
}

static bool disk_load(void *self, void (*row)(void *ctx, const struct store_row *row), void *ctx,
    uint64_t *since, uint64_t *last, struct error *err)
{
    struct store_sqlite *d = self;
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(d->db, "SELECT since FROM history", -1, &s, NULL) != SQLITE_OK ||
        sqlite3_step(s) != SQLITE_ROW) {
        sqlite3_finalize(s);
        return sql_fail(d->db, err, "read the data folder");
    }
    *since = (uint64_t)sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    if (sqlite3_prepare_v2(d->db,
            "SELECT version, tbl, namespace, name, gone, body FROM change ORDER BY version",
            -1,
            &s,
            NULL) != SQLITE_OK)
        return sql_fail(d->db, err, "read the data folder");
    *last = 0;
    bool fine = read_rows(d, s, row, ctx, last, err);
    sqlite3_finalize(s);
    if (*last < *since)
        *last = *since;
    return fine;
}

/* ---- opening ---- */

static bool path_in(char *path, const char *folder, const char *name, struct error *err)
{
    int length = snprintf(path, PATH_BYTES, "%s/%s", folder, name);
    return (length > 0 && length < PATH_BYTES) ||
           fail(err, ERR_TOO_LARGE, "the path of the data folder is too long");
}

#define USED "has a database\n"

static bool note_lock(struct store_sqlite *d)
{
    char text[48];
    int length = snprintf(text, sizeof(text), "%d\n%s", (int)getpid(), d->used ? USED : "");
    return ftruncate(d->lock, 0) == 0 && pwrite(d->lock, text, (size_t)length, 0) == length;
}

/* flock() is released with the process, however it ends. */
static bool lock_folder(struct store_sqlite *d, const char *folder, struct error *err)
{
    char path[PATH_BYTES], text[48] = "";
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return fail_errno(err, errno, "make the data folder %s", folder);
    if (!path_in(path, folder, "lock", err))
        return false;
    d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (d->lock < 0)
        return fail_errno(err, errno, "open %s", path);
    if (flock(d->lock, LOCK_EX | LOCK_NB) < 0) {
        ssize_t got = read(d->lock, text, sizeof(text) - 1);
        text[got > 0 ? got : 0] = '\0';
        return fail(err,
            ERR_EXISTS,
            "the data folder %s is in use by process %.*s; stop that one or use another folder",
            folder,
            (int)strcspn(text, "\n"),
            text);
    }
    ssize_t had = pread(d->lock, text, sizeof(text) - 1, 0);
    text[had > 0 ? had : 0] = '\0';
    d->used = strstr(text, USED);
    return note_lock(d) || fail_errno(err, errno, "write %s", path);
}

static int64_t pragma(struct store_sqlite *d, const char *text)
{
    sqlite3_stmt *s = NULL;
    int64_t value = -1;
    if (sqlite3_prepare_v2(d->db, text, -1, &s, NULL) == SQLITE_OK && sqlite3_step(s) == SQLITE_ROW)
        value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

static bool migrate(struct store_sqlite *d, const char *folder, struct error *err)
{
    int64_t layout = pragma(d, "PRAGMA user_version");
    int64_t whose = pragma(d, "PRAGMA application_id");
    if (layout < 0)
        return sql_fail(d->db, err, "read the data folder");
    if (whose != APPLICATION && (whose != 0 || layout != 0))
        return fail(err, ERR_INVALID, "%s/leeboard.db is not a file of ours", folder);
    if (layout > LAYOUT)
        return fail(err,
            ERR_UNSUPPORTED,
            "the data folder %s was written by a newer leeboard (layout %d, this one knows %d); "
            "use that one, or restore a backup from before it",
            folder,
            (int)layout,
            LAYOUT);
    for (; layout < LAYOUT; layout++) {
        char stamp[120];
        snprintf(stamp,
            sizeof(stamp),
            "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
            APPLICATION,
            (int)layout + 1);
        if (!execute(d, "BEGIN IMMEDIATE", err) || !execute(d, migrations[layout], err) ||
            !execute(d, stamp, err))
            return false;
    }
    return true;
}

static bool open_file(struct store_sqlite *d, const char *folder, bool no_fsync, struct error *err)
{
    char path[PATH_BYTES];
    struct stat there;
    if (!path_in(path, folder, "leeboard.db", err))
        return false;
    if (d->used && (stat(path, &there) != 0 || there.st_size == 0))
        return fail(err,
            ERR_INVALID,
            "%s is %s, but the folder has had a database: restore a backup, or remove %s/lock "
            "to begin without any object",
            path,
            stat(path, &there) == 0 ? "empty" : "gone",
            folder);
    mode_t mask = umask(077);
    int code = sqlite3_open_v2(
        path, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    bool fine = code == SQLITE_OK ? execute(d,
                                        "PRAGMA journal_mode = WAL; PRAGMA cache_size = -256;"
                                        "PRAGMA wal_autocheckpoint = 1000;",
                                        err)
                                  : sql_fail(d->db, err, path);
    umask(mask);
    if (!fine ||
        !execute(d, no_fsync ? "PRAGMA synchronous = OFF" : "PRAGMA synchronous = FULL", err))
        return false;
    sqlite3_busy_timeout(d->db, BUSY_MS);
    if (!migrate(d, folder, err))
        return false;
    d->used = true;
    if (!note_lock(d))
        return fail_errno(err, errno, "write %s/lock", folder);
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        if (sqlite3_prepare_v3(d->db,
                statement_texts[i],
                -1,
                SQLITE_PREPARE_PERSISTENT,
                &d->statements[i],
                NULL) != SQLITE_OK)
            return sql_fail(d->db, err, "set up the data folder");
    return true;
}

struct store_sqlite *store_sqlite_open(
    const char *folder, const struct store_sqlite_options *options, struct error *err)
{
    struct store_sqlite *d = mem_new_of(struct store_sqlite);
    d->lock = -1;
    d->disk = (struct store_disk){
        .load = disk_load,
        .write = disk_write,
        .commit = disk_commit,
        .rollback = disk_rollback,
        .compact = disk_compact,
        .self = d,
    };
    if (lock_folder(d, folder, err) && open_file(d, folder, options->no_fsync, err))
        return d;
    store_sqlite_close(d);
    return NULL;
}

void store_sqlite_close(struct store_sqlite *d)
{
    if (!d)
        return;
    disk_rollback(d);
    for (size_t i = 0; i < STATEMENT_COUNT; i++)
        sqlite3_finalize(d->statements[i]);
    sqlite3_close(d->db);
    if (d->lock >= 0)
        close(d->lock);
    free(d);
}

const struct store_disk *store_sqlite_disk(struct store_sqlite *d)
{
    return &d->disk;
}

bool store_sqlite_backup(const char *folder, const char *file, struct error *err)
{
    char path[PATH_BYTES];
    struct stat there;
    if (!path_in(path, folder, "leeboard.db", err))
        return false;
    if (stat(path, &there) < 0)
        return fail_errno(err, errno, "open %s", path);
    if (stat(file, &there) == 0)
        return fail(err, ERR_EXISTS, "%s is there already; name another file", file);
    sqlite3 *from = NULL;
    sqlite3_stmt *copy = NULL;
    mode_t mask = umask(077);
    bool fine = sqlite3_open_v2(path, &from, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
                sqlite3_busy_timeout(from, BUSY_MS) == SQLITE_OK &&
                sqlite3_prepare_v2(from, "VACUUM INTO ?", -1, &copy, NULL) == SQLITE_OK &&
                sqlite3_bind_text(copy, 1, file, -1, SQLITE_STATIC) == SQLITE_OK &&
                sqlite3_step(copy) == SQLITE_DONE;
    umask(mask);
    if (!fine)
        sql_fail(from, err, file);
    sqlite3_finalize(copy);
    sqlite3_close(from);
    return fine;
}
