/* Whether a composite tool can run, and the VirtualMCPCompositeToolDefinition that contains one.
 * The gateway would refuse its whole configuration because of one invalid tool. */

#include "kinds/toolhive/composite_tool.h"

#include "engine/plan.h"
#include "engine/view.h"
#include "kinds/toolhive/toolhive.h"
#include "kinds/toolhive/vmcp_tables.h"

#define ITERATIONS_MAX 1000
#define PARALLEL_MAX 50
#define REFERRERS_MAX 100

struct check {
    struct arena *a;
    const char *path; /* of the list of steps */
    struct json steps;
    struct error *err;
};

static bool complain(const struct check *c, const char *format, ...) printf_like(2, 3);
static bool complain(const struct check *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = arena_vprintf(c->a, format, args);
    va_end(args);
    return fail(c->err, ERR_INVALID, "%s", text);
}

static bool check_template(
    const struct check *c, const char *text, const char *where, const char *what)
{
    struct error err;
    if (text_empty(text) || composite_template_check(c->a, text, NULL, &err))
        return true;
    return complain(
        c, "%s.%s: invalid template: invalid template syntax: %s", where, what, err.text);
}

static bool check_arguments(const struct check *c, struct json arguments, const char *where)
{
    json_each_member (m, arguments)
        if (!check_template(
                c, json_text(m->value), where, arena_printf(c->a, "arguments[%s]", m->key)))
            return false;
    return true;
}

/* Checks only the types of a JSON Schema. */
static bool check_schema(const struct check *c, struct json schema, const char *where)
{
    static const char *const types[] = {
        "array", "boolean", "integer", "null", "number", "object", "string"
    };
    const char *type = json_get_text(schema, "type");
    bool known = !type;
    for (size_t i = 0; i < lengthof(types); i++)
        known |= text_eq(type, types[i]);
    if (!known)
        return complain(c, "%s: invalid JSON Schema: \"%s\" is no type", where, type);
    struct json properties = json_get(schema, "properties");
    if (json_present(properties) && !json_is(properties, JSON_MAP))
        return complain(c, "%s: invalid JSON Schema: properties must be an object", where);
    json_each_member (m, properties)
        if (!check_schema(c, m->value, arena_printf(c->a, "%s.properties.%s", where, m->key)))
            return false;
    return true;
}

static bool check_parameters(const struct check *c, struct json parameters, const char *where)
{
    if (!json_present(parameters))
        return true;
    struct json type = json_member(parameters, "type");
    if (!json_present(type))
        return complain(
            c, "%s: must have 'type' field (should be 'object' for JSON Schema)", where);
    if (!json_is(type, JSON_STR))
        return complain(c, "%s: 'type' field must be a string", where);
    if (!text_eq(type.string, "object"))
        return complain(c, "%s: 'type' must be 'object' (got '%s')", where, type.string);
    return check_schema(c, parameters, where);
}

/* ---- steps ---- */

static bool is_tool_name(const char *tool)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    if (text_empty(tool) || !strchr(letters, *tool))
        return false;
    for (; *tool; tool++)
        if (!strchr(letters, *tool) && !strchr("._-", *tool))
            return false;
    return true;
}

static bool is_go_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    if (!strchr(letters, *name))
        return false;
    for (; *name; name++)
        if (!strchr(letters, *name) && !strchr("0123456789", *name))
            return false;
    return true;
}

static bool check_limits(const struct check *c, struct json step, const char *where)
{
    const char *name = toolhive_text(step, "itemVar", "item");
    int64_t parallel = json_get_int(step, "maxParallel", 0);
    int64_t iterations = json_get_int(step, "maxIterations", 0);
    if (!is_go_name(name))
        return complain(c, "%s.itemVar must be a valid Go identifier (got \"%s\")", where, name);
    if (text_eq(name, "index"))
        return complain(c, "%s.itemVar cannot be 'index' (reserved)", where);
    if (parallel < 0)
        return complain(c, "%s.maxParallel must be non-negative", where);
    if (parallel > PARALLEL_MAX)
        return complain(
            c, "%s.maxParallel must be <= %d (got %lld)", where, PARALLEL_MAX, (long long)parallel);
    if (iterations < 0)
        return complain(c, "%s.maxIterations must be non-negative", where);
    if (iterations > ITERATIONS_MAX)
        return complain(c,
            "%s.maxIterations must be <= %d (got %lld)",
            where,
            ITERATIONS_MAX,
            (long long)iterations);
    return true;
}

