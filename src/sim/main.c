/* leeboard-sim: see docs/simulation.md. */

#include "sim/sim.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

/* After the last fault everything must be settled by then; the longest back-off is five minutes. */
#define SETTLE_MS (20 * 60 * 1000)
#define REST_MS (20 * 60 * 1000)
#define FAULTS_MS (3 * 60 * 1000)

struct outcome {
    bool ok;
    uint64_t steps, requests, injected, sent;
    char *end; /* the end state; to be freed */
};

static struct outcome play(const struct sim_options *options, bool tell)
{
    struct sim *s = sim_new(options);
    sim_run_until(s, options->faults_ms);
    s->quiet = true;
    sim_run_until(s, options->faults_ms + SETTLE_MS);
    sim_check_rest(s->checks);
    sim_run_until(s, options->faults_ms + SETTLE_MS + REST_MS);
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct outcome outcome = {
        .ok = s->failure.code == ERR_NONE,
        .steps = s->steps,
        .requests = s->requests,
        .injected = s->injected,
        .sent = s->operators[0]->sent,
        .end = mem_strdup(sim_end_state(s, &a)),
    };
    if (!outcome.ok && tell) {
        sim_history_print(s->history, 60);
        printf("seed %llu: %s\n", (unsigned long long)options->seed, s->failure.text);
    }
    sim_free(s);
    return outcome;
}

#define DIFFERENCES_MAX 4
#define CONTEXT_BYTES 60

static void print_around(const char *name, const char *line, size_t length, size_t at)
{
    size_t from = at > CONTEXT_BYTES ? at - CONTEXT_BYTES : 0;
    size_t shown = length - from < 5 * CONTEXT_BYTES ? length - from : (size_t)5 * CONTEXT_BYTES;
    printf("  %-8s %.*s… %.*s\n", name, (int)strcspn(line, "{\n"), line, (int)shown, line + from);
}

/* The lines in which two end states differ: the object, and the text around the difference. */
static void print_differences(const char *with, const char *without)
{
    for (size_t told = 0; told < DIFFERENCES_MAX && (*with || *without);) {
        size_t length = strcspn(with, "\n"), other = strcspn(without, "\n"), at = 0;
        size_t name = strcspn(with, "{\n"), other_name = strcspn(without, "{\n");
        while (at < length && at < other && with[at] == without[at])
            at++;
        int order = !*with      ? 1
                    : !*without ? -1
                                : strncmp(with, without, name < other_name ? name : other_name);
        if (at < length || at < other) {
            told++;
            if (order <= 0)
                print_around("with", with, length, at < length ? at : length);
            if (order >= 0)
                print_around("without", without, other, at < other ? at : other);
        }
        if (order <= 0)
            with += length + (with[length] == '\n');
        if (order >= 0)
            without += other + (without[other] == '\n');
    }
}

static uint16_t rate(uint64_t *random, unsigned most)
{
    *random = *random * 6364136223846793005 + 1442695040888963407;
    /* Most faults are off in most runs: each is then seen by itself too. */
    return (*random >> 33) % 3 ? 0 : (uint16_t)((*random >> 40) % (most + 1));
}

static struct sim_options options_of(uint64_t seed)
{
    uint64_t r = seed * 0x9e3779b97f4a7c15 + 1;
    return (struct sim_options){
        .seed = seed,
        .operators = 1 + seed % 2,
        .rivals = seed % 4 != 3,
        .heals = seed % 3 != 0,
        .faults_ms = FAULTS_MS,
        .rates = {
            .request_lost = rate(&r, 80),
            .answer_lost = rate(&r, 80),
            .repeated = rate(&r, 80),
            .slow = rate(&r, 80),
            .busy = rate(&r, 80),
            .failing = rate(&r, 150),
            .stream_cut = rate(&r, 100),
            .stream_stall = rate(&r, 30),
            .stream_gone = rate(&r, 200),
            .crash = rate(&r, 10),
            .pause = rate(&r, 10),
            .effect_fails = rate(&r, 400),
        },
    };
}

/* One seed: with its faults, then without, which must come to the same. */
static bool try_seed(uint64_t seed, bool trace, uint64_t *steps)
{
    struct sim_options options = options_of(seed);
    options.trace = trace;
    struct outcome with = play(&options, true), without = { .ok = true };
    *steps += with.steps;
    bool ok = with.ok;
    if (ok) {
        options.rates = (struct sim_rates){ 0 };
        options.trace = trace;
        without = play(&options, true);
        *steps += without.steps;
        ok = without.ok;
        if (ok && options.heals && strcmp(with.end, without.end) != 0) {
            printf("seed %llu: promise 5: the end is not the same as without faults\n",
                (unsigned long long)seed);
            print_differences(with.end, without.end);
            ok = false;
        }
    }
    if (!ok)
        printf("again: leeboard-sim --seed %llu --trace\n", (unsigned long long)seed);
    free(with.end);
    free(without.end);
    return ok;
}

static int usage(void)
{
    fputs("usage: leeboard-sim [--seed N] [--steps M] [--trace]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int64_t seed = 1, steps = 0;
    bool trace = false;
    for (int i = 1; i < argc; i++) {
        if (text_eq(argv[i], "--trace"))
            trace = true;
        else if (i + 1 < argc && text_eq(argv[i], "--seed") &&
                 str_to_int(str_of(argv[i + 1]), &seed))
            i++;
        else if (i + 1 < argc && text_eq(argv[i], "--steps") &&
                 str_to_int(str_of(argv[i + 1]), &steps))
            i++;
        else
            return usage();
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    log_setup(LOG_FORMAT_TEXT, trace ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
    uint64_t done = 0, passed = 0, failed = 0;
    do {
        if (try_seed((uint64_t)seed++, trace, &done))
            passed++;
        else
            failed++;
    } while (done < (uint64_t)steps && failed < 10);
    printf("%llu steps\n%llu passed, %llu failed\n",
        (unsigned long long)done,
        (unsigned long long)passed,
        (unsigned long long)failed);
    return failed != 0;
}
