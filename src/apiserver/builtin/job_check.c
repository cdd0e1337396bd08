/* Validates when a Job fails and when it succeeds: its policies and index limits. */

#include "apiserver/builtin/rules.h"
#include "apiserver/rules/check.h"

#define RULES_MAX 20
#define CODES_MAX 255
/* An indexed Job may run this many pods at once; with more completions, fewer. */
#define MANY_INDEXES 100000
#define FEW_PODS 10000

struct job {
    struct field_errors *e;
    struct json spec;
    const char *path;
    bool indexed;
};

static const char *path_of(const struct job *j, const char *name)
{
    return field_child(j->e->arena, j->path, name);
}

/* ---- indexes ---- */

static void check_limit(const struct job *j, const char *field, int64_t max, const char *when)
{
    struct json v = json_member(j->spec, field);
    if (v.type == JSON_INT && v.integer > max)
        field_invalid(j->e,
            path_of(j, field),
            v,
            arena_printf(
                j->e->arena, "must be less than or equal to %lld%s", (long long)max, when));
}

static void check_per_index(const struct job *j)
{
    static const char when[] =
        " when completions are above 100000 and used with backoff limit per index";
    struct json completions = json_member(j->spec, "completions"),
                failed = json_member(j->spec, "maxFailedIndexes");
    if (json_present(failed) && json_present(completions) && failed.integer > completions.integer)
        field_invalid(j->e,
            path_of(j, "maxFailedIndexes"),
            failed,
            "must be less than or equal to completions");
    check_limit(j, "maxFailedIndexes", MANY_INDEXES, "");
    if (!json_present(json_member(j->spec, "backoffLimitPerIndex")) ||
        completions.integer <= MANY_INDEXES)
        return;
    if (!json_present(failed))
        field_required(j->e,
            path_of(j, "maxFailedIndexes"),
            "must be specified when completions is above 100000");
    check_limit(j, "parallelism", FEW_PODS, when);
    check_limit(j, "maxFailedIndexes", FEW_PODS, when);
}

static void check_indexes(const struct job *j)
{
    static const char *const per_index[] = { "backoffLimitPerIndex", "maxFailedIndexes" };
    struct json mode = json_member(j->spec, "completionMode");
    if (j->indexed) {
        check_limit(j, "parallelism", MANY_INDEXES, " when completion mode is Indexed");
        check_per_index(j);
    }
    for (size_t i = 0; i < lengthof(per_index); i++) {
        struct json v = json_member(j->spec, per_index[i]);
        bool plain = !json_present(mode) || text_eq(json_text(mode), "NonIndexed");
        if (json_present(v) && plain)
            field_invalid(j->e, path_of(j, per_index[i]), v, "requires indexed completion mode");
    }
    if (json_present(json_member(j->spec, "maxFailedIndexes")) &&
        !json_present(json_member(j->spec, "backoffLimitPerIndex")))
        field_required(
            j->e, path_of(j, "backoffLimitPerIndex"), "when maxFailedIndexes is specified");
}

/* ---- failure ---- */

static bool has_container(struct json tmpl, const char *name)
{
    static const char *const lists[] = { "spec.containers", "spec.initContainers" };
    for (size_t i = 0; i < lengthof(lists); i++)
        if (json_present(json_find(json_get(tmpl, lists[i]), "name", name)))
            return true;
    return false;
}

/* Lists the choices as a Go list; a missing value is reported as required. */
static void check_choice(
    struct field_errors *e, struct json v, const char *path, const char *const *allowed)
{
    if (!check_is_empty(v)) {
        check_enum(e, v, path, allowed);
        return;
    }
    const char *all = "";
    for (const char *const *one = allowed; *one; one++)
        all = arena_printf(e->arena, "%s%s\"%s\"", all, *all ? " " : "", *one);
    field_required(e, path, arena_printf(e->arena, "valid values: [%s]", all));
}

