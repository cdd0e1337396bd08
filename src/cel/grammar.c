#include "cel/grammar.h"

#include <ctype.h>

/* In this order messages list them. Blanks and comments have no names. */
static const char *const symbols[CEL_SYMBOLS] = { "<EOF>",
    "'=='",
    "'!='",
    "'in'",
    "'<'",
    "'<='",
    "'>='",
    "'>'",
    "'&&'",
    "'||'",
    "'['",
    "']'",
    "'{'",
    "'}'",
    "'('",
    "')'",
    "'.'",
    "','",
    "'-'",
    "'!'",
    "'?'",
    "':'",
    "'+'",
    "'*'",
    "'/'",
    "'%'",
    "'true'",
    "'false'",
    "'null'",
    "NUM_FLOAT",
    "NUM_INT",
    "NUM_UINT",
    "STRING",
    "BYTES",
    "IDENTIFIER",
    "ESC_IDENTIFIER" };

/* [a b] is one token of several; {…} is what a left-recursive rule repeats around what it has read;
 * rule.N takes only operators that bind at least so tightly. */
static const struct {
    const char *name, *text;
} rules[CEL_RULES] = {
    [CEL_RULE_START] = { "start", "expr <EOF>" },
    [CEL_RULE_EXPR] = { "expr", "or ( '?' or ':' expr )?" },
    [CEL_RULE_OR] = { "or", "and ( '||' and )*" },
    [CEL_RULE_AND] = { "and", "relation ( '&&' relation )*" },
    [CEL_RULE_RELATION] = { "relation",
        "calc { [ '<' '<=' '>=' '>' '==' '!=' 'in' ] relation.2 }" },
    [CEL_RULE_CALC] = { "calc", "unary { [ '*' '/' '%' ] calc.3 | [ '+' '-' ] calc.2 }" },
    [CEL_RULE_UNARY] = { "unary", "( member | ( '!' )+ member | ( '-' )+ member )" },
    [CEL_RULE_MEMBER] = { "member",
        "primary { '.' ( '?' )? name | '.' IDENTIFIER '(' ( exprs )? ')' | '[' ( '?' )? expr ']' "
        "}" },
    [CEL_RULE_PRIMARY] = { "primary",
        "( ( '.' )? IDENTIFIER | ( '.' )? IDENTIFIER '(' ( exprs )? ')' | '(' expr ')' "
        "| '[' ( items )? ( ',' )? ']' | '{' ( entries )? ( ',' )? '}' "
        "| ( '.' )? IDENTIFIER ( '.' IDENTIFIER )* '{' ( fields )? ( ',' )? '}' | literal )" },
    [CEL_RULE_EXPRS] = { "exprs", "expr ( ',' expr )*" },
    [CEL_RULE_ITEMS] = { "items", "item ( ',' item )*" },
    [CEL_RULE_FIELDS] = { "fields", "field ':' expr ( ',' field ':' expr )*" },
    [CEL_RULE_FIELD] = { "field", "( '?' )? name" },
    [CEL_RULE_ENTRIES] = { "entries", "item ':' expr ( ',' item ':' expr )*" },
    [CEL_RULE_NAME] = { "name", "( IDENTIFIER | ESC_IDENTIFIER )" },
    [CEL_RULE_ITEM] = { "item", "( '?' )? expr" },
    [CEL_RULE_LITERAL] = { "literal",
        "( ( '-' )? NUM_INT | NUM_UINT | ( '-' )? NUM_FLOAT | STRING | BYTES | 'true' | 'false' "
        "| 'null' )" },
};

#define STATES_MAX 400

const char *cel_symbol_name(int symbol)
{
    assert(symbol >= 0 && symbol < CEL_SYMBOLS);
    return symbols[symbol];
}

int cel_symbol_named(struct str name)
{
    int i = 0;
    while (i < CEL_SYMBOLS && !str_eq(name, str_of(symbols[i])))
        i++;
    return i;
}

