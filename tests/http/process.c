#include "http/process.h"

#include <signal.h>
#include <unistd.h>

#include "base/arena.h"
#include "tests/http/rig.h"

struct ran {
    struct loop *loop;
    bool ended;
    int exit_code, signal;
    char output[64], errors[64];
    size_t output_bytes, errors_bytes;
    struct error err;
};

static void keep(char text[64], struct str s)
{
    snprintf(text, 64, "%.*s", (int)(s.len < 63 ? s.len : 63), s.ptr ?: "");
}

static void has_ended(void *ctx, const struct process_result *result)
{
    struct ran *ran = ctx;
    check(!ran->ended);
    ran->ended = true;
    ran->exit_code = result->exit_code;
    ran->signal = result->signal;
    ran->output_bytes = result->output.len;
    ran->errors_bytes = result->errors.len;
    keep(ran->output, result->output);
    keep(ran->errors, result->errors);
    if (result->err)
        ran->err = *result->err;
}

static struct ran run(struct process_options *options, const char *script)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    if (!options->argv)
        options->argv = argv;
    struct ran ran = { .loop = loop_new() };
    struct process *p = process_start(ran.loop, options, has_ended, &ran);
    check(p && !ran.ended);
    await(&ran, ran.ended);
    loop_free(ran.loop);
    return ran;
}

TEST(process_is_fed_read_and_waited_for)
{
    struct ran ran = run(
        &(struct process_options){
            .input = STR("ahoy"),
            .extra_env = (const char *const[]){ "LEE=board", "HOME=/nowhere", NULL },
            .directory = "/",
        },
        "cat; echo \" $LEE $HOME $PWD\"; echo bad >&2; exit 3");
    check_text(ran.err.text, "");
    check_int(ran.exit_code, 3);
    check_text(ran.output, "ahoy board /nowhere /\n");
    check_text(ran.errors, "bad\n");
}

TEST(process_that_does_not_exist_is_told_later)
{
    struct process_options options = { .argv = (const char *const[]){ "no-such-program", NULL } };
    struct ran ran = run(&options, NULL);
    check_int(ran.err.code, ERR_NOT_FOUND);
    check(strstr(ran.err.text, "no-such-program"));
}

TEST(process_ended_by_a_signal_says_which)
{
    struct ran ran = run(&(struct process_options){ 0 }, "kill -TERM $$");
    check_int(ran.exit_code, -1);
    check_int(ran.signal, SIGTERM);
}

/* A zombie that nobody has reaped yet does not count. */
static bool is_running(int64_t pid)
{
    char state = 'Z';
    FILE *f = fopen(arena_printf(test_arena(), "/proc/%lld/stat", (long long)pid), "r");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    if (f)
        fclose(f);
    return state != 'Z';
}

TEST(process_that_takes_too_long_is_killed_with_its_children)
{
    struct ran ran = { 0 };
    int64_t child = 0;
    /* On a busy machine a shell may need long to begin. */
    for (int64_t ms = 500; !child && ms < AWAIT_MAX_MS; ms *= 4) {
        ran =
            run(&(struct process_options){ .timeout_ms = ms }, "sleep 1000 & echo $!; sleep 1000");
        check_int(ran.err.code, ERR_TIMEOUT);
        if (!str_to_int(str_trim(str_of(ran.output)), &child))
            child = 0;
    }
    check(child > 0);
    for (int i = 0; i < AWAIT_MAX_MS && is_running(child); i++)
        usleep(1000); /* the signal is on its way */
    check(!is_running(child));
}

TEST(process_that_says_too_much_is_killed)
{
    struct ran ran = run(&(struct process_options){ .output_bytes_max = 10000 }, "yes");
    check_int(ran.err.code, ERR_TOO_LARGE);
    check(ran.output_bytes <= 10000);
}

TEST(process_errors_keep_their_end)
{
    struct ran ran =
        run(&(struct process_options){ 0 }, "yes no | head -c 100000 >&2; echo >&2 why");
    check_text(ran.err.text, "");
    check_int((int64_t)ran.errors_bytes, 4096);
}

TEST(process_that_does_not_read_its_input_is_fine)
{
    char *much = arena_alloc(test_arena(), 1000000);
    struct ran ran =
        run(&(struct process_options){ .input = { much, 1000000 } }, "exec <&-; exit 0");
    check_text(ran.err.text, "");
    check_int(ran.exit_code, 0);
}

TEST(process_can_be_cancelled)
{
    struct ran ran = { .loop = loop_new() };
    const char *argv[] = { "sleep", "1000", NULL };
    struct process *p =
        process_start(ran.loop, &(struct process_options){ .argv = argv }, has_ended, &ran);
    rig_turn(ran.loop);
    process_cancel(p);
    loop_free(ran.loop); /* waits for the exit */
    check(!ran.ended);
}