static void check_codes(struct field_errors *e, struct json codes, const char *path, bool in)
{
    bool ordered = true;
    if (!codes.count)
        field_invalid(
            e, path, json_present(codes) ? codes : json_null(), "at least one value is required");
    check_at_most(e, codes, path, CODES_MAX);
    for (size_t i = 0; i < codes.count && i <= CODES_MAX; i++) {
        struct json code = codes.items[i];
        bool twice = false;
        for (size_t k = 0; k < i; k++)
            twice = twice || codes.items[k].integer == code.integer;
        if (in && code.integer == 0)
            field_invalid(
                e, field_index(e->arena, path, i), code, "must not be 0 for the In operator");
        if (twice)
            field_duplicate(e, field_index(e->arena, path, i), code);
        ordered = ordered && (!i || codes.items[i - 1].integer <= code.integer);
    }
    if (!ordered)
        field_invalid(e, path, codes, "must be ordered");
}

static void check_exit_codes(const struct job *j, struct json codes, const char *path)
{
    static const char *const operators[] = { "In", "NotIn", NULL };
    struct json op = json_member(codes, "operator"), name = json_member(codes, "containerName");
    check_choice(j->e, op, field_child(j->e->arena, path, "operator"), operators);
    if (check_is_set(name) && !has_container(json_member(j->spec, "template"), json_text(name)))
        field_invalid(j->e,
            field_child(j->e->arena, path, "containerName"),
            name,
            "must be one of the container or initContainer names in the pod template");
    check_codes(j->e,
        json_member(codes, "values"),
        field_child(j->e->arena, path, "values"),
        text_eq(json_text(op), "In"));
}

static void check_conditions(struct field_errors *e, struct json conditions, const char *path)
{
    static const char *const states[] = { "False", "True", "Unknown", NULL };
    size_t i = 0;
    check_at_most(e, conditions, path, RULES_MAX);
    json_each (condition, conditions) {
        const char *here = field_index(e->arena, path, i++);
        struct json status = json_member(*condition, "status");
        check_name(e,
            json_member(*condition, "type"),
            field_child(e->arena, here, "type"),
            NAME_LABEL_KEY);
        if (json_present(status))
            check_choice(e, status, field_child(e->arena, here, "status"), states);
    }
}

static void check_failure_rule(const struct job *j, struct json rule, const char *here)
{
    static const char *const actions[] = { "Count", "FailIndex", "FailJob", "Ignore", NULL };
    struct json action = json_member(rule, "action"), codes = json_member(rule, "onExitCodes"),
                conditions = json_member(rule, "onPodConditions");
    const char *action_path = field_child(j->e->arena, here, "action");
    check_choice(j->e, action, action_path, actions);
    if (text_eq(json_text(action), "FailIndex") &&
        !json_present(json_member(j->spec, "backoffLimitPerIndex")))
        field_invalid(j->e, action_path, action, "requires the backoffLimitPerIndex to be set");
    if (check_is_set(codes))
        check_exit_codes(j, codes, field_child(j->e->arena, here, "onExitCodes"));
    check_conditions(j->e, conditions, field_child(j->e->arena, here, "onPodConditions"));
    if (check_is_set(codes) == (conditions.count > 0))
        field_invalid(j->e,
            here,
            json_none,
            conditions.count ? "specifying both OnExitCodes and OnPodConditions is not supported"
                             : "specifying one of OnExitCodes and OnPodConditions is required");
}

static void check_failure(const struct job *j)
{
    struct json policy = json_member(j->spec, "podFailurePolicy"),
                rules = json_member(policy, "rules"),
                restart = json_get(j->spec, "template.spec.restartPolicy");
    const char *path = field_child(j->e->arena, path_of(j, "podFailurePolicy"), "rules");
    if (!check_is_set(policy))
        return;
    if (text_eq(json_text(restart), "OnFailure"))
        field_invalid(j->e,
            field_child(j->e->arena, path_of(j, "template"), "spec.restartPolicy"),
            restart,
            "only \"Never\" is supported when podFailurePolicy is specified");
    check_at_most(j->e, rules, path, RULES_MAX);
    size_t i = 0;
    json_each (rule, rules)
        check_failure_rule(j, *rule, field_index(j->e->arena, path, i++));
}

/* ---- success ---- */

/* The error of an index list such as "0,2-4" with this limit, or NULL; *ret_total is the number of
 * indexes. */
