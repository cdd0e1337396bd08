#include "fetch/staged.h"

#include <unistd.h>

#include "engine/facts.h"
#include "fetch/internal.h"
#include "tests/http/rig.h"
#include "tests/folder.h"
#include "tests/test.h"

#define KEY "0123456789abcdef"

static void check_staged(const char *folder, const char *key, bool whole, int64_t partial)
{
    struct staged s = staged_look(folder, key);
    check_int(s.whole, whole);
    check_int(s.partial, partial);
}

TEST(what_pods_fetched_is_seen_in_all_claims_of_a_namespace)
{
    const char *folder = folder_new();
    check_staged("/tmp/leeboard-no-such-folder", KEY, false, -1);
    check_staged(folder, KEY, false, -1);
    folder_put(folder, "a/" KEY "/.x.gguf.lock", 0);
    folder_put(folder, "a/" KEY "/x.gguf.tmp.etag", 9);
    check_staged(folder, KEY, false, -1);
    folder_put(folder, "a/" KEY "/sub/x.gguf.tmp", 70);
    check_staged(folder, KEY, false, 70);
    folder_put(folder, "b/" KEY "/x.gguf", 90);
    check_staged(folder, KEY, true, 70);
    check_staged(folder, "fedcba9876543210", false, -1);
    folder_remove(folder);
}

struct outcome {
    int64_t bytes; /* the last that was told */
    const char *cut;
    bool ended;
    struct json result;
};

static void on_progress(void *ctx, struct json progress)
{
    struct outcome *o = ctx;
    o->bytes = json_get_int(progress, "bytes", -1);
    o->cut = arena_strdup(test_arena(), json_get_text(progress, "cut"));
}

static void on_done(void *ctx, struct json result, const struct error *err)
{
    struct outcome *o = ctx;
    check(!err);
    o->ended = true;
    o->result = json_copy(test_arena(), result);
}

/* A download that is followed. */
struct following {
    struct rig rig;
    struct fetch *fetch;
    const struct effect_runner *runner;
    struct outcome outcome;
    void *run;
};

static void follow(struct following *f, const char *folder)
{
    static const struct effect_sink sink = { on_progress, on_done };
    struct json args =
        json_map(test_arena(), { "path", json_str(folder) }, { "key", json_str(KEY) });
    *f = (struct following){ 0 };
    rig_open(&f->rig, RIG_H1);
    f->fetch = fetch_new(&(struct fetch_options){ .loop = f->rig.loop, .progress_ms = 1 });
    f->runner = fetch_runner(f->fetch);
    f->run = f->runner->start(f->runner->self, "model.staged", args, &sink, &f->outcome);
}

/* The rig asserts that nothing is left on its loop. */
static void unfollow(struct following *f)
{
    fetch_free(f->fetch);
    rig_close(&f->rig);
}

TEST(a_download_is_followed_until_the_file_is_whole)
{
    const char *folder = folder_new();
    struct following f;
    const struct outcome *o = &f.outcome;
    follow(&f, folder);
    folder_put(folder, "a/" KEY "/x.gguf.tmp", 70);
    await(&f.rig, o->bytes == 70);
    folder_put(folder, "a/" KEY "/x.gguf.tmp", 80);
    await(&f.rig, o->bytes == 80);
    check(!o->ended);
    check(rename(arena_printf(test_arena(), "%s/a/" KEY "/x.gguf.tmp", folder),
              arena_printf(test_arena(), "%s/a/" KEY "/x.gguf", folder)) == 0);
    await(&f.rig, o->ended);
    check_json(o->result, "{'whole': true}");
    unfollow(&f);
    folder_remove(folder);
}

TEST(a_file_that_was_not_fetched_whole_is_told_of_until_it_is_gone)
{
    const char *folder = folder_new();
    struct following f;
    const struct outcome *o = &f.outcome;
    folder_put(folder, "a/" KEY "/x.gguf", 0);
    const char *path = arena_printf(test_arena(), "%s/a/" KEY "/x.gguf", folder);
    follow(&f, folder);
    await(&f.rig, o->cut != NULL);
    check_text(o->cut, arena_printf(test_arena(), "%s is cut short: it is empty", path));
    check(!o->ended && unlink(path) == 0);
    await(&f.rig, o->cut == NULL);
    check(!o->ended);
    folder_put(folder, "a/" KEY "/merges.txt", 0); /* an empty file of another kind is whole */
    await(&f.rig, o->ended);
    check_json(o->result, "{'whole': true}");
    unfollow(&f);
    folder_remove(folder);
}

TEST(a_download_that_is_followed_can_be_let_go)
{
    struct following f;
    follow(&f, "/tmp/leeboard-no-such");
    f.runner->cancel(f.runner->self, f.run);
    unfollow(&f);
    check(!f.outcome.ended);
}
