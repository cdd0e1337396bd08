#include "cel/syntax.h"

#include "base/buf.h"
#include "cel/predict.h"

/* Of cel-go: how often errors are recovered from, and how many tokens one may pass over. */
#define RECOVERIES_MAX 30
#define PASSED_MAX 512

/* A rule that is being read. */
struct context {
    struct context *parent;
    int invoking; /* the state that called it; -1: none */
    int level;    /* see cel_element */
    struct cel_branch *branch;
    struct cel_return back; /* behind the call */
};

enum trouble { FINE, MISMATCH, NO_ALTERNATIVE };

struct syntax {
    struct cel_source *source;
    const struct cel_grammar *grammar;
    struct cel_token *tokens;
    uint8_t *symbols;
    size_t count, at;
    struct context *context;
    int state;
    bool recovering; /* nothing is reported until a token fits */
    bool stopped;    /* for good */
    enum trouble trouble;
    size_t decided_at, bad_at; /* of NO_ALTERNATIVE */
    size_t error_at;           /* the last recovery; SIZE_MAX: none since a token fitted */
    bool *error_states;        /* of it */
    unsigned recoveries, depth[CEL_RULES];
};

static void read_rule(struct syntax *p, int rule, int level);
static void read_sequence(struct syntax *p, const struct cel_element *e);

static int symbol(const struct syntax *p)
{
    return p->symbols[p->at];
}

static bool in_set(uint64_t set, int symbol)
{
    return (set & CEL_BIT(symbol)) != 0;
}

/* ---- what is expected ---- */

static uint64_t expected(const struct syntax *p, int state)
{
    uint64_t epsilon = CEL_BIT(CEL_SYMBOL_EPSILON);
    uint64_t next = cel_grammar_look(p->grammar, state, false), all = next;
    const struct context *c = p->context;
    for (; c->invoking >= 0 && (next & epsilon); c = c->parent) {
        next = cel_grammar_look(p->grammar, c->back.state, false);
        all |= next;
    }
    return (all & ~epsilon) | (next & epsilon ? CEL_BIT(CEL_SYMBOL_EOF) : 0);
}

static const char *expected_text(const struct syntax *p)
{
    cleanup(buf_done) struct buf b = BUF_INIT(4096);
    uint64_t set = expected(p, p->state);
    unsigned count = 0;
    for (int i = 0; i < CEL_SYMBOLS; i++)
        if (in_set(set, i))
            buf_printf(&b, "%s%s", count++ ? ", " : "", cel_symbol_name(i));
    return arena_printf(p->source->arena, count > 1 ? "{%s}" : "%s", buf_text(&b));
}

/* What stands from one token to another, in quotes and on one line. */
static const char *quoted(const struct syntax *p, size_t from, size_t to)
{
    cleanup(buf_done) struct buf raw = BUF_INIT((size_t)1 << 20), b = BUF_INIT((size_t)2 << 20);
    const char *end = p->source->text.ptr + p->source->text.len;
    if (p->symbols[from] == CEL_SYMBOL_EOF)
        buf_add_text(&raw, "<EOF>");
    for (size_t i = from; i <= to && p->symbols[i] != CEL_SYMBOL_EOF; i++) {
        struct str text = p->tokens[i].text, rest = { text.ptr + text.len, 0 };
        const char *next = p->symbols[i + 1] == CEL_SYMBOL_EOF ? end : p->tokens[i + 1].text.ptr;
        buf_add(&raw, text.ptr, text.len);
        rest.len = (size_t)(end - rest.ptr);
        if (i < to)
            cel_lex_gap(rest, (size_t)(next - rest.ptr), &raw);
    }
    for (size_t i = 0; i < raw.len; i++) {
        static const char blanks[] = "\t\n\r", names[] = "tnr";
        char c = buf_text(&raw)[i];
        const char *blank = c ? strchr(blanks, c) : NULL;
        if (blank)
            buf_add_char(&b, '\\');
        buf_add_char(&b, blank ? names[blank - blanks] : c);
    }
    return arena_printf(p->source->arena, "'%s'", buf_text(&b));
}

/* ---- tokens ---- */

static void add_branch(struct syntax *p, struct cel_branch *b)
{
    struct cel_branch *parent = p->context->branch;
    *(parent->last ? &parent->last->next : &parent->first) = b;
    parent->last = b;
}

