/* Any text as policies: it is refused with its place, or decides a request within its budget, twice
 * the same. */

#include "cedar/cedar.h"

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct error err = { 0 };
    struct cedar_policies *p = cedar_parse(&a, (struct str){ (const char *)data, size }, &err);
    assert(p || err.code != ERR_NONE);
    if (!p)
        return 0;
    static const char context[] = "{\"n\":1,\"s\":\"a\",\"l\":[1,\"x\",{\"y\":true}]}";
    struct json values;
    bool ok = json_parse(&a, str_of(context), &values, &err);
    assert(ok);
    const struct cedar_uid group = { STR("Group"), STR("g") };
    const struct cedar_entity entities[] = {
        { { STR("User"), STR("u") }, values, &group, 1 },
        { group, { 0 }, &group, 1 }, /* a circle */
    };
    struct cedar_request r = {
        .principal = entities[0].uid,
        .action = { STR("Action"), STR("a") },
        .resource = group,
        .context = values,
        .entities = entities,
        .entity_count = lengthof(entities),
    };
    struct cedar_answer one = cedar_authorize(&a, p, &r), two = cedar_authorize(&a, p, &r);
    assert(one.allowed == two.allowed && one.error_count == two.error_count);
    assert(one.reason_count == two.reason_count);
    return 0;
}
