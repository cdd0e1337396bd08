#include "apiserver/store/store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "apiserver/store/sqlite.h"
#include "base/buf.h"
#include "tests/kube/world.h"
#include "tests/test.h"

static struct str text_at(struct store *s, const char *what)
{
    return str_of(json_to_text(test_arena(),
        json_fields(test_arena(),
            { "v", json_int((int64_t)store_next_version(s)) },
            { "what", json_str(what) })));
}

static uint64_t put(struct store *s, struct store_table *t, const char *ns, const char *name)
{
    struct error err;
    const struct store_object *o = store_write(s, t, ns, name, text_at(s, name), false, &err);
    check(o != NULL);
    return o->version;
}

static void drop(struct store *s, struct store_table *t, const char *ns, const char *name)
{
    struct error err;
    check(store_write(s, t, ns, name, text_at(s, name), true, &err) != NULL);
}

static void flush(struct store *s)
{
    struct error err;
    check(store_flush(s, &err));
}

/* "a/x@2 b/y@3" */
static const char *listed(struct store_table *t, const char *ns, uint64_t at)
{
    struct buf b = BUF_INIT(1 << 16);
    struct store_cursor c = { .ns = ns };
    const struct store_object *o;
    struct error err;
    while (at ? (store_next_at(t, &c, at, &o, &err) ? o != NULL : (check(false), false))
              : (o = store_next(t, &c)) != NULL)
        buf_printf(&b, "%s%s/%s@%d", b.len ? " " : "", o->ns, o->name, (int)o->version);
    char *text = str_dup(test_arena(), buf_str(&b));
    buf_done(&b);
    return text;
}

static void note_event(void *ctx, const struct store_event *e)
{
    buf_printf(ctx,
        "%s%s@%d",
        e->gone     ? "-"
        : e->before ? "*"
                    : "+",
        e->object->name,
        (int)e->version);
    buf_add_char(ctx, ' ');
}

static const char *history(struct store_table *t, uint64_t after)
{
    struct buf b = BUF_INIT(1 << 16);
    struct error err;
    if (!store_history(t, after, note_event, &b, &err))
        buf_add_text(&b, error_code_name(err.code));
    char *text = str_dup(test_arena(), buf_str(&b));
    buf_done(&b);
    return text;
}

TEST(store_lists_in_order_of_namespace_and_name)
{
    struct world w;
    world_init(&w);
    struct error err;
    struct store *s = store_new(&w.env, &(struct store_options){ 0 }, &err);
    struct store_table *t = store_table(s, "/pods");
    put(s, t, "b", "y");
    put(s, t, "a", "z");
    put(s, t, "a-b", "x");
    put(s, t, "a", "b");
    put(s, store_table(s, "/nodes"), "", "n");
    check_text(listed(t, NULL, 0), "a/b@5 a/z@3 a-b/x@4 b/y@2");
    check_text(listed(t, "a", 0), "a/b@5 a/z@3");
    check_text(listed(t, "c", 0), "");
    drop(s, t, "a", "z");
    put(s, t, "b", "y");
    check_text(listed(t, NULL, 0), "a/b@5 a-b/x@4 b/y@8");
    check(!store_get(t, "a", "z"));
    check_int((int64_t)store_get(t, "b", "y")->version, 8);
    check_text(store_get(t, "b", "y")->text.ptr, "{\"v\":8,\"what\":\"y\"}");
    check_int((int64_t)store_version(s), 8);
    store_free(s);
    world_done(&w);
}

TEST(store_cursor_survives_changes_between_two_steps)
{
    struct world w;
    world_init(&w);
    struct error err;
    struct store *s = store_new(&w.env, &(struct store_options){ 0 }, &err);
    struct store_table *t = store_table(s, "/pods");
    for (const char *n = "bdfh"; *n; n++)
        put(s, t, "a", (char[]){ *n, 0 });
    struct store_cursor c = { 0 };
    check_text(store_next(t, &c)->name, "b");
    const struct store_object *met = store_next(t, &c);
    check_text(met->name, "d");
    store_object_hold(met);
    drop(s, t, "a", "d");
    drop(s, t, "a", "b");
    put(s, t, "a", "c");
    put(s, t, "a", "e");
    check_text(store_next(t, &c)->name, "e");
    check_text(store_next(t, &c)->name, "f");
    store_object_release(met);
    store_free(s);
    world_done(&w);
}

