/* The rules of schemas on a line each, for tests/cluster/test_cel.py: {"schema": …, "object": …,
 * "old": …} in; out what stands against the schema ("install"), against the object ("errors",
 * "warnings"), and what the rules of the schema's root cost ("rules"). */

#include <stdio.h>
#include <stdlib.h>

#include "cel/rules.h"
#include "cel/rules_tree.h"

static struct json list_of(struct arena *a, const struct cel_problems *problems)
{
    struct json_builder b;
    json_builder_init(&b, a);
    for (const struct cel_problem *p = problems->first; p; p = p->next)
        json_push(&b,
            json_map(a,
                { "field", json_str(p->path) },
                { "reason", json_str(p->reason) },
                { "message", json_str(p->message) }));
    return json_list_end(&b);
}

static struct json rules_of(struct arena *a, const struct cel_rules *rules, struct json request)
{
    struct json_builder b;
    struct cel_input input = { json_member(request, "object"), json_member(request, "old") };
    json_builder_init(&b, a);
    for (size_t i = 0; i < rules->rule_count; i++) {
        const struct cel_rule *r = &rules->rules[i];
        struct json cost = { 0 };
        if (r->program && json_present(input.self))
            cost = json_int((int64_t)cel_run(r->program, a, &input).cost);
        json_push(&b,
            json_map(a,
                { "estimate",
                    r->program ? json_strf(a, "%llu", (unsigned long long)r->program->estimate)
                               : json_null() },
                { "error", json_str(r->trouble) },
                { "cost", cost }));
    }
    return json_list_end(&b);
}

static struct json answer(struct arena *a, struct json request)
{
    struct cel_problems install = { 0 }, errors = { 0 }, warnings = { 0 };
    struct cel_rules_options options = { .at = json_get_text(request, "at") };
    const struct cel_rules *rules =
        cel_rules_compile(a, json_member(request, "schema"), &options, &install);
    struct cel_rules_input input = { json_member(request, "object"), json_member(request, "old") };
    if (json_present(input.object))
        cel_rules_check(rules, a, &input, &errors, &warnings);
    return json_map(a,
        { "install", list_of(a, &install) },
        { "errors", list_of(a, &errors) },
        { "warnings", list_of(a, &warnings) },
        { "rules", rules_of(a, rules, request) });
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getline(&line, &size, stdin)) > 0) {
        cleanup(arena_done) struct arena a = ARENA_INIT;
        struct json request;
        struct error err;
        if (!json_parse(&a, (struct str){ line, (size_t)length }, &request, &err)) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
        puts(json_to_text(&a, answer(&a, request)));
        fflush(stdout);
    }
    free(line);
    return 0;
}