static struct cel_branch *new_token(struct syntax *p, const struct cel_token *t)
{
    struct cel_branch *b = arena_new(p->source->arena, struct cel_branch);
    *b = (struct cel_branch){ .rule = -1, .token = *t, .offset = t->offset };
    add_branch(p, b);
    return b;
}

static void consume(struct syntax *p)
{
    new_token(p, &p->tokens[p->at])->is_extra = p->recovering;
    if (symbol(p) != CEL_SYMBOL_EOF)
        p->at++;
}

static void token_fits(struct syntax *p)
{
    p->recovering = false;
    p->error_at = SIZE_MAX;
}

/* ---- errors ---- */

static void report(struct syntax *p, size_t at, const char *text)
{
    cel_issue_add(p->source, p->tokens[at].offset, "Syntax error: %s", text);
    p->recovering = true;
}

static void report_trouble(struct syntax *p)
{
    struct arena *a = p->source->arena;
    if (p->recovering)
        return;
    if (p->trouble == MISMATCH) {
        const char *found = quoted(p, p->at, p->at), *wanted = expected_text(p);
        report(p, p->at, arena_printf(a, "mismatched input %s expecting %s", found, wanted));
        return;
    }
    const char *found = quoted(p, p->decided_at, p->bad_at);
    static const char *const words[] = { "true", "false", "null" };
    for (size_t i = 0; i < lengthof(words); i++)
        if (text_eq(found, arena_printf(a, "'.%s'", words[i]))) {
            report(p,
                p->bad_at,
                arena_printf(a, "mismatched input '%s' expecting IDENTIFIER", words[i]));
            return;
        }
    report(p, p->bad_at, arena_printf(a, "no viable alternative at input %s", found));
}

static void report_extra(struct syntax *p)
{
    if (!p->recovering)
        report(p,
            p->at,
            arena_printf(p->source->arena,
                "extraneous input %s expecting %s",
                quoted(p, p->at, p->at),
                expected_text(p)));
}

static bool may_recover(struct syntax *p)
{
    if (p->recoveries++ < RECOVERIES_MAX)
        return true;
    report(p,
        p->at,
        arena_printf(
            p->source->arena, "error recovery attempt limit exceeded: %d", RECOVERIES_MAX));
    p->stopped = true;
    return false;
}

static void pass_until(struct syntax *p, uint64_t set, unsigned most)
{
    for (unsigned n = 0; symbol(p) != CEL_SYMBOL_EOF && !in_set(set, symbol(p)); n++) {
        if (n == most) {
            cel_issue_add(p->source,
                CEL_NOWHERE,
                "error recovery token lookahead limit exceeded: %d",
                PASSED_MAX);
            p->stopped = true;
            return;
        }
        consume(p);
    }
}

/* What may come after any of the rules that are being read. */
static uint64_t what_follows(const struct syntax *p)
{
    uint64_t set = 0;
    for (const struct context *c = p->context; c->invoking >= 0; c = c->parent)
        set |= cel_grammar_look(p->grammar, c->back.state, false);
    return set & ~CEL_BIT(CEL_SYMBOL_EPSILON);
}

static void recover(struct syntax *p)
{
    size_t size = (size_t)p->grammar->count * sizeof(*p->error_states);
    bool again = p->error_at == p->at && p->error_states[p->state];
    if (!may_recover(p))
        return;
    if (p->error_at == SIZE_MAX)
        memset(p->error_states, 0, size);
    if (again)
        consume(p);
    p->error_at = p->at;
    p->error_states[p->state] = true;
    pass_until(p, what_follows(p), PASSED_MAX - again);
}

static bool drop_token(struct syntax *p)
{
    bool fits = symbol(p) != CEL_SYMBOL_EOF && in_set(expected(p, p->state), p->symbols[p->at + 1]);
    if (!fits)
        return false;
    report_extra(p);
    consume(p);
    token_fits(p);
    return true;
}