/* Random changes; what was listed at each version is what store_next_at() finds later. */
TEST(store_lists_older_versions_as_they_were)
{
    struct world w;
    world_init(&w);
    struct error err;
    struct store *s = store_new(&w.env, &(struct store_options){ .history_count = 150 }, &err);
    struct store_table *t = store_table(s, "/pods");
    const char *was[301] = { 0 };
    for (int i = 0; i < 300; i++) {
        char name[2] = { (char)('a' + env_random_below(&w.env, 12)), 0 };
        char ns[2] = { (char)('a' + env_random_below(&w.env, 3)), 0 };
        if (store_get(t, ns, name) && env_random_below(&w.env, 2))
            drop(s, t, ns, name);
        else
            put(s, t, ns, name);
        was[store_version(s) - 2] = listed(t, NULL, 0);
        flush(s);
    }
    struct store_cursor c = { 0 };
    const struct store_object *o;
    check_int((int64_t)store_oldest(s), (int64_t)store_version(s) - 150);
    check(!store_next_at(t, &c, store_oldest(s) - 1, &o, &err) && err.code == ERR_GONE);
    for (uint64_t v = store_oldest(s); v <= store_version(s); v++)
        check_text(listed(t, NULL, v), was[v - 2]);
    store_free(s);
    world_done(&w);
}

TEST(store_tells_watchers_what_was_flushed_and_forgets_with_age)
{
    struct world w;
    world_init(&w);
    struct error err;
    struct store *s = store_new(&w.env, &(struct store_options){ .history_ms = 60000 }, &err);
    struct store_table *t = store_table(s, "/pods");
    struct buf seen = BUF_INIT(1000);
    struct store_watch watch = { .event = note_event, .ctx = &seen };
    put(s, t, "a", "x");
    flush(s);
    struct buf all = BUF_INIT(1000);
    struct store_watch watch_all = { .event = note_event, .ctx = &all };
    store_watch_start(t, &watch);
    store_watch_start_all(s, &watch_all);
    put(s, t, "a", "x");
    put(s, store_table(s, "/nodes"), "", "n");
    drop(s, t, "a", "x");
    check_text(buf_text(&seen), "");
    check_text(history(t, 1), "+x@2 ");
    flush(s);
    check_text(buf_text(&seen), "*x@3 -x@5 ");
    check_text(buf_text(&all), "*x@3 +n@4 -x@5 ");
    store_watch_stop(&watch_all);
    buf_done(&all);
    check_text(history(t, 2), "*x@3 -x@5 ");
    world_advance(&w, 59000);
    put(s, t, "a", "y");
    flush(s);
    world_advance(&w, 2000);
    check_int((int64_t)store_oldest(s), 5);
    check_text(history(t, 4), "Expired");
    check_text(history(t, 5), "+y@6 ");
    world_advance(&w, 60000);
    check_int((int64_t)store_oldest(s), 6);
    store_watch_stop(&watch);
    store_watch_stop(&watch);
    put(s, t, "a", "z");
    flush(s);
    check_text(buf_text(&seen), "*x@3 -x@5 +y@6 ");
    buf_done(&seen);
    store_free(s);
    world_done(&w);
}

/* ---- with a disk ---- */

/* A disk that refuses the n-th write or commit. */
struct failing {
    struct store_disk disk;
    int writes_until, commits_until, rollbacks;
};

static bool failing_load(void *self, void (*row)(void *ctx, const struct store_row *row), void *ctx,
    uint64_t *since, uint64_t *last, struct error *err)
{
    (void)self, (void)row, (void)ctx, (void)err;
    *since = *last = 1;
    return true;
}

static bool failing_write(void *self, const struct store_row *row, struct error *err)
{
    struct failing *f = self;
    (void)row;
    return f->writes_until-- != 0 || fail(err, ERR_UNAVAILABLE, "disk is full");
}

static bool failing_commit(void *self, struct error *err)
{
    struct failing *f = self;
    return f->commits_until-- != 0 || fail(err, ERR_UNAVAILABLE, "disk is full");
}

static void failing_rollback(void *self)
{
    struct failing *f = self;
    f->rollbacks++;
}