static const char *parse_indexes(
    struct arena *a, const char *text, int64_t limit, int64_t *ret_total)
{
    struct str rest = str_of(text);
    int64_t last = -1, total = 0;
    *ret_total = 0;
    while (*text && rest.ptr) {
        struct str fragment = str_cut(&rest, ','), end = fragment, begin = str_cut(&end, '-');
        const struct str parts[] = { begin, end };
        int64_t first = 0, n = 0;
        if (end.ptr && memchr(end.ptr, '-', end.len))
            return arena_printf(a,
                "the fragment \"%s\" violates the requirement that an index interval can have at "
                "most two parts separated by '-'",
                str_dup(a, fragment));
        for (size_t i = 0; i < lengthof(parts) && parts[i].ptr; i++) {
            if (!str_to_int(parts[i], &n))
                return arena_printf(
                    a, "cannot convert string to integer for index: \"%s\"", str_dup(a, parts[i]));
            if (n >= limit)
                return arena_printf(a, "too large index: \"%s\"", str_dup(a, parts[i]));
            if (last >= n)
                return arena_printf(a,
                    "non-increasing order, previous: %lld, current: %lld",
                    (long long)last,
                    (long long)n);
            first = i ? first : n;
            last = n;
        }
        total += last - first + 1;
    }
    *ret_total = total;
    return NULL;
}

static void check_count(
    struct field_errors *e, struct json count, const char *path, int64_t max, const char *of)
{
    if (count.integer > max)
        field_invalid(e,
            path,
            count,
            arena_printf(e->arena,
                "must be less than or equal to %lld (the number of %s)",
                (long long)max,
                of));
}

static void check_success_rule(const struct job *j, struct json rule, const char *here)
{
    static const struct check at_least_0 = { "", CHECK_MIN };
    struct arena *a = j->e->arena;
    struct json indexes = json_member(rule, "succeededIndexes"),
                count = json_member(rule, "succeededCount");
    const char *count_path = field_child(a, here, "succeededCount");
    int64_t completions = json_get_int(j->spec, "completions", 0), total = 0;
    if (!check_is_set(indexes) && !check_is_set(count)) {
        field_required(
            j->e, here, "at least one of succeededCount or succeededIndexes must be specified");
        return;
    }
    if (check_is_set(indexes)) {
        const char *wrong = parse_indexes(a, json_text(indexes), completions, &total);
        if (wrong)
            field_invalid(j->e,
                field_child(a, here, "succeededIndexes"),
                indexes,
                arena_printf(a, "error parsing succeededIndexes: %s", wrong));
    }
    if (!check_is_set(count))
        return;
    check_value(j->e, count, count_path, &at_least_0);
    check_count(j->e, count, count_path, completions, "specified completions");
    if (check_is_set(indexes))
        check_count(
            j->e, count, count_path, total, "indexes in the specified succeededIndexes field");
}

static void check_success(const struct job *j)
{
    struct json policy = json_member(j->spec, "successPolicy"),
                rules = json_member(policy, "rules");
    const char *path = path_of(j, "successPolicy"), *list = field_child(j->e->arena, path, "rules");
    if (!check_is_set(policy))
        return;
    if (!j->indexed) {
        field_invalid(j->e, path, policy, "requires indexed completion mode");
        return;
    }
    if (!rules.count)
        field_required(
            j->e, list, "at least one rules must be specified when the successPolicy is specified");
    check_at_most(j->e, rules, list, RULES_MAX);
    size_t i = 0;
    json_each (rule, rules)
        check_success_rule(j, *rule, field_index(j->e->arena, list, i++));
}

void builtin_job_check(struct field_errors *e, struct json spec, const char *path)
{
    const struct job j = {
        e, spec, path, text_eq(json_get_text(spec, "completionMode"), "Indexed")
    };
    static const char *const replacements[] = { "Failed", "TerminatingOrFailed", NULL },
                             *const strict[] = { "Failed", NULL };
    bool has_policy = check_is_set(json_member(spec, "podFailurePolicy"));
    struct json replacement = json_member(spec, "podReplacementPolicy"),
                manager = json_member(spec, "managedBy");
    if (check_is_set(replacement))
        check_enum(e,
            replacement,
            path_of(&j, "podReplacementPolicy"),
            has_policy ? strict : replacements);
    if (check_is_set(manager)) {
        check_domain_path(e, manager, path_of(&j, "managedBy"));
        if (manager.count > NAME_LABEL_MAX)
            field_error_add(e,
                FIELD_TOO_LONG,
                path_of(&j, "managedBy"),
                json_none,
                "may not be more than 63 bytes");
    }
    check_indexes(&j);
    check_failure(&j);
    check_success(&j);
}
