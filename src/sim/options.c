#include "sim/sim.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "sim/story.h"

#define FAULTS_MS (3 * 60 * 1000)

/* The faults by name, and the highest rate in 1/1000 that a seed may draw for each. */
static const struct fault {
    const char *name;
    size_t offset;
    unsigned most;
} faults[] = {
#define FAULT(field, most)                                                                         \
    {                                                                                              \
#field, offsetof(struct sim_rates, field), most                                            \
    }
    FAULT(request_lost, 80),
    FAULT(answer_lost, 80),
    FAULT(repeated, 80),
    FAULT(slow, 80),
    FAULT(busy, 80),
    FAULT(failing, 150),
    FAULT(forbidden, 20),
    FAULT(stream_cut, 100),
    FAULT(stream_stall, 30),
    FAULT(stream_gone, 200),
    FAULT(crash, 10),
    FAULT(pause, 10),
    FAULT(clock_jump, 20),
    FAULT(effect_fails, 400),
    FAULT(pods_fail, 300),
    FAULT(disk_full, 30),
    FAULT(disk_slow, 60),
    FAULT(server_crash, 6),
    FAULT(stream_twice, 200),
    FAULT(stream_lag, 300),
    FAULT(crd_gone, 60),
    FAULT(crd_optional, 200),
    FAULT(namespace_gone, 80),
    FAULT(withheld, 999),
    FAULT(stream_skip, 40),
    FAULT(astray, 40),
#undef FAULT
};

static const struct {
    const char *name, *campaign;
} points[SIM_POINT_COUNT] = {
    [SIM_CRASH_AT] = { "crash", "crashes" },
    [SIM_LOSE_AT] = { "lose", "answers" },
    [SIM_RIVAL_AT] = { "rival", "rivals" },
    [SIM_STALE_AT] = { "stale", "stale" },
    [SIM_DELETE_AT] = { "delete", "deletions" },
    [SIM_END_AT] = { "end", "ends" },
};

const char *sim_point_name(enum sim_point p)
{
    return points[p].name;
}

const char *sim_point_campaign(enum sim_point p)
{
    return points[p].campaign;
}

static uint16_t *rate_of(struct sim_options *o, const struct fault *f)
{
    return (uint16_t *)(void *)((char *)&o->rates + f->offset);
}

static uint16_t draw(uint64_t *random, unsigned most)
{
    *random = *random * 6364136223846793005 + 1442695040888963407;
    /* Most faults are off in most runs, so that each one is also tested alone. */
    return (*random >> 33) % 3 ? 0 : (uint16_t)((*random >> 40) % (most + 1));
}

struct sim_options sim_options_of(uint64_t seed)
{
    uint64_t r = seed * 0x9e3779b97f4a7c15 + 1;
    struct sim_options o = {
        .seed = seed,
        .operators = 1 + seed % 2,
        .rivals = seed % 4 != 3,
        .heals = seed % 3 != 0,
        .poisoned = true,
        .faults_ms = FAULTS_MS,
        .only = SIM_WISHES_ALL,
    };
    for (size_t i = 0; i < lengthof(faults); i++)
        *rate_of(&o, &faults[i]) = draw(&r, faults[i].most);
    return o;
}

void sim_options_calm(struct sim_options *o)
{
    o->rates = (struct sim_rates){ 0 };
    o->operators = 1;
    o->rivals = false;
    o->poisoned = false;
}

bool sim_options_drop(struct sim_options *o, const char *name)
{
    if (text_eq(name, "rivals")) {
        bool had = o->rivals;
        o->rivals = false;
        return had;
    }
    if (text_eq(name, "poison")) {
        bool had = o->poisoned;
        o->poisoned = false;
        return had;
    }
    if (text_eq(name, "standby")) {
        bool had = o->operators > 1;
        o->operators = 1;
        return had;
    }
    for (size_t i = 0; i < lengthof(faults); i++)
        if (text_eq(faults[i].name, name)) {
            bool had = *rate_of(o, &faults[i]) != 0;
            *rate_of(o, &faults[i]) = 0;
            return had;
        }
    return false;
}

const char *sim_options_name(size_t i)
{
    return i < lengthof(faults)        ? faults[i].name
           : i == lengthof(faults)     ? "rivals"
           : i == lengthof(faults) + 1 ? "standby"
           : i == lengthof(faults) + 2 ? "poison"
                                       : NULL;
}

bool sim_is_faultless(const struct sim_options *o)
{
    static const struct sim_rates none;
    return memcmp(&o->rates, &none, sizeof(none)) == 0;
}

static bool is_calm(const struct sim_options *o)
{
    return sim_is_faultless(o) && o->operators < 2 && !o->rivals && !o->poisoned;
}

void sim_options_print(const struct sim_options *o)
{
    struct sim_options fresh = sim_options_of(o->seed), probe;
    printf("again: leeboard-sim --seed=%llu", (unsigned long long)o->seed);
    const char *name;
    for (size_t i = 0; !is_calm(o) && (name = sim_options_name(i)); i++) {
        struct sim_options had = fresh;
        probe = *o;
        if (sim_options_drop(&had, name) && !sim_options_drop(&probe, name))
            printf(" --without=%s", name);
    }
    if (is_calm(o))
        printf(" --calm");
    if (o->story)
        printf(" --story=%s", o->story->name);
    if (o->faults_ms != (o->story ? sim_story_ms(o->story) : fresh.faults_ms))
        printf(" --until=%lld", (long long)o->faults_ms / 1000);
    if (o->only != fresh.only)
        printf(" --only=0x%llx", (unsigned long long)o->only);
    if (o->tour)
        printf(" --tour");
    if (o->hurry)
        printf(" --hurry");
    if (o->heals && !fresh.heals)
        printf(" --heals");
    for (size_t i = 0; i < SIM_POINT_COUNT; i++)
        if (o->at[i])
            printf(" --%s-at=%llu", sim_point_name(i), (unsigned long long)o->at[i]);
    printf(" --trace\n");
}