TEST(store_undoes_what_the_disk_did_not_take)
{
    struct world w;
    world_init(&w);
    struct error err;
    struct failing f = { .writes_until = -1, .commits_until = 1 };
    f.disk = (struct store_disk){
        failing_load, failing_write, failing_commit, failing_rollback, NULL, &f
    };
    struct store *s = store_new(&w.env, &(struct store_options){ .disk = &f.disk }, &err);
    struct store_table *t = store_table(s, "/pods");
    struct buf seen = BUF_INIT(1000);
    struct store_watch watch = { .event = note_event, .ctx = &seen };
    store_watch_start(t, &watch);
    put(s, t, "a", "x");
    put(s, t, "a", "y");
    flush(s);
    put(s, t, "a", "x"); /* 4 */
    put(s, t, "a", "z");
    drop(s, t, "a", "y");
    put(s, t, "a", "z"); /* 7 */
    check_fails(store_flush(s, &err), err, "disk is full");
    check_int(f.rollbacks, 1);
    check_text(listed(t, NULL, 0), "a/x@2 a/y@3");
    check(!store_is_dirty(s));
    put(s, t, "a", "z");
    flush(s);
    check_text(listed(t, NULL, 0), "a/x@2 a/y@3 a/z@8");
    check_text(buf_text(&seen), "+x@2 +y@3 +z@8 ");

    f.writes_until = 1;
    drop(s, t, "a", "x");
    check(!store_write(s, t, "a", "q", STR("{}"), false, &err));
    check(!store_write(s, t, "a", "r", STR("{}"), false, &err)); /* nor the next one */
    check_fails(store_flush(s, &err), err, "disk is full");
    check_text(listed(t, NULL, 0), "a/x@2 a/y@3 a/z@8");
    flush(s);
    store_watch_stop(&watch);
    buf_done(&seen);
    store_free(s);
    world_done(&w);
}

static const char *folder(void)
{
    char *path = str_dup(test_arena(), STR("/tmp/leeboard-store-XXXXXX"));
    check(mkdtemp(path) != NULL);
    return path;
}

static void remove_folder(const char *path)
{
    static const char *const names[] = {
        "lock", "leeboard.db", "leeboard.db-wal", "leeboard.db-shm", "copy"
    };
    char file[200];
    for (size_t i = 0; i < lengthof(names); i++) {
        snprintf(file, sizeof(file), "%s/%s", path, names[i]);
        unlink(file);
    }
    check(rmdir(path) == 0);
}

struct opened {
    struct store_sqlite *disk;
    struct store *store;
};

static struct opened open_store(struct world *w, const char *path, size_t history)
{
    struct error err;
    struct opened o;
    o.disk = store_sqlite_open(path, &(struct store_sqlite_options){ .no_fsync = true }, &err);
    check(o.disk != NULL);
    o.store = store_new(&w->env,
        &(struct store_options){ .disk = store_sqlite_disk(o.disk), .history_count = history },
        &err);
    check(o.store != NULL);
    return o;
}

static void close_store(struct opened *o)
{
    store_free(o->store);
    store_sqlite_close(o->disk);
}

TEST(sqlite_brings_everything_back_with_its_history)
{
    struct world w;
    world_init(&w);
    const char *path = folder();
    struct opened o = open_store(&w, path, 0);
    struct store_table *t = store_table(o.store, "/pods");
    put(o.store, t, "a", "x");
    put(o.store, t, "a", "y");
    flush(o.store);
    drop(o.store, t, "a", "x");
    put(o.store, t, "a", "y");
    flush(o.store);
    put(o.store, t, "a", "lost"); /* never flushed: nobody was told */
    close_store(&o);

    o = open_store(&w, path, 0);
    t = store_table(o.store, "/pods");
    check_text(listed(t, NULL, 0), "a/y@5");
    check_text(history(t, 1), "+x@2 +y@3 -x@4 *y@5 ");
    check_text(history(t, 3), "-x@4 *y@5 ");
    check_text(listed(t, NULL, 3), "a/x@2 a/y@3");
    check_int((int64_t)put(o.store, t, "a", "z"), 6);
    flush(o.store);
    close_store(&o);
    remove_folder(path);
    world_done(&w);
}

