#include "base/tree.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/test.h"

static const char *new_folder(void)
{
    char name[] = "/tmp/leeboard-tree-XXXXXX";
    check(mkdtemp(name));
    return arena_strdup(test_arena(), name);
}

static const char *in(const char *folder, const char *name)
{
    return arena_printf(test_arena(), "%s/%s", folder, name);
}

static void shell(const char *folder, const char *script)
{
    check(system(arena_printf(test_arena(), "cd %s && %s", folder, script)) == 0);
}

TEST(tree_removal_follows_no_link)
{
    const char *folder = new_folder();
    struct error err;
    shell(folder,
        "mkdir -p out/keep vol/a/b/c vol/d && touch out/keep/file vol/a/file vol/.hidden && "
        "ln -s ../out vol/link && ln -s ../../../out/keep vol/a/b/link && chmod 0 vol/d");
    check(tree_remove(in(folder, "vol"), &err));
    check(access(in(folder, "vol"), F_OK) != 0);
    check(access(in(folder, "out/keep/file"), F_OK) == 0);
    check(tree_remove(in(folder, "vol"), &err)); /* it is gone already */
    /* The root itself: the link goes, not what it leads to. */
    shell(folder, "ln -s out vol");
    check(tree_remove(in(folder, "vol"), &err));
    check(access(in(folder, "out/keep/file"), F_OK) == 0);
    check_fails(tree_remove(in(folder, ".."), &err), err, "cannot be removed");
    check(tree_remove(folder, &err));
}

TEST(tree_removal_below_a_directory_stays_below_it)
{
    const char *folder = new_folder();
    struct error err;
    shell(folder, "mkdir -p out/claim root/ns/claim/x && ln -s ../../out root/other");
    check_fails(tree_remove_below(in(folder, "root"), "other/claim", &err), err, "may lead out");
    check(access(in(folder, "out/claim"), F_OK) == 0);
    check_fails(tree_remove_below(in(folder, "root"), "../out", &err), err, "may lead out");
    check(tree_remove_below(in(folder, "root"), "ns/claim", &err));
    check(tree_remove_below(in(folder, "root"), "no/such", &err));
    check(access(in(folder, "root/ns"), F_OK) == 0 && access(in(folder, "root/ns/claim"), F_OK));
    check(tree_remove(folder, &err));
}

TEST(tree_of_any_depth_is_removed_with_one_descriptor)
{
    const char *folder = new_folder();
    struct error err;
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 3000; i++) {
        check(mkdirat(fd, "d", 0755) == 0);
        int next = openat(fd, "d", O_RDONLY | O_DIRECTORY);
        close(fd);
        fd = next;
    }
    close(fd);
    check(tree_remove(folder, &err));
    check(access(folder, F_OK) != 0);
}

static int64_t inode_below(const char *folder, const char *below, bool make, struct error *err)
{
    struct stat st;
    int root = open(folder, O_PATH | O_DIRECTORY);
    int fd = tree_open_below(root, below, make, err);
    int64_t inode = fd >= 0 && fstat(fd, &st) == 0 ? (int64_t)st.st_ino : 0;
    if (fd >= 0)
        close(fd);
    close(root);
    return inode;
}

TEST(tree_opens_below_a_directory_and_never_outside)
{
    const char *folder = new_folder(), *vol = in(folder, "vol");
    struct error err;
    struct stat st;
    shell(folder,
        "mkdir -p out vol/..one && touch vol/..one/key && ln -s ..one vol/..data && ln -s "
        "..data/key vol/key && ln -s ../out vol/up && ln -s /tmp vol/away && ln -s loop vol/loop "
        "&& chmod 2770 vol");
    check(stat(in(folder, "vol/..one/key"), &st) == 0);
    check_int(inode_below(vol, "key", false, &err), (int64_t)st.st_ino);
    check_fails(inode_below(vol, "up/x", true, &err), err, "may lead out");
    check_fails(inode_below(vol, "../out", true, &err), err, "may lead out");
    check_fails(inode_below(vol, "away/leeboard-x", true, &err), err, "leads out");
    check_fails(inode_below(vol, "loop", true, &err), err, "symbolic links");
    check_fails(inode_below(vol, "no", false, &err), err, "no");
    check(inode_below(vol, "./new//deep/", true, &err));
    check(stat(in(folder, "vol/new/deep"), &st) == 0);
    check_int(st.st_mode & 07777, 02770); /* as the volume's own */
    check(access("/tmp/leeboard-x", F_OK) != 0 && access(in(folder, "out/x"), F_OK) != 0);
    check(tree_remove(folder, &err));
}

TEST(tree_is_given_to_a_group_without_following_links)
{
    if (geteuid() != 0) {
        printf("skipped: tree_is_given_to_a_group needs root\n");
        return;
    }
    const char *folder = new_folder();
    struct error err;
    struct stat st;
    shell(folder,
        "mkdir -p vol/d && touch out vol/d/f && chmod 600 out vol/d/f && ln -s ../out vol/l");
    check(tree_give_group(in(folder, "vol"), 4321, &err));
    check(stat(in(folder, "vol"), &st) == 0 && st.st_gid == 4321);
    check_int(st.st_mode & 07777, 02775);
    check(stat(in(folder, "vol/d/f"), &st) == 0 && st.st_gid == 4321);
    check_int(st.st_mode & 07777, 0660);
    check(stat(in(folder, "out"), &st) == 0 && st.st_gid == 0);
    check_int(st.st_mode & 07777, 0600);
    check(tree_remove(folder, &err));
}

TEST(tree_paths_are_cleaned)
{
    static const char *const rows[][2] = { { "/a/../b/", "/b" },
        { "/../../etc", "/etc" },
        { "data//x/.", "/data/x" },
        { "/", "/" },
        { "..", "/" },
        { "/a/b/../../..", "/" } };
    for (size_t i = 0; i < lengthof(rows); i++)
        check_text(tree_path_clean(test_arena(), rows[i][0]), rows[i][1]);
}
