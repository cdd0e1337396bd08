#include "cli/up/purge.h"

#include <sys/stat.h>
#include <unistd.h>

#include "tests/folder.h"
#include "tests/test.h"

static const char *below(const char *folder, const char *name)
{
    return arena_printf(test_arena(), "%s/%s", folder, name);
}

static bool is_there(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

TEST(a_purge_removes_what_is_ours_and_follows_no_link)
{
    const char *above = folder_new(), *folder = below(above, "data"), *left;
    struct error err;
    check(mkdir(folder, 0700) == 0);
    folder_put(above, "elsewhere/model.gguf", 5);
    folder_put(folder, "up.pid", 3);
    folder_put(folder, "volumes/team/claim/x.gguf", 5);
    folder_put(folder, "chat", 5);
    check(symlink("../elsewhere", below(folder, "models")) == 0);
    check(symlink("../../elsewhere", below(folder, "volumes/link")) == 0);
    check(purge_check(folder, &err));
    check(purge_folder(test_arena(), folder, &left, &err));
    check_text(left, NULL);
    check(!is_there(folder));
    check(is_there(below(above, "elsewhere/model.gguf")));
    folder_remove(above);
}

TEST(a_purge_leaves_and_names_what_others_put_there)
{
    const char *folder = folder_new(), *left;
    struct error err;
    folder_put(folder, "up.pid", 3);
    folder_put(folder, "server/log", 3);
    folder_put(folder, "notes.txt", 3);
    check(purge_folder(test_arena(), folder, &left, &err));
    check_text(left, "notes.txt");
    check(is_there(below(folder, "notes.txt")) && !is_there(below(folder, "server")));
    check_fails(purge_check(folder, &err), err, "is no folder of `leeboard up`");
    folder_remove(folder);
}

TEST(a_purge_refuses_folders_that_are_not_ours)
{
    const char *above = folder_new(), *folder = below(above, "data"), *left;
    struct error err;
    check(mkdir(folder, 0700) == 0);
    folder_put(folder, "server/log", 3);
    check_fails(purge_folder(test_arena(), folder, &left, &err), err, "it has no up.pid");
    check(symlink("server/log", below(folder, "up.pid")) == 0);
    check_fails(purge_folder(test_arena(), folder, &left, &err), err, "it has no up.pid");
    check(unlink(below(folder, "up.pid")) == 0);
    folder_put(folder, "up.pid", 3);
    check(symlink("data", below(above, "link")) == 0);
    check_fails(purge_folder(test_arena(), below(above, "link"), &left, &err), err, "is a link");
    check_fails(purge_folder(test_arena(), below(above, "none"), &left, &err), err, "No such file");
    check(is_there(below(folder, "server/log")));
    folder_remove(above);
}