static bool check_loop(const struct check *c, struct json step, const char *where)
{
    struct json inner = json_get(step, "step");
    const char *tool = json_get_text(inner, "tool"), *type = toolhive_text(inner, "type", "tool");
    const char *collection = json_get_text(step, "collection");
    if (!text_empty(json_get_text(step, "tool")))
        return complain(c, "%s: forEach step must not have 'tool' field", where);
    if (!text_empty(json_get_text(step, "message")))
        return complain(c, "%s: forEach step must not have 'message' field", where);
    if (text_empty(collection))
        return complain(c, "%s.collection is required for forEach steps", where);
    if (!check_template(c, collection, where, "collection"))
        return false;
    if (!json_present(inner))
        return complain(c, "%s.step is required for forEach steps", where);
    if (!text_eq(type, "tool"))
        return complain(c,
            "%s.step.type must be 'tool' (got \"%s\"); only tool inner steps are supported",
            where,
            type);
    if (text_empty(tool))
        return complain(c, "%s.step.tool is required for tool inner steps", where);
    if (!is_tool_name(tool))
        return complain(c, "%s.step.tool must be a valid tool name", where);
    return check_arguments(c, json_get(inner, "arguments"), arena_printf(c->a, "%s.step", where)) &&
           check_limits(c, step, where);
}

static bool check_type(const struct check *c, struct json step, const char *where)
{
    const char *type = toolhive_text(step, "type", "tool"), *tool = json_get_text(step, "tool");
    if (text_eq(type, "forEach"))
        return check_loop(c, step, where);
    if (text_eq(type, "elicitation"))
        return !text_empty(json_get_text(step, "message")) ||
               complain(c, "%s.message is required when type is elicitation", where);
    if (!text_eq(type, "tool"))
        return complain(c, "%s.type must be one of: tool, elicitation, forEach", where);
    if (text_empty(tool))
        return complain(c, "%s.tool is required when type is tool", where);
    return is_tool_name(tool) || complain(c, "%s.tool must be a valid tool name", where);
}

static bool check_handlers(const struct check *c, struct json step, const char *where)
{
    static const char *const handlers[] = { "onDecline", "onCancel" };
    const char *action = json_get_text(step, "onError.action");
    if (text_eq(action, "retry") && json_get_int(step, "onError.retryCount", 0) < 1)
        return complain(c, "%s.onError.retryCount must be at least 1 when action is retry", where);
    for (size_t i = 0; i < lengthof(handlers); i++) {
        struct json handler = json_get(step, handlers[i]);
        if (text_eq(json_get_text(step, "type"), "elicitation") && json_present(handler) &&
            text_empty(json_get_text(handler, "action")))
            return complain(c, "%s.%s.action is required", where, handlers[i]);
    }
    return true;
}

static bool check_step(const struct check *c, struct json ids, struct json step, const char *where)
{
    if (!check_type(c, step, where) || !check_arguments(c, json_get(step, "arguments"), where) ||
        !check_template(c, json_get_text(step, "condition"), where, "condition") ||
        !check_template(c, json_get_text(step, "message"), where, "message") ||
        !check_schema(c, json_get(step, "schema"), arena_printf(c->a, "%s.schema", where)))
        return false;
    json_each (other, json_get(step, "dependsOn"))
        if (!json_present(json_member(ids, json_text(*other))))
            return complain(
                c, "%s.dependsOn references unknown step \"%s\"", where, json_text(*other));
    return check_handlers(c, step, where);
}

struct visit {
    uint32_t step, dependency; /* the next to visit */
};
enum mark { UNSEEN = 0, ON_PATH, FINISHED };

