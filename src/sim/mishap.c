#include "sim/sim.h"

#include "sim/story.h"

/* What goes wrong in a story: a step whose kind is one of these, and whose name is a part of a
 * path, or the field to take again and again. All but LAG_NAME and TAKEN_NAME wait for the next
 * such write of an operator. */

#define LAG_NAME "~watch lags"
#define LAG_MS 10000
#define TAKEN_NAME "~taken"

static const struct mishap {
    const char *name;
    enum sim_mishap what;
    const char *method, *body; /* another client's request just before it arrives; NULL: none */
} mishaps[] = {
    { "~answer lost", SIM_MISHAP_LOST, NULL, NULL },
    { "~arrives late", SIM_MISHAP_LATE, NULL, NULL },
    { "~forbidden", SIM_MISHAP_FORBIDDEN, NULL, NULL },
    { "~ends", SIM_MISHAP_END, NULL, NULL },
    { "~edited before",
        SIM_MISHAP_NONE,
        "PATCH",
        "{\"metadata\":{\"annotations\":{\"person.example/note\":\"edited\"}}}" },
    { "~deleted after", SIM_MISHAP_DELETED, NULL, NULL },
    { "~deleted before", SIM_MISHAP_NONE, "DELETE", NULL },
};

bool sim_step_is_mishap(const struct sim_step *step)
{
    return step->kind[0] == '~';
}

void sim_mishap_begin(struct sim *s, const struct sim_step *step)
{
    bool taken = text_eq(step->kind, TAKEN_NAME);
    if (!taken && !text_eq(step->kind, LAG_NAME)) {
        s->mishap = step;
        return;
    }
    sim_history_add(s->history, taken ? "taker" : "server", "%s: %s", step->kind, step->name);
    if (taken) {
        sim_rivals_take(s->rivals, step->name);
        return;
    }
    for (size_t i = 0; i < s->options.operators; i++)
        sim_operator_lag(s->operators[i], step->name, LAG_MS);
}

static void meddle(struct sim *s, const struct mishap *m, const struct sim_request *request)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json body = { 0 };
    struct error err;
    const char *path = arena_strndup(&a, request->path, strcspn(request->path, "?"));
    const char *type = m->body ? "application/merge-patch+json" : NULL;
    if (m->body && !json_parse(&a, str_of(m->body), &body, &err))
        sim_fail(s, "%s", err.text);
    sim_ask(s, "person", m->method, path, type, body, NULL, NULL);
}

enum sim_mishap sim_mishap_at(struct sim *s, const struct sim_request *request)
{
    if (!s->mishap || text_eq(request->method, "GET") || !strstr(request->path, s->mishap->name))
        return SIM_MISHAP_NONE;
    const struct mishap *m = mishaps;
    while (m < mishaps + lengthof(mishaps) && !text_eq(m->name, s->mishap->kind))
        m++;
    assert(m < mishaps + lengthof(mishaps));
    s->mishap = NULL;
    sim_history_add(s->history, request->actor.name, "  %s: %s", m->name, request->path);
    if (m->method)
        meddle(s, m, request);
    return m->what;
}
