/* leeboard-sim: see docs/simulation.md. */

#include "sim/sim.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/log.h"
#include "sim/coverage.h"
#include "sim/story.h"

#define FAILURES_MAX 10
/* More requests than that in a tour of a minute mean that the run is not calm. */
#define POINTS_MAX 1000
#define TOUR_MS (60 * 1000)

/* The person's actions in this many worlds cover every field; usually fewer worlds do. */
#define INPUT_SEEDS 16
/* Each story is played with the faults of this many seeds. */
#define STORY_SEEDS 3
#define INPUT_MS ((int64_t)15 * 60 * 1000)

struct run {
    struct sim_options options; /* of the first seed; later ones differ only in the seed */
    int64_t steps, seconds;
    const char *scenario;
    const char *dropped[SIM_WISHES];
    size_t dropped_count;
    bool shrinks, calm;
    uint64_t failures_max;
    uint64_t done, passed, failed;
};

static bool take_number(const char *flag, const char *name, int64_t *ret)
{
    size_t length = strlen(name);
    return strncmp(flag, name, length) == 0 && flag[length] == '=' &&
           str_to_int(str_of(flag + length + 1), ret);
}

/* A 64-bit mask. */
static bool take_mask(const char *flag, const char *name, uint64_t *ret)
{
    size_t length = strlen(name);
    if (strncmp(flag, name, length) != 0 || flag[length] != '=')
        return false;
    char *end;
    errno = 0;
    *ret = strtoull(flag + length + 1, &end, 0);
    return errno == 0 && end != flag + length + 1 && *end == '\0';
}

/* "--crash-at=5" */
static bool take_point(struct run *r, const char *flag)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    int64_t n;
    for (size_t i = 0; i < SIM_POINT_COUNT; i++)
        if (take_number(flag, arena_printf(&a, "--%s-at", sim_point_name(i)), &n)) {
            r->options.at[i] = (uint64_t)n;
            return true;
        }
    return false;
}

static bool take_flag(struct run *r, const char *flag)
{
    int64_t n;
    if (text_eq(flag, "--trace") || text_eq(flag, "--trace=true"))
        r->options.trace = true;
    else if (text_eq(flag, "--heals"))
        r->options.heals = true;
    else if (text_eq(flag, "--tour"))
        r->options.tour = true;
    else if (text_eq(flag, "--calm"))
        r->calm = true;
    else if (text_eq(flag, "--hurry"))
        r->options.hurry = true;
    else if (text_starts(flag, "--story="))
        return (r->options.story = sim_story_find(strchr(flag, '=') + 1)) != NULL;
    else if (text_eq(flag, "--no-shrink"))
        r->shrinks = false;
    else if (text_eq(flag, "--first")) /* stop at the first failure */
        r->failures_max = 1, r->shrinks = false;
    else if (text_starts(flag, "--without=") && r->dropped_count < lengthof(r->dropped))
        r->dropped[r->dropped_count++] = strchr(flag, '=') + 1;
    else if (text_starts(flag, "--scenario="))
        r->scenario = strchr(flag, '=') + 1;
    else if (take_number(flag, "--seed", &n))
        r->options.seed = (uint64_t)n;
    else if (take_number(flag, "--steps", &n))
        r->steps = n;
    else if (take_number(flag, "--seconds", &n))
        r->seconds = n;
    else if (take_number(flag, "--until", &n))
        r->options.faults_ms = n * 1000;
    else if (take_mask(flag, "--only", &r->options.only))
        ;
    else
        return take_point(r, flag);
    return true;
}

