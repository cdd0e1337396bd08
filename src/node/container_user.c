/* The user that a container runs as. */

#include <pwd.h>
#include <unistd.h>

#include "node/pod_internal.h"

/* The field of its own securityContext, or else of the pod's. */
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

/* Group of a user that this machine does not know. */
#define GROUP_NOBODY 65534
#define PASSWD_BYTES 16384

static uint32_t group_of(struct arena *a, uint32_t user)
{
    struct passwd entry, *found = NULL;
    char *text = arena_alloc(a, PASSWD_BYTES);
    if (user == geteuid())
        return getegid();
    bool known = getpwuid_r(user, &entry, text, PASSWD_BYTES, &found) == 0 && found;
    return known ? entry.pw_gid : GROUP_NOBODY;
}

const struct runtime_user *container_user(struct arena *a, const struct container *c)
{
    struct json user = of_context(c, "runAsUser"), group = of_context(c, "runAsGroup");
    struct json more = json_get(c->pod->object, "spec.securityContext.supplementalGroups");
    struct json files = json_get(c->pod->object, "spec.securityContext.fsGroup");
    if (!is_id(user) && !is_id(group) && !more.count && !is_id(files))
        return NULL;
    uint32_t *groups = arena_array(a, more.count + 1, sizeof(*groups));
    struct runtime_user *u = arena_new(a, struct runtime_user);
    json_each (id, more)
        if (is_id(*id))
            groups[u->group_count++] = (uint32_t)id->integer;
    if (is_id(files))
        groups[u->group_count++] = (uint32_t)files.integer;
    u->user = is_id(user) ? (uint32_t)user.integer : geteuid();
    u->group = is_id(group) ? (uint32_t)group.integer : group_of(a, u->user);
    u->groups = groups;
    return u;
}

bool container_no_new_privs(const struct container *c)
{
    return !json_get_bool(c->spec, "securityContext.allowPrivilegeEscalation", true);
}

static const char *root_refusal(struct arena *a, const struct container *c)
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

const char *container_user_refusal(struct arena *a, const struct container *c)
{
    const char *root = root_refusal(a, c);
    const struct node_runtime *r = c->pod->host->runtime;
    const struct runtime_user *u = container_user(a, c);
    if (root || !r->users || r->mounts || !u || u->user == geteuid())
        return root;
    return arena_printf(a,
        "container %s: runAsUser %u needs a mount namespace, because pods' files are in a folder "
        "that only root can open, and this process cannot make one. Give it CAP_SYS_ADMIN, or "
        "remove runAsUser",
        c->name,
        u->user);
}
