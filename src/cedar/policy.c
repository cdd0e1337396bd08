/* Policies: their heads, annotations and conditions. */

#include "cedar/internal.h"

#include <string.h>

#define POLICIES_MAX 10000
#define CONDITIONS_MAX 64
#define SCOPE_UIDS_MAX 256

static bool read_uids(struct arena *a, struct lexer *l, struct scope *ret, struct error *err)
{
    bool list;
    struct cedar_uid *uids = arena_array(a, SCOPE_UIDS_MAX, sizeof *uids);
    ret->uids = uids;
    ret->has_uids = true;
    if (!lexer_take(l, "[", &list, err))
        return false;
    if (!list) {
        ret->uid_count = 1;
        return parse_uid(a, l, &uids[0], err);
    }
    while (!lexer_at(l, "]")) {
        if (ret->uid_count == SCOPE_UIDS_MAX)
            return lexer_fail(l, err, "a list of actions may have 256 items");
        if (!parse_uid(a, l, &uids[ret->uid_count++], err))
            return false;
        if (!lexer_at(l, "]") && !lexer_expect(l, ",", err))
            return false;
    }
    return lexer_next(l, err);
}

static bool read_scope(
    struct arena *a, struct lexer *l, const char *variable, struct scope *ret, struct error *err)
{
    bool taken, action = text_eq(variable, "action");
    if (!lexer_expect(l, variable, err) || !lexer_take(l, "==", &ret->equal, err))
        return false;
    if (ret->equal && lexer_at(l, "["))
        return lexer_fail(l, err, "an entity belongs behind `==`");
    if (ret->equal)
        return read_uids(a, l, ret, err);
    if (!action) {
        if (!lexer_take(l, "is", &ret->has_type, err) ||
            (ret->has_type && !parse_path(a, l, &ret->type, err)))
            return false;
    }
    if (!lexer_take(l, "in", &taken, err))
        return false;
    if (taken && !action && lexer_at(l, "["))
        return lexer_fail(l, err, "only actions may be in a list");
    return !taken || read_uids(a, l, ret, err);
}

/* An action's type is Action, in any namespace. */
static bool check_actions(const struct lexer *l, const struct scope *s, struct error *err)
{
    for (size_t i = 0; i < s->uid_count; i++) {
        struct str type = s->uids[i].type;
        if (!str_eq(type, STR("Action")) && !str_ends(type, STR("::Action")))
            return lexer_fail(l, err, "the action before it is not of type Action");
    }
    return true;
}

/* @id("name") and others; only the id is used. */
static bool read_annotations(struct arena *a, struct lexer *l, struct policy *p, struct error *err)
{
    bool taken;
    for (;;) {
        if (!lexer_take(l, "@", &taken, err))
            return false;
        if (!taken)
            return true;
        struct str name = l->now.text, value = { "", 0 };
        if (l->now.type != TOKEN_NAME)
            return lexer_fail(l, err, "a name belongs behind `@`");
        if (!lexer_next(l, err) || !lexer_take(l, "(", &taken, err))
            return false;
        if (taken) {
            if (l->now.type != TOKEN_STRING || !lexer_unescape(a, l->now.text, false, &value))
                return lexer_fail(l, err, "a string belongs here");
            if (!lexer_next(l, err) || !lexer_expect(l, ")", err))
                return false;
        }
        if (str_eq(name, STR("id")))
            p->id = str_dup(a, value);
    }
}

static bool read_conditions(struct arena *a, struct lexer *l, struct policy *p, struct error *err)
{
    struct condition *list = arena_array(a, CONDITIONS_MAX, sizeof *list);
    p->conditions = list;
    while (lexer_at(l, "when") || lexer_at(l, "unless")) {
        if (p->condition_count == CONDITIONS_MAX)
            return lexer_fail(l, err, "a policy may have 64 conditions");
        struct condition *c = &list[p->condition_count++];
        c->unless = lexer_at(l, "unless");
        if (!lexer_next(l, err) || !lexer_expect(l, "{", err) ||
            !(c->body = parse_expression(a, l, err)) || !lexer_expect(l, "}", err))
            return false;
    }
    return true;
}

static bool read_policy(struct arena *a, struct lexer *l, struct policy *p, struct error *err)
{
    if (!read_annotations(a, l, p, err))
        return false;
    p->forbid = lexer_at(l, "forbid");
    if (!p->forbid && !lexer_at(l, "permit"))
        return lexer_fail(l, err, "a policy begins with permit or forbid");
    return lexer_next(l, err) && lexer_expect(l, "(", err) &&
           read_scope(a, l, "principal", &p->principal, err) && lexer_expect(l, ",", err) &&
           read_scope(a, l, "action", &p->action, err) && check_actions(l, &p->action, err) &&
           lexer_expect(l, ",", err) && read_scope(a, l, "resource", &p->resource, err) &&
           lexer_expect(l, ")", err) && read_conditions(a, l, p, err) && lexer_expect(l, ";", err);
}

static struct policy *policy_add(struct arena *a, struct cedar_policies *all)
{
    arena_room(a, all->list, all->count, all->size);
    struct policy *p = &all->list[all->count];
    *p = (struct policy){ .id = arena_printf(a, "policy%zu", all->count) };
    all->count++;
    return p;
}

static bool read_text(
    struct arena *a, struct cedar_policies *all, struct str text, struct error *err)
{
    if (text.len > CEDAR_TEXT_BYTES_MAX)
        return fail(err, ERR_TOO_LARGE, "policies may have 1 MiB of text");
    struct lexer l = { .rest = text, .begin = text.ptr };
    if (!lexer_next(&l, err))
        return false;
    while (l.now.type != TOKEN_END) {
        if (all->count == POLICIES_MAX)
            return fail(err, ERR_TOO_LARGE, "there may be 10000 policies");
        if (!read_policy(a, &l, policy_add(a, all), err))
            return false;
    }
    return true;
}

struct cedar_policies *cedar_parse_all(
    struct arena *a, const struct str *texts, size_t count, struct error *err)
{
    struct cedar_policies *all = arena_new(a, struct cedar_policies);
    for (size_t i = 0; i < count; i++)
        if (!read_text(a, all, texts[i], err)) {
            if (count > 1)
                fail_in(err, "policy text %zu", i + 1);
            return NULL;
        }
    return all;
}

struct cedar_policies *cedar_parse(struct arena *a, struct str text, struct error *err)
{
    return cedar_parse_all(a, &text, 1, err);
}

size_t cedar_policy_count(const struct cedar_policies *p)
{
    return p->count;
}

bool cedar_uid_parse(struct arena *a, struct str text, struct cedar_uid *ret, struct error *err)
{
    struct lexer l = { .rest = text, .begin = text.ptr };
    if (!lexer_next(&l, err) || !parse_uid(a, &l, ret, err))
        return false;
    return l.now.type == TOKEN_END || lexer_fail(&l, err, "the text should end here");
}