/* The options that the seed draws, with those of the command line applied. */
static struct sim_options options_of(const struct run *r, uint64_t seed)
{
    struct sim_options o = sim_options_of(seed);
    for (size_t i = 0; i < r->dropped_count; i++)
        sim_options_drop(&o, r->dropped[i]);
    if (r->calm)
        sim_options_calm(&o);
    o.faults_ms = r->options.faults_ms ? r->options.faults_ms : o.faults_ms;
    o.only &= r->options.only;
    o.heals |= r->options.heals;
    memcpy(o.at, r->options.at, sizeof(o.at));
    if (r->options.tour) {
        o.tour = true;
        o.faults_ms = r->options.faults_ms ? r->options.faults_ms : TOUR_MS;
    }
    o.hurry = r->options.hurry;
    o.story = r->options.story;
    if (o.story) {
        o.heals = o.rivals = false;
        o.mishaps = true;
        /* These changes would not be repaired or retried in this run. */
        o.rates.crd_gone = o.rates.namespace_gone = o.rates.pods_fail = o.rates.withheld = 0;
        o.faults_ms = r->options.faults_ms ? r->options.faults_ms : sim_story_ms(o.story);
    }
    o.trace = r->options.trace;
    o.coverage = r->options.coverage;
    return o;
}

/* True: it passed. */
static bool attempt(struct run *r, const struct sim_options *o, const struct sim_end *plain)
{
    struct sim_trial t = sim_try(o, plain, false);
    r->done += t.steps;
    if (!t.failure) {
        r->passed++;
        sim_trial_done(&t);
        return true;
    }
    r->failed++;
    struct sim_options small = r->shrinks ? sim_shrink(o, t.failure, &r->done) : *o;
    small.trace = false;
    struct sim_trial again = sim_try(&small, NULL, true);
    printf(
        "seed %llu: %s\n", (unsigned long long)o->seed, again.failure ? again.failure : t.failure);
    sim_options_print(&small);
    sim_trial_done(&again);
    sim_trial_done(&t);
    return false;
}

static void random_seeds(struct run *r)
{
    time_t until = time(NULL) + (time_t)r->seconds;
    uint64_t seed = r->options.seed;
    do {
        struct sim_options o = options_of(r, seed++);
        attempt(r, &o, NULL);
    } while ((r->done < (uint64_t)r->steps || time(NULL) < until) && r->failed < r->failures_max);
}

/* One fault at each request of a calm world, in which the person creates an object of every kind,
 * or a story is played. */
static void campaign(struct run *r, enum sim_point point)
{
    r->options.tour = !r->options.story;
    struct sim_options o = options_of(r, r->options.seed);
    sim_options_calm(&o);
    o.heals = !o.story;
    struct sim_trial calm = sim_try(&o, NULL, false);
    r->done += calm.steps;
    if (calm.failure) {
        attempt(r, &o, NULL); /* prints it */
    } else {
        uint64_t *at = &o.at[point];
        printf("%s: %llu points\n", sim_point_campaign(point), (unsigned long long)calm.sent);
        assert(calm.sent <= POINTS_MAX);
        for (*at = 1; *at <= calm.sent && r->failed < r->failures_max; ++*at)
            attempt(r, &o, &calm.end);
    }
    sim_trial_done(&calm);
}

/* Sets every field of every kind, while operators follow. */
static void inputs(struct run *r)
{
    size_t left = 1;
    for (uint64_t i = 0; left && i < INPUT_SEEDS && r->failed < r->failures_max; i++) {
        struct sim_options o = options_of(r, r->options.seed + i);
        sim_options_calm(&o);
        o.hurry = true;
        o.faults_ms = r->options.faults_ms ? r->options.faults_ms : INPUT_MS;
        o.heals = false; /* checks each step, does not compare end states */
        attempt(r, &o, &(struct sim_end){ 0 });
        left = sim_coverage_left(r->options.coverage);
    }
    sim_coverage_print(r->options.coverage);
    *(left ? &r->failed : &r->passed) += 1;
}

/* All stories as written, then with faults. */
static void stories(struct run *r)
{
    for (uint64_t n = 0; n <= STORY_SEEDS; n++)
        for (size_t i = 0; (r->options.story = sim_story_at(i)) && r->failed < r->failures_max;
             i++) {
            struct sim_options o = options_of(r, r->options.seed + n);
            if (n == 0)
                sim_options_calm(&o);
            attempt(r, &o, NULL);
        }
}