static void recover_inline(struct syntax *p, const struct cel_element *e)
{
    if (!may_recover(p))
        return;
    if (drop_token(p)) {
        consume(p);
        return;
    }
    if (!in_set(expected(p, p->grammar->states[p->state].targets[0]), symbol(p))) {
        p->trouble = MISMATCH;
        return;
    }
    const char *wanted = expected_text(p);
    if (!p->recovering)
        report(p,
            p->at,
            arena_printf(p->source->arena, "missing %s at %s", wanted, quoted(p, p->at, p->at)));
    struct cel_token t = { CEL_TOKEN_OPERATOR, p->tokens[p->at].offset, STR("") };
    t.text = str_of(
        arena_printf(p->source->arena, "<missing %s>", cel_symbol_name(__builtin_ctzll(e->set))));
    new_token(p, &t);
}

/* Before a decision: what can be no part of it is dropped, or passed over. */
static void synchronise(struct syntax *p)
{
    uint64_t next = cel_grammar_look(p->grammar, p->state, false);
    if (p->recovering || in_set(next, CEL_SYMBOL_EPSILON) || in_set(next, symbol(p)))
        return;
    if (p->grammar->states[p->state].kind == CEL_STATE_LOOP_BACK) {
        report_extra(p);
        pass_until(p, expected(p, p->state) | what_follows(p), UINT32_MAX);
    } else if (!drop_token(p)) {
        p->trouble = MISMATCH;
    }
}

/* ---- decisions ---- */

/* Whether one token always tells. */
static bool is_simple(const struct syntax *p, const struct cel_state *s)
{
    uint64_t seen = 0;
    for (int i = 0; i < s->count; i++) {
        uint64_t set = cel_grammar_look(p->grammar, s->targets[i], true);
        if (seen & set)
            return false;
        seen |= set;
    }
    return true;
}

/* The alternative that is taken, from 0; behind the last is the way past all of them. */
static int choose(struct syntax *p, const struct cel_element *e, int decision)
{
    const struct cel_state *s = &p->grammar->states[decision];
    int alt = -1;
    if (is_simple(p, s)) {
        for (int i = 0; i < s->count && alt < 0; i++)
            if (in_set(cel_grammar_look(p->grammar, s->targets[i], true), symbol(p)))
                alt = i;
        if (alt < 0 && e->kind != CEL_ELEMENT_BLOCK && decision == e->decision)
            return s->count - 1;
        p->bad_at = p->at;
    } else {
        alt = cel_predict(&(struct cel_prediction){ p->grammar,
                              p->symbols,
                              p->at,
                              decision,
                              p->context->invoking >= 0 ? &p->context->back : NULL },
            &p->bad_at);
    }
    if (alt < 0) {
        p->trouble = NO_ALTERNATIVE;
        p->decided_at = p->at;
    }
    return alt;
}

/* ---- rules ---- */

static void enter(struct syntax *p, int rule)
{
    if (++p->depth[rule] <= CEL_DEPTH_MAX)
        return;
    cel_issue_add(p->source, CEL_NOWHERE, "expression recursion limit exceeded: %d", CEL_DEPTH_MAX);
    p->stopped = true;
}

static bool goes_on(const struct syntax *p)
{
    return !p->trouble && !p->stopped;
}

static bool is_outermost(const struct syntax *p, const struct cel_element *e)
{
    return e == p->grammar->rules[p->context->branch->rule].body;
}

static void read_block(struct syntax *p, const struct cel_element *e)
{
    p->state = e->state;
    synchronise(p);
    int alt = goes_on(p) ? choose(p, e, e->decision) : -1;
    if (alt < 0 || alt >= e->alt_count)
        return;
    if (is_outermost(p, e))
        p->context->branch->alt = alt + 1;
    read_sequence(p, e->alts[alt]);
}

static void read_loop(struct syntax *p, const struct cel_element *e)
{
    p->state = e->state;
    synchronise(p);
    if (!goes_on(p) || (e->kind == CEL_ELEMENT_STAR && choose(p, e, e->decision) != 0))
        return;
    do {
        read_sequence(p, e->alts[0]);
        if (!goes_on(p))
            return;
        p->state = e->back;
        synchronise(p);
    } while (goes_on(p) && choose(p, e, e->decision) == 0);
}

/* Whether an operator follows that binds tightly enough. */
static bool is_repeated(const struct syntax *p, const struct cel_element *e)
{
    for (int i = 0; i < e->alt_count; i++) {
        const struct cel_element *last = e->alts[i];
        if (!in_set(cel_grammar_look(p->grammar, last->state, false), symbol(p)))
            continue;
        while (last->next)
            last = last->next;
        if (!last->level || last->level > p->context->level)
            return true;
    }
    return false;
}