/* Depth first, without recursion: a chain may be as long as the list. */
static bool check_order(const struct check *c, struct json ids)
{
    uint32_t count = c->steps.count;
    uint8_t *marks = arena_alloc(c->a, count + 1);
    struct visit *path = arena_alloc(c->a, (count + 1) * sizeof(*path));
    memset(marks, UNSEEN, count + 1);
    for (uint32_t start = 0; start < count; start++) {
        size_t depth = 0;
        if (marks[start] == UNSEEN)
            path[depth++] = (struct visit){ start, 0 };
        while (depth) {
            struct visit *top = &path[depth - 1];
            struct json step = json_item(c->steps, top->step);
            struct json after = json_get(step, "dependsOn");
            marks[top->step] = ON_PATH;
            if (top->dependency == after.count) {
                marks[top->step] = FINISHED;
                depth--;
                continue;
            }
            const char *id = json_text(json_item(after, top->dependency++));
            uint32_t next = (uint32_t)json_member(ids, id).integer;
            if (marks[next] == ON_PATH)
                return complain(c,
                    "%s: dependency cycle detected involving step \"%s\"",
                    c->path,
                    json_get_text(json_item(c->steps, next), "id"));
            if (marks[next] == UNSEEN)
                path[depth++] = (struct visit){ next, 0 };
        }
    }
    return true;
}

static bool check_steps(const struct check *c)
{
    struct json_builder by_id;
    json_builder_init(&by_id, c->a);
    int64_t i = 0;
    json_each (step, c->steps) {
        const char *id = json_get_text(*step, "id");
        if (text_empty(id))
            return complain(c, "%s[%lld].id is required", c->path, (long long)i);
        json_put(&by_id, id, json_int(i++));
    }
    struct json ids = json_map_end(&by_id);
    if (ids.count < c->steps.count) { /* the later one of two replaced the first */
        i = 0;
        json_each (step, c->steps) {
            const char *id = json_get_text(*step, "id");
            if (json_member(ids, id).integer != i++)
                return complain(c,
                    "%s[%lld].id \"%s\" is duplicated",
                    c->path,
                    (long long)json_member(ids, id).integer,
                    id);
        }
    }
    i = 0;
    json_each (step, c->steps)
        if (!check_step(c, ids, *step, arena_printf(c->a, "%s[%lld]", c->path, (long long)i++)))
            return false;
    return check_order(c, ids);
}

/* ---- outputs of steps that may be skipped ---- */

static bool may_be_skipped(struct json step)
{
    return !text_empty(json_get_text(step, "condition")) ||
           text_eq(json_get_text(step, "onError.action"), "continue");
}

/* Every field of a skippable step that a text reads needs a default. */
static bool check_reads(
    const struct check *c, struct json skippable, const char *text, const char *reader)
{
    struct json_builder fields;
    struct error err;
    json_builder_init(&fields, c->a);
    const struct template_refs refs = { &fields };
    if (text_empty(text) || !composite_template_check(c->a, text, &refs, &err))
        return true; /* reported elsewhere */
    json_each (field, json_list_end(&fields)) {
        struct str rest = str_of(json_text(*field));
        str_cut(&rest, '.');
        struct str steps = str_cut(&rest, '.'), id = str_cut(&rest, '.');
        struct str what = str_cut(&rest, '.'), name = str_cut(&rest, '.');
        if (!str_eq(steps, str_of("steps")) || !str_eq(what, str_of("output")) || !name.len)
            continue;
        struct json defaults = json_member_n(skippable, id);
        if (json_present(defaults) && !json_present(json_member_n(defaults, name)))
            return complain(c,
                "%s[%.*s].defaultResults[%.*s] is required: step \"%.*s\" may be skipped and field "
                "\"%.*s\" is referenced by %s",
                c->path,
                (int)id.len,
                id.ptr,
                (int)name.len,
                name.ptr,
                (int)id.len,
                id.ptr,
                (int)name.len,
                name.ptr,
                reader);
    }
    return true;
}

static bool check_output(const struct check *c, struct json skippable, struct json properties)
{
    json_each_member (m, properties)
        if (!check_reads(c, skippable, json_get_text(m->value, "value"), "output") ||
            !check_output(c, skippable, json_get(m->value, "properties")))
            return false;
    return true;
}