static void memory(struct run *r)
{
    struct sim_options o = options_of(r, r->options.seed);
    struct sim_trial t = sim_try_memory(&o);
    r->done += t.steps;
    *(t.failure ? &r->failed : &r->passed) += 1;
    if (t.failure)
        printf("seed %llu: %s\nagain: leeboard-sim --scenario=memory --seed=%llu\n",
            (unsigned long long)o.seed,
            t.failure,
            (unsigned long long)o.seed);
    sim_trial_done(&t);
}

static const struct {
    const char *name;
    void (*play)(struct run *r);
} scenarios[] = {
    { "random", random_seeds },
    { "stories", stories },
    { "inputs", inputs },
    { "memory", memory },
};

static int help(FILE *to, int code)
{
    fputs(
        "usage: leeboard-sim [OPTION]…\n\n"
        "Plays a cluster in which much goes wrong, and checks what the operators do.\n"
        "docs/simulation.md tells more.\n\n"
        "What is played\n"
        "  --seed=N            this world; 1 unless told\n"
        "  --steps=M           and the next ones, until so much has happened\n"
        "  --seconds=T         and the next ones, for so long\n"
        "  --scenario=NAME     random (unless told), stories, inputs, memory; or a fault at every\n"
        "                      request of a tour: crashes, answers, rivals, deletions, stale, "
        "ends\n"
        "  --story=NAME        the person does this:\n",
        to);
    const struct sim_story *story;
    for (size_t i = 0; (story = sim_story_at(i)); i++)
        fprintf(to, "                        %-14s %s\n", story->name, story->what);
    fputs("\nHow it is told\n"
          "  --trace             the history as it happens; nothing is shrunk\n"
          "  --no-shrink         a failing world is not made smaller\n"
          "  --first             the first failure ends it, and is not made smaller\n\n"
          "What a failing world's line is made of\n"
          "  --without=NAME      without this fault, or rivals, standby, poison:\n",
        to);
    const char *name;
    for (size_t i = 0; (name = sim_options_name(i)); i++)
        fprintf(to, "%s%*s%s", i && i % 6 == 0 ? "\n" : "", i % 6 ? 1 : 24, "", name);
    fputs("\n  --calm              without all of them\n"
          "  --until=SECONDS     faults and wishes end then\n"
          "  --only=MASK         the person's wishes, by number\n"
          "  --tour              a plain wish of each kind, edited, taken back\n"
          "  --hurry             five wishes a second\n"
          "  --heals             in the end plain wishes only, and ends are compared\n"
          "  --crash-at=N        one fault at the operator's n-th request; likewise --lose-at,\n"
          "                      --rival-at, --stale-at, --delete-at, --end-at\n",
        to);
    return code;
}

int main(int argc, char **argv)
{
    struct run r = { .options = { .seed = 1, .only = SIM_WISHES_ALL },
        .scenario = "random",
        .shrinks = true,
        .failures_max = FAILURES_MAX };
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (int i = 1; i < argc; i++) {
        bool pair = i + 1 < argc && !strchr(argv[i], '=') && argv[i + 1][0] != '-';
        const char *flag =
            arena_printf(&a, "%s%s%s", argv[i], pair ? "=" : "", pair ? argv[i + 1] : "");
        i += pair;
        if (text_eq(flag, "--help"))
            return help(stdout, 0);
        if (!take_flag(&r, flag))
            return help(stderr, 2);
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    log_setup(LOG_FORMAT_TEXT, r.options.trace ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR);
    r.shrinks &= !r.options.trace;
    r.options.coverage = sim_coverage_new(sim_crds(&a, NULL));
    bool known = false;
    for (size_t i = 0; i < lengthof(scenarios); i++)
        if (text_eq(r.scenario, scenarios[i].name)) {
            known = true;
            scenarios[i].play(&r);
        }
    for (size_t i = 0; i < SIM_POINT_COUNT; i++)
        if (text_eq(r.scenario, sim_point_campaign(i))) {
            known = true;
            campaign(&r, i);
        }
    sim_coverage_free(r.options.coverage);
    if (!known)
        return help(stderr, 2);
    printf("%llu steps\n%llu passed, %llu failed\n",
        (unsigned long long)r.done,
        (unsigned long long)r.passed,
        (unsigned long long)r.failed);
    return r.failed != 0;
}
