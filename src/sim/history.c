#include "sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES_MAX 1000
#define LINE_BYTES 1000

struct line {
    int64_t at_ms;
    const char *actor; /* of one of the few names that live as long as the run */
    char text[LINE_BYTES];
};

struct sim_history {
    struct sim *sim;
    size_t added;
    struct line lines[LINES_MAX];
};

struct sim_history *sim_history_new(struct sim *s)
{
    struct sim_history *h = mem_new_of(struct sim_history);
    h->sim = s;
    return h;
}

void sim_history_free(struct sim_history *h)
{
    free(h);
}

static void print_line(const struct line *l)
{
    printf("%8.3f  %-12s %s\n", (double)l->at_ms / 1000, l->actor, l->text);
}

void sim_history_add(struct sim_history *h, const char *actor, const char *format, ...)
{
    struct line *l = &h->lines[h->added++ % LINES_MAX];
    l->at_ms = h->sim->now_ms;
    l->actor = actor;
    va_list args;
    va_start(args, format);
    vsnprintf(l->text, sizeof(l->text), format, args);
    va_end(args);
    if (h->sim->options.trace)
        print_line(l);
}

bool sim_history_skips(const char *path)
{
    return path && strstr(path, "/leases");
}

void sim_history_print(const struct sim_history *h, size_t lines)
{
    size_t kept = h->added < LINES_MAX ? h->added : LINES_MAX;
    if (lines > kept)
        lines = kept;
    printf("%8s  %-12s %s\n", "seconds", "who", "what -> answer; below it what changed");
    for (size_t i = h->added - lines; i < h->added; i++)
        print_line(&h->lines[i % LINES_MAX]);
}
