#include "apiserver/builtin/pod/policy.h"

static const char *const levels[] = { "privileged", "baseline", "restricted" };

static bool read_level(const char *text, enum pod_level *ret)
{
    for (size_t i = 0; i < lengthof(levels); i++)
        if (text_eq(text, levels[i])) {
            *ret = i;
            return true;
        }
    return false;
}

static bool read_version(const char *text, int64_t *ret)
{
    if (text_eq(text, "latest"))
        return true;
    if (!text_starts(text, "v1.") || !text[3] || (text[3] == '0' && text[4]))
        return false;
    int64_t minor = 0;
    for (const char *c = text + 3; *c; c++)
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(minor, 10, &minor) ||
            __builtin_add_overflow(minor, *c - '0', &minor))
            return false;
    *ret = minor;
    return true;
}

/* Reads the two labels of a mode. bad: the level to use for an invalid value. Returns whether there
 * is a valid level. */
static bool read_mode(struct json labels, const char *mode, enum pod_level bad,
    struct pod_standard *ret, struct field_errors *errors)
{
    struct arena *a = errors->arena;
    const char *label = arena_printf(a, POD_SECURITY_PREFIX "%s", mode);
    const char *version_label = arena_printf(a, "%s-version", label);
    struct json level = json_member(labels, label), version = json_member(labels, version_label);
    *ret = (struct pod_standard){ POD_PRIVILEGED, POD_VERSION_LATEST };
    bool good = json_present(level) && read_level(json_text(level), &ret->level);
    if (json_present(level) && !good) {
        ret->level = bad;
        field_invalid(errors,
            field_key(a, "metadata.labels", label),
            level,
            "must be one of privileged, baseline, restricted");
    }
    if (json_present(version) && !read_version(json_text(version), &ret->minor))
        field_invalid(errors,
            field_key(a, "metadata.labels", version_label),
            version,
            "must be \"latest\" or \"v1.x\"");
    return good;
}

struct pod_policy pod_policy_read(struct json labels, struct field_errors *errors)
{
    struct pod_policy p;
    struct pod_standard audit;
    bool enforced = read_mode(labels, "enforce", POD_RESTRICTED, &p.enforce, errors);
    read_mode(labels, "audit", POD_PRIVILEGED, &audit, errors);
    read_mode(labels, "warn", POD_PRIVILEGED, &p.warn, errors);
    /* If only `enforce` is set, it also applies to warnings, because workloads get nothing else. */
    if (enforced && !json_present(json_member(labels, POD_SECURITY_PREFIX "warn"))) {
        p.warn.level = p.enforce.level;
        if (!json_present(json_member(labels, POD_SECURITY_PREFIX "warn-version")))
            p.warn.minor = p.enforce.minor;
    }
    return p;
}

const char *pod_standard_text(struct arena *a, struct pod_standard s)
{
    if (s.minor == POD_VERSION_LATEST)
        return arena_printf(a, "%s:latest", levels[s.level]);
    return arena_printf(a, "%s:v1.%lld", levels[s.level], (long long)s.minor);
}
