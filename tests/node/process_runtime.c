/* Real processes: small shells below real supervisors. */

#include "node/process_runtime.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kube/file.h"
#include "node/shim.h"
#include "tests/http/rig.h"

struct place {
    struct loop *loop;
    struct process_runtime *runtime;
    const struct node_runtime *node;
    const char *dir;
    int ended;
};

static void note_end(void *ctx)
{
    ((struct place *)ctx)->ended++;
}

static void place_open(struct place *p, struct process_runtime_options options)
{
    char name[] = "/tmp/leeboard-node-XXXXXX";
    *p = (struct place){ .loop = loop_new() };
    check(mkdtemp(name));
    p->dir = arena_strdup(test_arena(), name);
    p->runtime = process_runtime_new(p->loop, &options);
    p->node = process_runtime_node(p->runtime);
}

static void place_close(struct place *p)
{
    process_runtime_free(p->runtime);
    loop_free(p->loop);
    const char *rm = arena_printf(test_arena(), "rm -rf %s", p->dir);
    check(system(rm) == 0);
}

static const char *at(struct place *p, const char *name)
{
    return arena_printf(test_arena(), "%s/%s", p->dir, name);
}

static struct runtime_spec script(struct place *p, const char *name, const char *text)
{
    const char **argv = arena_array(test_arena(), 4, sizeof(*argv));
    const char **envp = arena_array(test_arena(), 3, sizeof(*envp));
    argv[0] = "sh", argv[1] = "-c", argv[2] = text;
    envp[0] = "PATH=/usr/bin:/bin", envp[1] = "LEE=board";
    return (struct runtime_spec){ .directory = at(p, name),
        .argv = argv,
        .envp = envp,
        .log = arena_printf(test_arena(), "%s/%s.log", p->dir, name) };
}

static struct runtime_task *start(struct place *p, const struct runtime_spec *spec)
{
    struct error err;
    struct runtime_task *t =
        p->node->start(p->node->self, spec, (struct runtime_watch){ note_end, p }, &err);
    if (!t)
        test_fail(__FILE__, __LINE__, "%s", err.text);
    return t;
}

static const char *contents(const char *path)
{
    struct str text;
    struct error err;
    return file_read(test_arena(), path, 1 << 20, &text, &err) ? text.ptr : NULL;
}

/* The log without its times: "stdout F text\n…". */
static const char *lines_of(const char *path)
{
    struct buf b = BUF_INIT(1 << 20);
    struct str rest = str_of(contents(path));
    while (rest.ptr) {
        struct str line = str_cut(&rest, '\n');
        str_cut(&line, ' ');
        if (line.ptr)
            buf_printf(&b, "%.*s\n", (int)line.len, line.ptr);
    }
    const char *all = arena_strdup(test_arena(), buf_text(&b));
    buf_done(&b);
    return all;
}

TEST(process_runtime_gives_a_program_another_user_where_it_may)
{
    static const uint32_t more[] = { 4321 };
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    struct runtime_user user = { .user = 1234, .group = 2345, .groups = more, .group_count = 1 };
    struct runtime_spec spec = script(&p, "a", "id -u; id -G");
    spec.user = &user;
    spec.cwd = "/";
    struct runtime_task *t = start(&p, &spec);
    await(&p, p.ended);
    bool theirs = strstr(lines_of(spec.log), "stdout F 1234\nstdout F 2345 4321\n");
    check(theirs == p.node->users);
    p.node->release(p.node->self, t);
    place_close(&p);
}

TEST(process_runtime_runs_a_program_and_keeps_what_it_says)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    struct runtime_spec spec = script(&p, "a", "echo $LEE $HOME; echo bad >&2; printf end; exit 3");
    struct runtime_task *t = start(&p, &spec);
    await(&p, p.ended);
    struct runtime_state s = p.node->state(p.node->self, t);
    check_int(s.phase, RUNTIME_EXITED);
    check_int(s.exit_code, 3);
    check(!s.lost && s.started_ms > 0 && s.finished_ms >= s.started_ms);
    check(strstr(lines_of(spec.log), "stdout F board\n"));
    check(strstr(lines_of(spec.log), "stderr F bad\n"));
    check(strstr(lines_of(spec.log), "stdout F end\n"));
    p.node->release(p.node->self, t);
    place_close(&p);
}