int cel_symbol_of(const struct cel_token *t)
{
    static const char *const classes[] = {
        [CEL_TOKEN_END] = "<EOF>",
        [CEL_TOKEN_IDENT] = "IDENTIFIER",
        [CEL_TOKEN_ESCAPED_IDENT] = "ESC_IDENTIFIER",
        [CEL_TOKEN_INT] = "NUM_INT",
        [CEL_TOKEN_UINT] = "NUM_UINT",
        [CEL_TOKEN_DOUBLE] = "NUM_FLOAT",
        [CEL_TOKEN_STRING] = "STRING",
        [CEL_TOKEN_BYTES] = "BYTES",
    };
    if (t->kind != CEL_TOKEN_OPERATOR)
        return cel_symbol_named(str_of(classes[t->kind]));
    char quoted[16];
    int length = snprintf(quoted, sizeof(quoted), "'%.*s'", (int)t->text.len, t->text.ptr);
    return cel_symbol_named((struct str){ quoted, (size_t)length });
}

/* ---- from the text to elements and states ---- */

struct builder {
    struct arena *arena;
    struct cel_grammar *grammar;
    struct str rest;
    int rule;
};

static int new_state(struct builder *b, enum cel_state_kind kind)
{
    assert(b->grammar->count < STATES_MAX);
    b->grammar->states[b->grammar->count] =
        (struct cel_state){ .kind = kind, .rule = b->rule, .call = -1 };
    return b->grammar->count++;
}

static void connect(struct builder *b, int from, int to)
{
    struct cel_state *s = &b->grammar->states[from];
    assert(s->count < CEL_ALTS_MAX);
    s->targets[s->count++] = to;
}

static struct str next_word(struct builder *b)
{
    b->rest = str_trim(b->rest);
    struct str word = str_cut(&b->rest, ' ');
    if (!b->rest.ptr)
        b->rest = STR("");
    return word;
}

static bool at_word(struct builder *b, const char *word)
{
    b->rest = str_trim(b->rest);
    struct builder ahead = *b;
    return b->rest.len && str_eq(next_word(&ahead), str_of(word));
}

static struct cel_element *read_sequence(struct builder *b);

/* A token, a set of them, or a rule. */
static struct cel_element *read_simple(struct builder *b, struct str word)
{
    struct cel_element *e = arena_new(b->arena, struct cel_element);
    e->state = new_state(b, CEL_STATE_BASIC);
    struct cel_state *s = &b->grammar->states[e->state];
    if (str_eq(word, STR("["))) {
        while (!str_eq(word = next_word(b), STR("]")))
            e->set |= CEL_BIT(cel_symbol_named(word));
    } else if (islower((unsigned char)*word.ptr)) {
        struct str name = str_cut(&word, '.');
        while (!str_eq(name, str_of(rules[e->rule].name)))
            e->rule++;
        e->kind = CEL_ELEMENT_RULE;
        e->level = word.len ? *word.ptr - '0' : 0;
        s->call = e->rule;
        return e;
    } else {
        e->set = CEL_BIT(cel_symbol_named(word));
    }
    assert(!(e->set & CEL_BIT(CEL_SYMBOLS)));
    s->set = e->set;
    return e;
}

static struct cel_element *read_group(struct builder *b)
{
    struct cel_element *e = arena_new(b->arena, struct cel_element);
    struct str end;
    do {
        assert(e->alt_count < CEL_ALTS_MAX);
        e->alts[e->alt_count++] = read_sequence(b);
        end = next_word(b);
    } while (str_eq(end, STR("|")));
    char last = end.ptr[end.len - 1];
    e->kind = last == '?'   ? CEL_ELEMENT_OPTIONAL
              : last == '*' ? CEL_ELEMENT_STAR
              : last == '+' ? CEL_ELEMENT_PLUS
              : last == '}' ? CEL_ELEMENT_LEFT
                            : CEL_ELEMENT_BLOCK;
    bool is_loop = e->kind == CEL_ELEMENT_STAR || e->kind == CEL_ELEMENT_LEFT;
    e->state = new_state(b, is_loop ? CEL_STATE_LOOP_ENTRY : CEL_STATE_BLOCK);
    e->inner = is_loop ? new_state(b, CEL_STATE_BLOCK) : e->state;
    if (is_loop || e->kind == CEL_ELEMENT_PLUS)
        e->back = new_state(b, CEL_STATE_LOOP_BACK);
    e->decision = e->kind == CEL_ELEMENT_PLUS ? e->back : e->state;
    return e;
}

