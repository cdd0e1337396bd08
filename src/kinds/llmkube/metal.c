/* Services of a Model for Apple's Metal: no pods. An agent on the Mac runs the server and registers
 * it as an EndpointSlice, which has a heartbeat. */

#include "kinds/llmkube/isvc.h"

#include "base/time.h"

#define HEARTBEAT "llmkube.ai/agent-heartbeat"
#define STALE_AFTER_MS ((int64_t)3 * 60 * 1000)
#define RECHECK_MAX_MS ((int64_t)24 * 60 * 60 * 1000)

struct heartbeat {
    const char *text; /* the most recent, or an unreadable one; NULL: none, as with old agents */
    bool is_time;
    int64_t at_ms;
};

static void note_heartbeat(struct heartbeat *beat, struct json slice)
{
    const char *text = json_text(json_member(json_get(slice, "metadata.annotations"), HEARTBEAT));
    int64_t at;
    if (!text)
        return;
    if (!time_parse(text, &at)) {
        if (!beat->text)
            beat->text = text;
        return;
    }
    if (!beat->is_time || at > beat->at_ms)
        *beat = (struct heartbeat){ .text = text, .is_time = true, .at_ms = at };
}

static int64_t ready_addresses(struct json slice)
{
    int64_t count = 0;
    struct json endpoints = json_get(slice, "endpoints");
    json_each (endpoint, endpoints) {
        struct json addresses = json_get(*endpoint, "addresses");
        if (json_get_bool(*endpoint, "conditions.ready", true) && json_is(addresses, JSON_LIST))
            count += addresses.count;
    }
    return count;
}

/* The agent's own explanation of why it does not serve is better than ours. */
static bool agent_said_why(const struct isvc *svc)
{
    const char *status = json_get_text(isvc_status(svc), "schedulingStatus");
    return !text_empty(status) && !text_eq(status, "WaitingForMetalAgent") &&
           !text_eq(status, "AgentHeartbeatStale");
}

static void say_why(struct isvc *svc, const struct heartbeat *beat)
{
    if (agent_said_why(svc))
        return;
    svc->scheduling = (struct isvc_scheduling){ .status = "WaitingForMetalAgent",
        .message = "Waiting for the host metal-agent to fetch the model and register Endpoints" };
    if (!beat->text || (beat->is_time && svc->in->now_ms - beat->at_ms <= STALE_AFTER_MS))
        return;
    svc->scheduling.status = "AgentHeartbeatStale";
    svc->scheduling.message = arena_printf(svc->arena,
        beat->is_time
            ? "The metal-agent was last heard of at %s: see whether its host is up and it runs"
            : "The metal-agent says that it lives at \"%s\", which is no time: update it",
        beat->text);
}

void metal_observe(struct isvc *svc)
{
    struct json slices = view_list(svc->in,
        &RESOURCE_ENDPOINT_SLICE,
        svc->ns,
        arena_printf(svc->arena, "kubernetes.io/service-name=%s", svc->service));
    struct heartbeat beat = { 0 };
    int64_t ready = 0;
    json_each (slice, slices) {
        note_heartbeat(&beat, *slice);
        ready += ready_addresses(*slice);
    }
    int64_t age = svc->in->now_ms - beat.at_ms;
    bool alive = !beat.text || (beat.is_time && age <= STALE_AFTER_MS);
    svc->ready = alive ? ready : 0;
    if (beat.is_time && alive) {
        int64_t left = STALE_AFTER_MS - age + 1;
        isvc_recheck(svc, left < RECHECK_MAX_MS ? left : RECHECK_MAX_MS);
    }
    if (svc->ready == 0 && svc->desired > 0)
        say_why(svc, &beat);
}
