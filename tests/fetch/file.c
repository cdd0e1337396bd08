#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "engine/facts.h"
#include "fetch/internal.h"
#include "tests/folder.h"
#include "tests/http/rig.h"
#include "tests/test.h"

/* A file that is followed, and what was told of it last. */
struct following {
    struct rig rig;
    struct fetch *fetch;
    void *run;
    const char *folder, *path;
    struct json told;
    int changes; /* how often it was told to be changing */
    bool ended;
};

static void on_progress(void *ctx, struct json progress)
{
    struct following *f = ctx;
    f->told = json_copy(test_arena(), progress);
    f->changes += json_get_bool(progress, "changing", false);
}

static void on_done(void *ctx, struct json result, const struct error *err)
{
    struct following *f = ctx;
    f->ended = true;
    f->told =
        err ? json_str(arena_strdup(test_arena(), err->text)) : json_copy(test_arena(), result);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "we");
    check(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void open_rig(struct following *f)
{
    *f = (struct following){ .folder = folder_new() };
    rig_open(&f->rig, RIG_H1);
    f->path = arena_printf(test_arena(), "%s/model.gguf", f->folder);
    f->fetch = fetch_new(&(struct fetch_options){ .loop = f->rig.loop,
        .allowed_roots = json_list(test_arena(), json_str(f->folder)),
        .progress_ms = 1 });
}

static void ask(struct following *f, const char *effect)
{
    static const struct effect_sink sink = { on_progress, on_done };
    const struct effect_runner *runner = fetch_runner(f->fetch);
    struct json args = json_map(test_arena(), { "path", json_str(f->path) });
    f->run = runner->start(runner->self, effect, args, &sink, f);
}

static void close_rig(struct following *f)
{
    fetch_free(f->fetch);
    rig_close(&f->rig);
    folder_remove(f->folder);
}

static const char *etag(const struct following *f)
{
    return json_get_text(f->told, "etag");
}

static const char *problem(const struct following *f)
{
    return json_get_text(f->told, "problem.message");
}

/* Until it is told with another ETag. */
static const char *await_other(struct following *f, const char *before)
{
    await(&f->rig, etag(f) && !text_eq(etag(f), before));
    check(!f->ended);
    return etag(f);
}

TEST(a_file_that_is_used_in_place_is_followed)
{
    struct following f;
    open_rig(&f);
    put(f.path, "weights\1one");
    ask(&f, "model.file");
    const char *first = await_other(&f, NULL);
    check_int(json_get_int(f.told, "size", 0), 11);
    check_int(f.changes, 0);
    /* Another length, in place. */
    put(f.path, "weights\1other");
    const char *second = await_other(&f, first);
    check(f.changes > 0);
    /* Another file of the same length under the name. */
    const char *fresh = arena_printf(test_arena(), "%s/new", f.folder);
    put(fresh, "weights\1third");
    check(rename(fresh, f.path) == 0);
    const char *third = await_other(&f, second);
    /* Another head, with the length and the time that it had. */
    struct stat st;
    check(stat(f.path, &st) == 0);
    int fd = open(f.path, O_WRONLY | O_CLOEXEC);
    check(fd >= 0 && pwrite(fd, "W", 1, 0) == 1);
    check(futimens(fd, (struct timespec[]){ st.st_atim, st.st_mtim }) == 0 && close(fd) == 0);
    const char *fourth = await_other(&f, third);
    /* What is not about its content is nothing to tell. */
    int changes = f.changes;
    check(chmod(f.path, 0600) == 0);
    await(&f.rig, f.rig.loop && text_eq(etag(&f), fourth));
    put(f.path, "weights\1last");
    await_other(&f, fourth);
    check(f.changes > changes);
    close_rig(&f);
    check(!f.ended);
}

TEST(a_file_that_cannot_be_used_in_place_is_told_until_it_can)
{
    struct following f;
    open_rig(&f);
    ask(&f, "model.file");
    await(&f.rig, problem(&f));
    check_text(problem(&f), arena_printf(test_arena(), "%s: No such file or directory", f.path));
    put(f.path, "");
    await(&f.rig, problem(&f) && strstr(problem(&f), "is cut short: it is empty"));
    put(f.path, "<html>");
    await(&f.rig, problem(&f) && strstr(problem(&f), "is a web page"));
    check_text(json_get_text(f.told, "problem.code"), "Invalid");
    put(f.path, "weights\1");
    await_other(&f, NULL);
    check(unlink(f.path) == 0 && symlink("/etc/hostname", f.path) == 0);
    await(&f.rig, problem(&f));
    check(strstr(problem(&f), "leads out of the allowed directories"));
    close_rig(&f);
    check(!f.ended);
}

TEST(all_parts_of_a_model_are_followed)
{
    struct following f;
    struct arena *a = test_arena();
    open_rig(&f);
    f.path = arena_printf(a, "%s/m-00001-of-00002.gguf", f.folder);
    const char *other = arena_printf(a, "%s/m-00002-of-00002.gguf", f.folder);
    put(f.path, "weights\1");
    ask(&f, "model.file");
    await(&f.rig, problem(&f));
    check_text(problem(&f), arena_printf(a, "part 2 of 2, %s: No such file or directory", other));
    put(other, "more\1");
    const char *first = await_other(&f, NULL);
    check_int(json_get_int(f.told, "size", 0), 8 + 5);
    put(other, "less\1!");
    await_other(&f, first);
    check_int(json_get_int(f.told, "size", 0), 8 + 6);
    close_rig(&f);
}

TEST(the_files_of_a_directory_are_followed)
{
    struct following f;
    struct arena *a = test_arena();
    open_rig(&f);
    f.path = arena_printf(a, "%s/model", f.folder);
    check(mkdir(f.path, 0755) == 0);
    ask(&f, "model.file");
    await(&f.rig, problem(&f));
    check_text(problem(&f), arena_printf(a, "%s is a directory without files", f.path));
    put(arena_printf(a, "%s/config.json", f.path), "{}");
    const char *first = await_other(&f, NULL);
    put(arena_printf(a, "%s/model.safetensors", f.path), "weights");
    const char *second = await_other(&f, first);
    check_int(json_get_int(f.told, "size", 0), 2 + 7);
    put(arena_printf(a, "%s/config.json", f.path), "{ }");
    await_other(&f, second);
    close_rig(&f);
}

TEST(the_digest_of_a_local_file_is_that_of_all_of_it)
{
    struct following f;
    open_rig(&f);
    const char *text = "weights\1";
    put(f.path, text);
    ask(&f, "model.digest");
    await(&f.rig, f.ended);
    check_text(json_get_text(f.told, "sha256"), sha256_hex(test_arena(), str_of(text)));
    close_rig(&f);
}