TEST(process_runtime_says_why_a_program_cannot_start)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    struct error err;
    struct runtime_spec spec = script(&p, "a", "");
    spec.argv = (const char *const[]){ "no-such-program", NULL };
    check_fails(p.node->start(p.node->self, &spec, (struct runtime_watch){ note_end, &p }, &err),
        err,
        "no-such-program");
    check_int(err.code, ERR_NOT_FOUND);
    spec = script(&p, "b", "");
    spec.cwd = "/no/such/place";
    check_fails(p.node->start(p.node->self, &spec, (struct runtime_watch){ note_end, &p }, &err),
        err,
        "working directory /no/such/place");
    place_close(&p);
}

static bool runs(int64_t pid)
{
    return shim_process_start((int)pid) != 0;
}

static int64_t number_in(const char *path)
{
    int64_t n;
    const char *text = contents(path);
    return text && text_ends(text, "\n") && str_to_int(str_trim(str_of(text)), &n) ? n : 0;
}

TEST(process_runtime_leaves_no_orphan_not_even_one_in_a_session_of_its_own)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    const char *pid_file = at(&p, "pid");
    struct runtime_spec spec = script(&p,
        "a",
        arena_printf(test_arena(),
            "setsid sh -c 'echo $$ >%s; exec sleep 1000' & while ! [ -s %s ]; do sleep 0.01; done",
            pid_file,
            pid_file));
    struct runtime_task *t = start(&p, &spec);
    await(&p, p.ended);
    check_int(p.node->state(p.node->self, t).exit_code, 0);
    check(number_in(pid_file) > 0);
    check(!runs(number_in(pid_file)));
    p.node->release(p.node->self, t);
    place_close(&p);
}

TEST(process_runtime_asks_first_and_kills_then)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    struct runtime_spec deaf = script(&p,
        "a",
        arena_printf(test_arena(),
            "trap 'echo asked' TERM; echo $$ >%s; while :; do sleep 0.02; done",
            at(&p, "pid")));
    struct runtime_task *t = start(&p, &deaf);
    await(&p, number_in(at(&p, "pid")));
    p.node->stop(p.node->self, t, false);
    await(&p, strstr(lines_of(deaf.log), "asked"));
    check_int(p.node->state(p.node->self, t).phase, RUNTIME_RUNNING);
    p.node->stop(p.node->self, t, true);
    await(&p, p.ended);
    check_int(p.node->state(p.node->self, t).exit_code, 137);
    check_int(p.node->state(p.node->self, t).signal, SIGKILL);
    p.node->release(p.node->self, t);
    place_close(&p);
}

TEST(process_runtime_adopts_what_runs_and_what_ended_meanwhile)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    struct runtime_spec spec = script(&p,
        "a",
        arena_printf(test_arena(), "while ! [ -e %s ]; do sleep 0.02; done; exit 7", at(&p, "go")));
    struct runtime_task *t = start(&p, &spec);
    int pid = p.node->state(p.node->self, t).pid;
    p.node->release(p.node->self, t);
    struct runtime_watch watch = { note_end, &p };
    t = p.node->adopt(p.node->self, spec.directory, watch);
    check(t && p.node->state(p.node->self, t).pid == pid);
    check(system(arena_printf(test_arena(), "touch %s", at(&p, "go"))) == 0);
    await(&p, p.ended);
    check_int(p.node->state(p.node->self, t).exit_code, 7);
    p.node->release(p.node->self, t);
    t = p.node->adopt(p.node->self, spec.directory, watch);
    await(&p, p.ended == 2);
    check_int(p.node->state(p.node->self, t).exit_code, 7);
    check(!p.node->state(p.node->self, t).lost);
    p.node->release(p.node->self, t);
    check(!p.node->adopt(p.node->self, at(&p, "nothing"), watch));
    place_close(&p);
}