static bool at_end(struct builder *b)
{
    static const char *const ends[] = { ")", ")?", ")*", ")+", "|", "}" };
    for (size_t i = 0; i < lengthof(ends); i++)
        if (at_word(b, ends[i]))
            return true;
    return str_trim(b->rest).len == 0;
}

static struct cel_element *read_sequence(struct builder *b)
{
    struct cel_element *first = NULL, **last = &first;
    while (!at_end(b)) {
        struct str word = next_word(b);
        bool is_group = str_eq(word, STR("(")) || str_eq(word, STR("{"));
        *last = is_group ? read_group(b) : read_simple(b, word);
        last = &(*last)->next;
    }
    return first;
}

/* Leads a sequence's states from one to the next, the last to `end`. */
static void join(struct builder *b, const struct cel_element *e, int end)
{
    for (; e; e = e->next) {
        int after = e->next ? e->next->state : end;
        if (e->kind == CEL_ELEMENT_TOKEN || e->kind == CEL_ELEMENT_RULE) {
            connect(b, e->state, after);
            continue;
        }
        bool loops = e->kind != CEL_ELEMENT_BLOCK && e->kind != CEL_ELEMENT_OPTIONAL;
        for (int i = 0; i < e->alt_count; i++) {
            connect(b, e->inner, e->alts[i]->state);
            join(b, e->alts[i], loops ? e->back : after);
        }
        if (e->inner != e->state)
            connect(b, e->state, e->inner);
        if (loops)
            connect(b, e->back, e->state);
        if (e->kind != CEL_ELEMENT_BLOCK)
            connect(b, e->decision, after);
    }
}

const struct cel_grammar *cel_grammar_new(struct arena *a)
{
    struct cel_grammar *g = arena_new(a, struct cel_grammar);
    g->states = arena_array(a, STATES_MAX, sizeof(*g->states));
    for (int r = 0; r < CEL_RULES; r++) {
        struct builder b = { a, g, str_of(rules[r].text), r };
        g->rules[r].body = read_sequence(&b);
        g->rules[r].start = g->rules[r].body->state;
        g->rules[r].stop = new_state(&b, CEL_STATE_STOP);
        join(&b, g->rules[r].body, g->rules[r].stop);
    }
    return g;
}

/* ---- looking ahead ---- */

struct look {
    const struct cel_grammar *grammar;
    bool beyond;
    bool seen[STATES_MAX];
};

static uint64_t look_from(struct look *l, int state)
{
    const struct cel_state *s = &l->grammar->states[state];
    uint64_t found = s->set;
    if (l->seen[state])
        return 0;
    l->seen[state] = true;
    if (s->set)
        return found;
    if (s->kind == CEL_STATE_STOP && !l->beyond)
        return CEL_BIT(CEL_SYMBOL_EPSILON);
    if (s->kind == CEL_STATE_STOP)
        for (int i = 0; i < l->grammar->count; i++)
            if (l->grammar->states[i].call == s->rule)
                found |= look_from(l, l->grammar->states[i].targets[0]);
    if (s->call >= 0) {
        /* No rule can be passed without reading something. */
        bool beyond = l->beyond;
        l->beyond = false;
        found = look_from(l, l->grammar->rules[s->call].start);
        l->beyond = beyond;
        return found;
    }
    for (int i = 0; i < s->count; i++)
        found |= look_from(l, s->targets[i]);
    return found;
}

uint64_t cel_grammar_look(const struct cel_grammar *g, int state, bool beyond)
{
    struct look l = { .grammar = g, .beyond = beyond };
    return look_from(&l, state);
}
