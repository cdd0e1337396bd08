#include "cli/up/tasks.h"

#include <dirent.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/str.h"
#include "node/shim.h"

#define NAMED_MAX 10 /* maximum number of programs in a message */

size_t up_tasks(struct arena *a, const char *folder, struct up_task **ret)
{
    const char *pods = arena_printf(a, "%s/node/pods/", folder);
    glob_t found = { 0 };
    size_t count = 0;
    if (glob(arena_printf(a, "%s*/containers/*/*/task", pods), GLOB_NOSORT, NULL, &found) != 0)
        return 0;
    *ret = arena_array(a, found.gl_pathc, sizeof(**ret));
    for (size_t i = 0; i < found.gl_pathc; i++) {
        struct str path = str_of(found.gl_pathv[i]);
        struct shim_task task;
        struct str rest = { path.ptr + strlen(pods), path.len - strlen(pods) };
        const char *directory = arena_strndup(a, path.ptr, path.len - strlen("/task"));
        if (shim_task_read(directory, &task) && task.start &&
            shim_process_start(task.pid) == task.start)
            (*ret)[count++] =
                (struct up_task){ str_dup(a, str_cut(&rest, '/')), task.pid, task.program_pid };
    }
    globfree(&found);
    return count;
}

const char *up_tasks_text(struct arena *a, const char *folder)
{
    struct up_task *tasks;
    size_t count = up_tasks(a, folder, &tasks);
    const char *text = NULL;
    for (size_t i = 0; i < count && i < NAMED_MAX; i++) {
        char name[64] = "";
        FILE *f = fopen(arena_printf(a, "/proc/%d/comm", tasks[i].program_pid), "re");
        if (f && fgets(name, sizeof(name), f))
            name[strcspn(name, "\n")] = '\0';
        if (f)
            fclose(f);
        text = arena_printf(a,
            "%s%s%s (process %d)",
            text ? text : "",
            text ? ", " : "",
            *name ? name : "a program",
            tasks[i].program_pid);
    }
    return count > NAMED_MAX ? arena_printf(a, "%s and %zu more", text, count - NAMED_MAX) : text;
}

/* Session and resident pages in /proc/PID/stat, after the name in parentheses. */
static bool read_stat(const char *pid, int *ret_session, long *ret_pages)
{
    char path[64], text[1024];
    if (snprintf(path, sizeof(path), "/proc/%s/stat", pid) >= (int)sizeof(path))
        return false;
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t count = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[count] = '\0';
    const char *rest = strrchr(text, ')');
    return rest && sscanf(rest + 1,
                       " %*c %*d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
                       "%*d %*u %*u %ld",
                       ret_session,
                       ret_pages) == 2;
}

int64_t up_tasks_bytes(const struct up_task *tasks, size_t count, const char *uid)
{
    DIR *all = opendir("/proc");
    int64_t pages = 0;
    for (struct dirent *e; all && (e = readdir(all));) {
        int session;
        long resident;
        if (e->d_name[0] < '1' || e->d_name[0] > '9' || !read_stat(e->d_name, &session, &resident))
            continue;
        for (size_t i = 0; i < count; i++)
            if (tasks[i].pid == session && text_eq(tasks[i].uid, uid) &&
                strtol(e->d_name, NULL, 10) != session)
                pages += resident;
    }
    if (all)
        closedir(all);
    return pages * sysconf(_SC_PAGESIZE);
}