static void read_left(struct syntax *p, const struct cel_element *e, unsigned *ret_count)
{
    p->state = e->state;
    while (goes_on(p) && is_repeated(p, e)) {
        p->state = e->inner;
        int alt = e->alt_count > 1 ? choose(p, e, e->inner) : 0;
        if (alt < 0)
            return;
        struct cel_branch *around = arena_new(p->source->arena, struct cel_branch);
        struct cel_branch *inner = p->context->branch;
        *around = (struct cel_branch){
            .rule = inner->rule, .alt = alt + 1, .is_repeated = true, .offset = inner->offset
        };
        p->context->branch = around;
        add_branch(p, inner);
        ++*ret_count;
        enter(p, inner->rule);
        if (goes_on(p))
            read_sequence(p, e->alts[alt]);
        if (goes_on(p))
            p->state = e->back;
    }
}

static void read_token(struct syntax *p, const struct cel_element *e)
{
    p->state = e->state;
    if (!in_set(e->set, symbol(p))) {
        recover_inline(p, e);
        return;
    }
    token_fits(p);
    consume(p);
}

static void read_sequence(struct syntax *p, const struct cel_element *e)
{
    unsigned repeated = 0;
    for (; e && goes_on(p); e = e->next)
        switch (e->kind) {
        case CEL_ELEMENT_TOKEN:
            read_token(p, e);
            break;
        case CEL_ELEMENT_RULE:
            p->state = e->state;
            read_rule(p, e->rule, e->level);
            break;
        case CEL_ELEMENT_BLOCK:
        case CEL_ELEMENT_OPTIONAL:
            read_block(p, e);
            break;
        case CEL_ELEMENT_STAR:
        case CEL_ELEMENT_PLUS:
            read_loop(p, e);
            break;
        case CEL_ELEMENT_LEFT:
            read_left(p, e, &repeated);
            break;
        }
    p->depth[p->context->branch->rule] -= repeated;
}

static void read_rule(struct syntax *p, int rule, int level)
{
    struct context c = { p->context, p->state, level, NULL, { 0 } };
    c.branch = arena_new(p->source->arena, struct cel_branch);
    *c.branch = (struct cel_branch){ .rule = rule, .offset = p->tokens[p->at].offset };
    if (c.invoking >= 0)
        c.back = (struct cel_return){ .outer = c.parent->invoking >= 0 ? &c.parent->back : NULL,
            .state = p->grammar->states[c.invoking].targets[0] };
    p->context = &c;
    p->state = p->grammar->rules[rule].start;
    enter(p, rule);
    read_sequence(p, p->grammar->rules[rule].body);
    if (p->trouble && !p->stopped) {
        report_trouble(p);
        recover(p);
    }
    p->trouble = FINE;
    p->depth[rule]--;
    p->state = c.invoking;
    p->context = c.parent;
    if (c.parent)
        add_branch(p, c.branch);
    else if (!p->stopped)
        cel_syntax_inspect(p->source, c.branch);
}

void cel_syntax_explain(struct cel_source *s)
{
    struct syntax p = { .source = s, .grammar = cel_grammar_new(s->arena), .error_at = SIZE_MAX };
    struct cel_lexer lexer = { .source = s };
    size_t size = 0;
    p.error_states = arena_array(s->arena, (size_t)p.grammar->count, sizeof(*p.error_states));
    do {
        if (p.count == size) {
            struct cel_token *old = p.tokens;
            size = size * 2 + 64;
            p.tokens = arena_array(s->arena, size, sizeof(*p.tokens));
            if (p.count)
                memcpy(p.tokens, old, p.count * sizeof(*old));
        }
        p.tokens[p.count] = cel_lex(&lexer);
    } while (p.tokens[p.count++].kind != CEL_TOKEN_END);
    p.symbols = arena_array(s->arena, p.count, sizeof(*p.symbols));
    for (size_t i = 0; i < p.count; i++)
        p.symbols[i] = (uint8_t)cel_symbol_of(&p.tokens[i]);
    p.state = -1;
    read_rule(&p, CEL_RULE_START, 0);
}