static bool check_defaults(const struct check *c, struct json output)
{
    struct json_builder skippable;
    json_builder_init(&skippable, c->a);
    json_each (step, c->steps) {
        struct json defaults = json_get(*step, "defaultResults");
        if (may_be_skipped(*step))
            json_put(&skippable,
                toolhive_text(*step, "id", ""),
                json_is(defaults, JSON_MAP) ? defaults : json_empty_map());
    }
    struct json map = json_map_end(&skippable);
    if (!map.count)
        return true;
    json_each (step, c->steps) {
        const char *reader = arena_printf(c->a, "step %s", toolhive_text(*step, "id", ""));
        if (!check_reads(c, map, json_get_text(*step, "condition"), reader) ||
            !check_reads(c, map, json_get_text(*step, "message"), reader))
            return false;
        json_each_member (m, json_get(*step, "arguments"))
            if (!check_reads(c, map, json_text(m->value), reader))
                return false;
    }
    return check_output(c, map, json_get(output, "properties"));
}

/* ---- the tool ---- */

bool composite_tool_check(struct arena *a, struct json tool, const char *path, struct error *err)
{
    struct error one;
    struct check c = { a, arena_printf(a, "%s.steps", path), json_get(tool, "steps"), &one };
    const char *all = "";
#define ADD(text_) all = arena_printf(a, "%s%s%s", all, *all ? "; " : "", text_)
    if (text_empty(json_get_text(tool, "name")))
        ADD(arena_printf(a, "%s.name is required", path));
    if (text_empty(json_get_text(tool, "description")))
        ADD(arena_printf(a, "%s.description is required", path));
    if (!c.steps.count)
        ADD(arena_printf(a, "%s.steps must have at least one step", path));
    if (!check_parameters(&c, json_get(tool, "parameters"), arena_printf(a, "%s.parameters", path)))
        ADD(one.text);
    if (c.steps.count && !check_steps(&c))
        ADD(one.text);
    if (c.steps.count && !check_defaults(&c, json_get(tool, "output")))
        ADD(one.text);
#undef ADD
    return !*all || fail(err, ERR_INVALID, "validation failed: %s", all);
}

/* ---- VirtualMCPCompositeToolDefinition ---- */

/* Names of the VirtualMCPServers that use this tool. */
static struct json referrers(const struct view *in)
{
    struct json_builder names;
    json_builder_init(&names, in->arena);
    json_each (server, view_list(in, &TOOLHIVE_VIRTUAL_SERVER, view_namespace(in), NULL)) {
        struct json refs = json_get(*server, "spec.config.compositeToolRefs");
        if (names.count < REFERRERS_MAX && json_present(json_find(refs, "name", view_name(in))))
            json_push(&names, json_get(*server, "metadata.name"));
    }
    return json_or_absent(json_list_end(&names));
}

static void tell(const struct view *in, struct plan *out, const char *wrong)
{
    struct arena *a = in->arena;
    plan_condition(out,
        "Ready",
        !wrong,
        wrong ? "WorkflowNotReady" : "WorkflowReady",
        "%s",
        wrong ? wrong : "The workflow can be used by VirtualMCPServers");
    plan_status(out,
        json_fields(a,
            { "validationStatus", json_str(wrong ? "Invalid" : "Valid") },
            { "validationErrors", json_if(wrong, json_list(a, json_str(wrong))) },
            { "referencingVirtualServers", referrers(in) },
            { "observedGeneration", json_int(json_get_int(in->object, "metadata.generation", 1)) }),
        NULL);
    if (wrong)
        plan_wait(out, "%s", wrong);
    else
        plan_done(out);
}

static void reconcile(const struct view *in, struct plan *out)
{
    struct json tool;
    struct error err;
    bool ok =
        document_read(
            in->arena, composite_tool_fields, json_get(in->object, "spec"), "spec", &tool, &err) &&
        composite_tool_check(in->arena, tool, "spec", &err);
    tell(in, out, ok ? NULL : arena_strdup(in->arena, err.text));
}

static void unreadable(const struct view *in, struct plan *out, const struct error *err)
{
    tell(in, out, arena_strdup(in->arena, err->text));
}

static const struct kind_watch watches[] = {
    { .resource = &TOOLHIVE_VIRTUAL_SERVER,
        .keep = (const char *const[]){ "spec.config.compositeToolRefs", NULL } },
    { 0 },
};

const struct kind toolhive_composite_tool_kind = {
    .resource = &TOOLHIVE_COMPOSITE_TOOL,
    .watches = watches,
    .reconcile = reconcile,
    .unreadable = unreadable,
};
