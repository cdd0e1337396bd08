#include "cli/model_cache.h"

#include <unistd.h>

#include "base/str.h"
#include "tests/folder.h"
#include "tests/test.h"

#define KEY "0123456789abcdef"

TEST(a_model_cache_without_a_folder_is_empty)
{
    struct model_file *files;
    size_t count;
    struct error err;
    check(model_cache_list(test_arena(), "/tmp/leeboard-no-such-folder", &files, &count, &err));
    check_int((int64_t)count, 0);
}

TEST(a_model_cache_lists_the_files_of_keys_and_nothing_else)
{
    const char *folder = folder_new();
    struct model_file *files;
    size_t count;
    struct error err;
    folder_put(folder, "volumes/team/llmkube-model-cache/" KEY "/tiny.gguf", 5);
    folder_put(folder, "volumes/team/llmkube-model-cache/" KEY "/.tiny.gguf.sha256", 5);
    folder_put(folder, "volumes/team/llmkube-model-cache/" KEY "/sub/part.gguf.tmp", 7);
    folder_put(folder, "volumes/team/llmkube-model-cache/" KEY "/sub/part.gguf.tmp.etag", 2);
    folder_put(folder, "volumes/team/data/notes.txt", 9);
    folder_put(folder, "volumes/team/data/0123/notes.txt", 9);
    folder_put(folder, "models/" KEY "/copy.gguf", 3);
    check(model_cache_list(test_arena(), folder, &files, &count, &err));
    check_int((int64_t)count, 3);
    check_text(files[0].name, "copy.gguf");
    check_text(files[0].claim, "");
    check_text(files[1].name, "sub/part.gguf.tmp");
    check(files[1].partial);
    check_int(files[1].bytes, 7);
    check_text(files[2].name, "tiny.gguf");
    check_text(files[2].ns, "team");
    check_text(files[2].claim, "llmkube-model-cache");
    check_text(files[2].key, KEY);
    check(!files[2].partial);
    folder_remove(folder);
}

TEST(removing_from_a_model_cache_takes_the_key_and_leaves_what_links_lead_to)
{
    const char *folder = folder_new();
    struct model_file *files;
    size_t count;
    struct error err;
    folder_put(folder, "volumes/team/a/" KEY "/sub/x.gguf", 5);
    folder_put(folder, "outside/keep", 5);
    check(symlink(arena_printf(test_arena(), "%s/outside", folder),
              arena_printf(test_arena(), "%s/volumes/team/a/" KEY "/link", folder)) == 0);
    check(model_cache_list(test_arena(), folder, &files, &count, &err));
    check_int((int64_t)count, 1);
    check(model_cache_remove(folder, &files[0], &err));
    check(access(arena_printf(test_arena(), "%s/volumes/team/a/" KEY, folder), F_OK) != 0);
    check(access(arena_printf(test_arena(), "%s/volumes/team/a", folder), F_OK) == 0);
    check(access(arena_printf(test_arena(), "%s/outside/keep", folder), F_OK) == 0);
    check_fails(model_cache_remove(folder, &files[0], &err), err, KEY);
    folder_remove(folder);
}
