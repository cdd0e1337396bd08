/* Whose a container is. */

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

const char *container_root_refusal(struct arena *a, const struct container *c)
{
    struct json not_root = of_context(c, "runAsNonRoot"), user = of_context(c, "runAsUser");
    if (!c->pod->host->runtime->users || !json_is(not_root, JSON_BOOL) || !not_root.boolean ||
        (is_id(user) && user.integer > 0))
        return NULL;
    return arena_printf(a,
        "%s (pod: \"%s_%s(%s)\", container: %s)%s",
        is_id(user) ? "container's runAsUser breaks non-root policy"
                    : "container has runAsNonRoot and image will run as root",
        json_get_text(c->pod->object, "metadata.name"),
        json_get_text(c->pod->object, "metadata.namespace"),
        c->pod->uid,
        c->name,
        is_id(user) ? ""
                    : ": there is no image here that would name a user; set "
                      "securityContext.runAsUser");
}
