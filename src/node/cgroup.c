#include "node/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quantity.h"

#define PERIOD_US 100000
#define QUOTA_MIN_US 1000
#define SHARES_MIN 2
#define SHARES_MAX 262144
#define FILE_BYTES_MAX 4096

struct cgroups {
    char *path; /* ROOT/NAME */
};

static const char *const controllers[] = { "cpu", "memory" };

/* The kernel requires the whole value in one write. */
static bool put(
    struct arena *a, const char *group, const char *file, const char *text, struct error *err)
{
    const char *path = arena_printf(a, "%s/%s", group, file);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ssize_t length = (ssize_t)strlen(text);
    bool ok = fd >= 0 && write(fd, text, (size_t)length) == length;
    int number = errno;
    if (fd >= 0)
        close(fd);
    return ok || fail_errno(err, number, "write %s to %s", text, path);
}

/* These files report size 0, so the size cannot be used. */
static bool get(struct arena *a, const char *path, struct str *ret)
{
    char *text = arena_alloc(a, FILE_BYTES_MAX + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd >= 0 ? read(fd, text, FILE_BYTES_MAX) : -1;
    if (fd >= 0)
        close(fd);
    *ret = (struct str){ text, length > 0 ? (size_t)length : 0 };
    return length >= 0;
}

/* A group whose children may have limits. */
static bool make_parent(struct arena *a, const char *group, struct error *err)
{
    if (mkdir(group, 0755) && errno != EEXIST)
        return fail_errno(err, errno, "make %s", group);
    return put(a, group, "cgroup.subtree_control", "+cpu +memory", err);
}

static bool has_controllers(struct arena *a, const char *root, struct error *err)
{
    struct str text;
    const char *path = arena_printf(a, "%s/cgroup.controllers", root);
    if (!get(a, path, &text))
        return fail(err, ERR_UNSUPPORTED, "there are no control groups of version 2 at %s", root);
    for (size_t i = 0; i < lengthof(controllers); i++) {
        struct str rest = str_trim(text);
        bool found = false;
        while (rest.ptr)
            found = str_eq(str_cut(&rest, ' '), str_of(controllers[i])) || found;
        if (!found)
            return fail(err, ERR_UNSUPPORTED, "%s has no %s in it", path, controllers[i]);
    }
    return true;
}

struct cgroups *cgroups_new(const char *root, const char *name, struct error *err)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *path = arena_printf(&a, "%s/%s", root, name);
    if (!has_controllers(&a, root, err) ||
        !put(&a, root, "cgroup.subtree_control", "+cpu +memory", err) ||
        !make_parent(&a, path, err))
        return NULL;
    struct cgroups *g = mem_new_of(struct cgroups);
    g->path = mem_strdup(path);
    return g;
}

void cgroups_free(struct cgroups *g)
{
    if (!g)
        return;
    rmdir(g->path);
    free(g->path);
    free(g);
}

/* ---- one container ---- */

static bool amount_of(struct json list, const char *name, struct quantity *ret)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json v = json_member(list, name);
    const char *text = json_text(v);
    if (json_is(v, JSON_INT))
        text = arena_printf(&a, "%lld", (long long)v.integer);
    return text && quantity_parse(str_of(text), ret, NULL) && quantity_value(*ret) > 0;
}

/* Converts requests to shares as the kubelet does, and shares to weights as container runtimes
 * do. */
static int64_t weight_of(struct json resources)
{
    struct quantity q;
    struct json requests = json_get(resources, "requests");
    int64_t milli =
        amount_of(requests, "cpu", &q) || amount_of(json_get(resources, "limits"), "cpu", &q)
            ? quantity_milli_value(q)
            : 0;
    int64_t shares = milli > SHARES_MAX ? SHARES_MAX : milli * 1024 / 1000;
    shares = shares < SHARES_MIN ? SHARES_MIN : shares > SHARES_MAX ? SHARES_MAX : shares;
    return 1 + (shares - SHARES_MIN) * 9999 / (SHARES_MAX - SHARES_MIN);
}

static bool set_limits(struct arena *a, const char *group, struct json resources, struct error *err)
{
    struct quantity q;
    struct json limits = json_get(resources, "limits");
    const char *cpu = arena_printf(a, "max %d", PERIOD_US), *memory = "max";
    if (amount_of(limits, "cpu", &q)) {
        int64_t quota = quantity_milli_value(q) > INT64_MAX / PERIOD_US
                            ? INT64_MAX
                            : quantity_milli_value(q) * PERIOD_US / 1000;
        cpu = arena_printf(
            a, "%lld %d", (long long)(quota < QUOTA_MIN_US ? QUOTA_MIN_US : quota), PERIOD_US);
    }
    if (amount_of(limits, "memory", &q)) {
        memory = arena_printf(a, "%lld", (long long)quantity_value(q));
        if (!put(a, group, "memory.oom.group", "1", err))
            return false;
        put(a, group, "memory.swap.max", "0", NULL); /* missing on a machine without swap */
    }
    return put(a, group, "cpu.max", cpu, err) && put(a, group, "memory.max", memory, err) &&
           put(a,
               group,
               "cpu.weight",
               arena_printf(a, "%lld", (long long)weight_of(resources)),
               err);
}

bool cgroups_make(struct cgroups *g, struct arena *a, const char *uid, const char *container,
    struct json resources, const char **ret, struct error *err)
{
    const char *pod = arena_printf(a, "%s/%s", g->path, uid);
    const char *group = arena_printf(a, "%s/%s", pod, container);
    if (!make_parent(a, g->path, err) || !make_parent(a, pod, err))
        return false;
    rmdir(group); /* removes the previous run's counters */
    if (mkdir(group, 0755) && errno != EEXIST)
        return fail_errno(err, errno, "make %s", group);
    *ret = arena_printf(a, "%s/cgroup.procs", group);
    return set_limits(a, group, resources, err);
}

bool cgroups_ran_out(const struct cgroups *g, const char *uid, const char *container)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str rest;
    int64_t count;
    if (!get(&a, arena_printf(&a, "%s/%s/%s/memory.events", g->path, uid, container), &rest))
        return false;
    while (rest.ptr) {
        struct str value = str_cut(&rest, '\n'), name = str_cut(&value, ' ');
        if (str_eq(name, STR("oom_kill")) && str_to_int(value, &count))
            return count > 0;
    }
    return false;
}

/* ---- removing ---- */

static void remove_groups(const char *path, int levels)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    DIR *folder = levels ? opendir(path) : NULL;
    for (struct dirent *e; folder && (e = readdir(folder));)
        if (e->d_type == DT_DIR && e->d_name[0] != '.')
            remove_groups(arena_printf(&a, "%s/%s", path, e->d_name), levels - 1);
    if (folder)
        closedir(folder);
    rmdir(path);
}

void cgroups_remove(struct cgroups *g, const char *uid)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    if (uid)
        remove_groups(arena_printf(&a, "%s/%s", g->path, uid), 1);
    else
        remove_groups(g->path, 2);
}
