/* Templates of composite tools: no crash, and the same answer whether or not fields are wanted. */

#include "fuzz/fuzz.h"
#include "kinds/toolhive/composite_tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct error err;
    struct json_builder fields;
    json_builder_init(&fields, &a);
    const struct template_refs refs = { &fields };
    const char *text = arena_strndup(&a, (const char *)data, size);
    bool plain = composite_template_check(&a, text, NULL, &err);
    assert(plain == composite_template_check(&a, text, &refs, &err));
    return 0;
}
