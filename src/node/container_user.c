/* Whose a container is, and what tells it to end. */

#include <signal.h>
#include <unistd.h>

#include "node/pod_internal.h"

/* What its own securityContext says, else the pod's. */
static struct json of_context(const struct container *c, const char *field)
{
    struct json own = json_member(json_get(c->spec, "securityContext"), field);
    return json_present(own) ? own
                             : json_member(json_get(c->pod->object, "spec.securityContext"), field);
}

static bool is_id(struct json v)
{
    return json_is(v, JSON_INT) && v.integer >= 0 && v.integer <= INT32_MAX;
}

const struct runtime_user *container_user(struct arena *a, const struct container *c)
{
    struct json user = of_context(c, "runAsUser"), group = of_context(c, "runAsGroup");
    struct json more = json_get(c->pod->object, "spec.securityContext.supplementalGroups");
    if (!is_id(user) && !is_id(group) && !more.count)
        return NULL;
    uint32_t *groups = arena_array(a, more.count + 1, sizeof(*groups));
    struct runtime_user *u = arena_new(a, struct runtime_user);
    json_each (id, more)
        if (is_id(*id))
            groups[u->group_count++] = (uint32_t)id->integer;
    u->user = is_id(user) ? (uint32_t)user.integer : geteuid();
    u->group = is_id(group) ? (uint32_t)group.integer : getegid();
    u->groups = groups;
    return u;
}

bool container_is_root_against_its_will(const struct container *c)
{
    struct json not_root = of_context(c, "runAsNonRoot"), user = of_context(c, "runAsUser");
    return c->pod->host->runtime->users && json_is(not_root, JSON_BOOL) && not_root.boolean &&
           !(is_id(user) && user.integer > 0);
}

int container_stop_signal(const struct container *c)
{
    const char *name = json_get_text(c->spec, "lifecycle.stopSignal");
    int64_t more = 0;
    if (!text_starts(name, "SIG"))
        return 0;
    name += strlen("SIG");
    for (int number = 1; number < SIGRTMIN; number++)
        if (text_eq(name, sigabbrev_np(number)))
            return number;
    bool from_end = text_starts(name, "RTMAX");
    if (!from_end && !text_starts(name, "RTMIN"))
        return 0;
    name += strlen("RTMAX");
    if (*name && !str_to_int(str_of(name + 1), &more))
        return 0;
    int64_t number = from_end ? SIGRTMAX - more : SIGRTMIN + more;
    return number >= SIGRTMIN && number <= SIGRTMAX ? (int)number : 0;
}