TEST(sqlite_forgets_what_the_store_forgot_and_keeps_the_counter)
{
    struct world w;
    world_init(&w);
    const char *path = folder();
    struct opened o = open_store(&w, path, 10);
    struct store_table *t = store_table(o.store, "/pods");
    put(o.store, t, "a", "kept");
    for (int i = 0; i < 1200; i++) {
        put(o.store, t, "a", "x");
        flush(o.store);
    }
    drop(o.store, t, "a", "x");
    flush(o.store);
    uint64_t last = store_version(o.store);
    close_store(&o);

    o = open_store(&w, path, 0);
    t = store_table(o.store, "/pods");
    check_text(listed(t, NULL, 0), "a/kept@2");
    check_int((int64_t)store_version(o.store), (int64_t)last);
    check(store_oldest(o.store) > 1000);
    check_text(history(t, 1000), "Expired");
    check_text(history(t, last - 1), json_text(json_strf(test_arena(), "-x@%d ", (int)last)));
    close_store(&o);
    remove_folder(path);
    world_done(&w);
}

TEST(sqlite_refuses_a_second_server_and_names_the_first)
{
    struct world w;
    world_init(&w);
    const char *path = folder();
    struct opened o = open_store(&w, path, 0);
    struct error err;
    check_fails(store_sqlite_open(path, &(struct store_sqlite_options){ 0 }, &err),
        err,
        json_text(json_strf(test_arena(), "in use by process %d; stop", (int)getpid())));
    close_store(&o);
    o = open_store(&w, path, 0);
    close_store(&o);
    remove_folder(path);
    world_done(&w);
}

TEST(sqlite_copies_itself_while_it_runs)
{
    struct world w;
    world_init(&w);
    const char *path = folder();
    char *copy = str_dup(test_arena(), STR("/tmp/leeboard-store-XXXXXX"));
    check(mkdtemp(copy) != NULL);
    char file[200];
    snprintf(file, sizeof(file), "%s/leeboard.db", copy);
    struct opened o = open_store(&w, path, 0);
    put(o.store, store_table(o.store, "/pods"), "a", "x");
    flush(o.store);
    struct error err;
    check(store_sqlite_backup(path, file, &err));
    check_fails(store_sqlite_backup(path, file, &err), err, "is there already");
    put(o.store, store_table(o.store, "/pods"), "a", "y");
    flush(o.store);
    close_store(&o);
    o = open_store(&w, copy, 0);
    check_text(listed(store_table(o.store, "/pods"), NULL, 0), "a/x@2");
    close_store(&o);
    remove_folder(path);
    remove_folder(copy);
    world_done(&w);
}

static void fill_once(struct world *w, const char *path)
{
    struct opened o = open_store(w, path, 0);
    put(o.store, store_table(o.store, "/pods"), "a", "x");
    flush(o.store);
    close_store(&o);
}

TEST(sqlite_says_that_a_database_was_cut)
{
    struct world w;
    struct error err;
    world_init(&w);
    const char *path = folder();
    fill_once(&w, path);
    check_int(truncate(arena_printf(test_arena(), "%s/leeboard.db", path), 0), 0);
    check_fails(store_sqlite_open(path, &(struct store_sqlite_options){ 0 }, &err),
        err,
        "is empty, but the folder has had a database: restore a backup");
    check_int(unlink(arena_printf(test_arena(), "%s/leeboard.db", path)), 0);
    check_fails(store_sqlite_open(path, &(struct store_sqlite_options){ 0 }, &err), err, "is gone");
    remove_folder(path);
    world_done(&w);
}

TEST(sqlite_names_a_row_that_is_no_json)
{
    struct world w;
    struct error err;
    sqlite3 *db;
    world_init(&w);
    const char *path = folder();
    fill_once(&w, path);
    check(sqlite3_open(arena_printf(test_arena(), "%s/leeboard.db", path), &db) == SQLITE_OK);
    check(sqlite3_exec(db, "UPDATE change SET body = x'7b22'", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(db);
    struct store_sqlite *disk = store_sqlite_open(path, &(struct store_sqlite_options){ 0 }, &err);
    check(disk);
    check_fails(store_new(&w.env, &(struct store_options){ .disk = store_sqlite_disk(disk) }, &err),
        err,
        "as a text that is no JSON; restore a backup");
    store_sqlite_close(disk);
    remove_folder(path);
    world_done(&w);
}