TEST(process_runtime_whose_supervisor_is_killed_loses_the_program_with_it)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    struct runtime_spec spec = script(&p, "a", "sleep 1000");
    struct runtime_task *t = start(&p, &spec);
    int pid = p.node->state(p.node->self, t).pid;
    struct shim_task shim;
    check(shim_task_read(spec.directory, &shim));
    kill(shim.pid, SIGKILL);
    await(&p, p.ended);
    check(p.node->state(p.node->self, t).lost);
    check_int(p.node->state(p.node->self, t).exit_code, 137);
    await(&p, !runs(pid));
    p.node->release(p.node->self, t);
    place_close(&p);
}

TEST(process_runtime_waits_for_what_was_released_while_it_ran)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    struct runtime_spec spec = script(&p, "a", "sleep 1000");
    struct runtime_task *t = start(&p, &spec);
    struct shim_task shim;
    check(shim_task_read(spec.directory, &shim));
    p.node->stop(p.node->self, t, true);
    p.node->release(p.node->self, t);
    /* A zombie would still take the signal. */
    await(&p, kill(shim.pid, 0) != 0);
    check_int(p.ended, 0);
    place_close(&p);
}

TEST(process_runtime_survives_our_death_unless_told_otherwise)
{
    for (int dies = 0; dies < 2; dies++) {
        struct place p;
        place_open(&p, (struct process_runtime_options){ .dies_with_us = dies });
        struct runtime_spec spec = script(&p, "a", "sleep 1000");
        pid_t us = fork();
        if (us == 0) {
            start(&p, &spec);
            kill(getpid(), SIGKILL);
        }
        check(waitpid(us, NULL, 0) == us);
        struct runtime_task *t =
            p.node->adopt(p.node->self, spec.directory, (struct runtime_watch){ note_end, &p });
        check(t);
        if (!dies) {
            check(runs(p.node->state(p.node->self, t).pid));
            p.node->stop(p.node->self, t, false);
        }
        await(&p, p.ended);
        check_int(p.node->state(p.node->self, t).signal, SIGTERM);
        p.node->release(p.node->self, t);
        place_close(&p);
    }
}

TEST(process_runtime_rotates_logs_and_cuts_endless_lines)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ .log_bytes_max = 4096, .log_files = 3 });
    struct runtime_spec spec = script(&p,
        "a",
        "i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; head -c 20000 /dev/zero | "
        "tr '\\0' x");
    struct runtime_task *t = start(&p, &spec);
    await(&p, p.ended);
    struct stat st;
    check(stat(arena_printf(test_arena(), "%s.2", spec.log), &st) == 0);
    check(stat(arena_printf(test_arena(), "%s.3", spec.log), &st) != 0);
    check(strstr(contents(spec.log), " stdout P xxxx") ||
          strstr(contents(arena_printf(test_arena(), "%s.1", spec.log)), " stdout P xxxx"));
    p.node->release(p.node->self, t);
    place_close(&p);
}

