/* Any text as an expression: it is refused with a reason, or gives a value within its budget, twice
 * the same. */

#include "cel/cel.h"

#include "fuzz/fuzz.h"

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"i\":{\"type\":\"integer\"},\"s\":{\"type\":\"string\"},"
    "\"any\":{\"x-kubernetes-int-or-string\":true},\"d\":{\"type\":\"string\",\"format\":"
    "\"duration\"},\"l\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"m\":{\"type\":"
    "\"object\",\"additionalProperties\":{\"type\":\"number\"}},\"set\":{\"type\":\"array\","
    "\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}},\"none\":{\"type\":"
    "\"string\",\"nullable\":true}}}";
static const char object[] = "{\"i\":7,\"s\":\"h\xc3\xa9llo\",\"any\":\"80%\",\"d\":\"1h\",\"l\":["
                             "\"b\",\"a\"],\"m\":{\"x\":1.5},\"set\":[\"q\"],\"none\":null}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT, once = ARENA_INIT, again = ARENA_INIT;
    struct cel_options options = { .optional_old_self = size % 2 };
    const struct cel_program *p = NULL;
    struct cel_input input = { 0 };
    struct json s;
    assert(json_parse(&a, str_of(schema), &s, NULL) &&
           json_parse(&a, str_of(object), &input.self, NULL));
    const char *text = arena_strndup(&a, (const char *)data, size);
    const char *trouble = cel_compile(&a, cel_decl_new(&a, s, true), text, &options, &p);
    assert(trouble ? *trouble != '\0' : p != NULL);
    if (trouble)
        return 0;
    struct cel_outcome first = cel_run(p, &once, &input), second = cel_run(p, &again, &input);
    assert(first.value.kind == second.value.kind && first.cost == second.cost);
    assert(first.over_budget || first.cost <= CEL_BUDGET_CALL);
    assert(first.value.kind != CEL_ERROR || first.value.text.len);
    assert(cel_show(&once, first.value));
    return 0;
}
