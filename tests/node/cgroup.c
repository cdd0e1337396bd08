/* Against a folder that looks like a tree of control groups; the kernel makes files, here we do. */

#include "node/cgroup.h"

#include <sys/stat.h>
#include <unistd.h>

#include "kube/file.h"
#include "base/tree.h"
#include "tests/test.h"

static const char *root;

static const char *at(const char *path)
{
    return arena_printf(test_arena(), "%s/%s", root, path);
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(at(path), "we");
    check(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static const char *get(const char *path)
{
    struct str text;
    return file_read(test_arena(), at(path), 4096, &text, NULL) ? text.ptr : NULL;
}

static void root_open(const char *controllers)
{
    char name[] = "/tmp/leeboard-cgroup-XXXXXX";
    check(mkdtemp(name));
    root = arena_strdup(test_arena(), name);
    if (controllers)
        put("cgroup.controllers", controllers);
}

TEST(cgroup_limits_are_written_as_the_kernel_takes_them)
{
    struct error err;
    const char *procs;
    root_open("cpuset cpu io memory pids\n");
    struct cgroups *g = cgroups_new(root, "leeboard-here", &err);
    check(g);
    check_text(get("cgroup.subtree_control"), "+cpu +memory");
    check_text(get("leeboard-here/cgroup.subtree_control"), "+cpu +memory");
    check(cgroups_make(g,
        test_arena(),
        "u1",
        "main",
        test_json("{'limits': {'cpu': '1500m', 'memory': '1Gi'}, 'requests': {'cpu': '500m'}}"),
        &procs,
        &err));
    check_text(procs, at("leeboard-here/u1/main/cgroup.procs"));
    check_text(get("leeboard-here/u1/cgroup.subtree_control"), "+cpu +memory");
    check_text(get("leeboard-here/u1/main/cpu.max"), "150000 100000");
    check_text(get("leeboard-here/u1/main/cpu.weight"), "20");
    check_text(get("leeboard-here/u1/main/memory.max"), "1073741824");
    check_text(get("leeboard-here/u1/main/memory.oom.group"), "1");
    check_text(get("leeboard-here/u1/main/memory.swap.max"), "0");

    check(cgroups_make(g, test_arena(), "u1", "free", test_json("{}"), &procs, &err));
    check_text(get("leeboard-here/u1/free/cpu.max"), "max 100000");
    check_text(get("leeboard-here/u1/free/cpu.weight"), "1");
    check_text(get("leeboard-here/u1/free/memory.max"), "max");
    check(!get("leeboard-here/u1/free/memory.oom.group"));

    check(!cgroups_ran_out(g, "u1", "main"));
    put("leeboard-here/u1/main/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 0\n");
    check(!cgroups_ran_out(g, "u1", "main"));
    put("leeboard-here/u1/main/memory.events", "low 0\nhigh 0\nmax 3\noom 1\noom_kill 2\n");
    check(cgroups_ran_out(g, "u1", "main"));
    cgroups_free(g);
    check(tree_remove(root, NULL));
}

TEST(cgroup_groups_of_a_pod_go_with_it)
{
    struct error err;
    root_open("cpu memory\n");
    struct cgroups *g = cgroups_new(root, "leeboard-here", &err);
    check(g);
    static const char *const groups[] = { "leeboard-here/u1",
        "leeboard-here/u1/main",
        "leeboard-here/u1/side",
        "leeboard-here/u2",
        "leeboard-here/u2/main" };
    for (size_t i = 0; i < lengthof(groups); i++)
        check(mkdir(at(groups[i]), 0755) == 0);
    cgroups_remove(g, "u1");
    check(access(at("leeboard-here/u1"), F_OK) != 0);
    check(access(at("leeboard-here/u2/main"), F_OK) == 0);
    cgroups_remove(g, NULL);
    check(access(at("leeboard-here/u2"), F_OK) != 0);
    cgroups_free(g);
    check(tree_remove(root, NULL));
}

TEST(cgroup_says_why_there_are_none)
{
    struct error err;
    root_open(NULL);
    check_fails(cgroups_new(root, "x", &err), err, "there are no control groups of version 2 at");
    put("cgroup.controllers", "cpuset cpu pids\n");
    check_fails(cgroups_new(root, "x", &err), err, "cgroup.controllers has no memory in it");
    check(tree_remove(root, NULL));
}