TEST(process_runtime_gives_root_its_own_file_system)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    if (!p.node->mounts) { /* not root: nothing to see */
        place_close(&p);
        return;
    }
    check(mkdir(at(&p, "vol"), 0755) == 0);
    check(system(arena_printf(test_arena(), "echo inside >%s", at(&p, "vol/file"))) == 0);
    struct root_mount mounts[] = {
        { at(&p, "vol/file"), "/etc/leeboard-test/deep/file", true },
        { at(&p, "vol"), "/leeboard-test-models", false },
        { at(&p, "vol"), "/var/run/leeboard-test", true },
    };
    struct runtime_spec spec = script(&p,
        "a",
        "cat /etc/leeboard-test/deep/file && test -e /etc/passwd && echo out "
        ">/leeboard-test-models/"
        "new && ! touch /var/run/leeboard-test/x && while ! [ -e /leeboard-test-models/go ]; do "
        "sleep 0.02; done");
    spec.mounts = mounts;
    spec.mount_count = lengthof(mounts);
    spec.cwd = "/leeboard-test-models";
    struct runtime_task *t = start(&p, &spec);
    await(&p, contents(at(&p, "vol/new")));
    struct error err;
    struct runtime_spec command = script(&p, "b", "echo >go; test -e /var/run/leeboard-test/go");
    command.cwd = "/leeboard-test-models";
    struct runtime_task *e =
        p.node->exec(p.node->self, t, &command, (struct runtime_watch){ note_end, &p }, &err);
    check(e);
    await(&p, p.ended == 2);
    check_int(p.node->state(p.node->self, e).exit_code, 0);
    check_int(p.node->state(p.node->self, t).exit_code, 0);
    check_text(contents(at(&p, "vol/new")), "out\n");
    check(access("/leeboard-test-models", F_OK) != 0);
    check(access("/etc/leeboard-test", F_OK) != 0);
    p.node->release(p.node->self, e);
    p.node->release(p.node->self, t);
    place_close(&p);
}

TEST(process_runtime_keeps_all_mounts_beside_each_other)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    if (!p.node->mounts) { /* not root: nothing to see */
        place_close(&p);
        return;
    }
    check(mkdir(at(&p, "vol"), 0755) == 0);
    check(system(arena_printf(test_arena(), "echo ours >%s", at(&p, "vol/file"))) == 0);
    struct root_mount mounts[] = {
        { .from = at(&p, "vol/file"), .to = "/etc/hosts" },
        { .from = at(&p, "vol"), .to = "/etc/leeboard-test" },
        { .from = at(&p, "vol"), .to = "/usr/bin/leeboard-test/deep" },
        { .from = at(&p, "vol"), .to = "/usr/leeboard-test" },
    };
    struct runtime_spec spec = script(&p,
        "a",
        "cmp /etc/hosts /etc/leeboard-test/file && cmp /etc/hosts /usr/bin/leeboard-test/deep/file "
        "&& cmp /etc/hosts /usr/leeboard-test/file && grep -q ours /etc/hosts");
    spec.mounts = mounts;
    spec.mount_count = lengthof(mounts);
    struct runtime_task *t = start(&p, &spec);
    await(&p, p.ended == 1);
    check_int(p.node->state(p.node->self, t).exit_code, 0);
    p.node->release(p.node->self, t);
    place_close(&p);
}

static void feed(struct place *p, struct runtime_task *t, const char *text)
{
    struct error err;
    int fd = p->node->input(p->node->self, t, &err);
    if (fd < 0)
        test_fail(__FILE__, __LINE__, "%s", err.text);
    check_int(write(fd, text, strlen(text)), (int64_t)strlen(text));
    close(fd);
}

TEST(process_runtime_feeds_a_program_across_writers_and_until_it_is_told)
{
    struct place p;
    place_open(&p, (struct process_runtime_options){ 0 });
    struct runtime_spec spec =
        script(&p, "a", "while read -r word; do echo got $word; done; echo over; exit 3");
    spec.input = true;
    struct runtime_task *t = start(&p, &spec);
    feed(&p, t, "one\n");
    await(&p, strstr(lines_of(spec.log), "got one"));
    p.node->release(p.node->self, t);
    t = p.node->adopt(p.node->self, spec.directory, (struct runtime_watch){ note_end, &p });
    feed(&p, t, "two\nthr");
    feed(&p, t, "ee\n");
    await(&p, strstr(lines_of(spec.log), "got three"));
    check(strstr(lines_of(spec.log), "got two"));
    check_int(p.ended, 0);
    p.node->end_input(p.node->self, t);
    await(&p, p.ended == 1);
    check_int(p.node->state(p.node->self, t).exit_code, 3);
    struct error err;
    check(p.node->input(p.node->self, t, &err) < 0);
    p.node->release(p.node->self, t);
    place_close(&p);
}
