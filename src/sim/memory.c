#include "sim/sim.h"

#include <malloc.h>
#include <stdlib.h>

/* 8: one world with many rounds of objects being created and deleted. After each round the same
 * state is left, so the memory of server, operators and everything else must be the same. */

#define ROUNDS 10
#define WARM_ROUNDS 4 /* pools and tables have reached their sizes by then */
#define ROUND_MS (2 * 60 * 1000)
#define SETTLE_MS (40 * 60 * 1000)
#define SLACK_BYTES ((size_t)256 << 10)

static void delete_events(struct sim *s)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    for (size_t i = 0; i < lengthof(sim_namespaces); i++) {
        const char *path = arena_printf(&a, "/api/v1/namespaces/%s/events", sim_namespaces[i]);
        sim_ask(s, "admin", "DELETE", path, NULL, json_none, NULL, NULL);
    }
}

struct sim_trial sim_try_memory(const struct sim_options *from)
{
    struct sim_options o = *from;
    o.poisoned = o.heals = false;
    o.faults_ms = ROUND_MS;
    o.rates.stream_skip = 0; /* lost events would be missing for good */
    struct sim *s = sim_new(&o);
    size_t warm = 0, used = 0;
    for (int round = 0; round < ROUNDS; round++) {
        s->quiet = false;
        s->options.faults_ms = s->now_ms + ROUND_MS;
        sim_scenario_begin(s->scenario);
        sim_run_until(s, s->options.faults_ms);
        s->quiet = true;
        sim_scenario_clear(s->scenario);
        sim_run_until(s, s->now_ms + SETTLE_MS);
        sim_scenario_clear(s->scenario); /* objects restored with their namespace */
        delete_events(s);
        sim_run_until(s, s->now_ms + SETTLE_MS);
        used = mallinfo2().uordblks;
        sim_history_add(s->history, "memory", "%zu bytes", used);
        if (round < WARM_ROUNDS && used > warm)
            warm = used;
    }
    if (used > warm + SLACK_BYTES)
        sim_fail(s,
            "promise 8, memory: %zu bytes are in use after %d rounds, %zu after %d",
            used,
            ROUNDS,
            warm,
            WARM_ROUNDS);
    struct sim_trial trial = {
        .steps = s->steps,
        .failure = s->failure.code == ERR_NONE ? NULL : mem_strdup(s->failure.text),
    };
    sim_free(s);
    return trial;
}
