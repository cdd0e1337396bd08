/* JSON: what is read prints and reads back the same, and survives packing. */

#include "base/buf.h"
#include "base/json.h"
#include "base/pack.h"
#include "fuzz/fuzz.h"

static void check_pack(struct arena *a, struct json v)
{
    struct strings pool;
    strings_init(&pool, 1, 2);
    struct pack *one = pack_new(&pool, v), *two = pack_new(&pool, v);
    assert(json_equal(pack_read(a, one), v));
    assert(json_equal(pack_read(a, two), v));
    pack_free(&pool, one);
    pack_free(&pool, two);
    strings_done(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct json v, again;
    struct error err;
    if (!json_parse(&a, (struct str){ (const char *)data, size }, &v, &err)) {
        assert(err.code != ERR_NONE && err.text[0]);
        return 0;
    }
    const char *text = json_to_text(&a, v);
    assert(json_parse(&a, str_of(text), &again, &err));
    assert(json_equal(v, again) && json_compare(v, again) == 0);
    cleanup(buf_done) struct buf pretty = BUF_INIT((size_t)64 << 20);
    json_print_pretty(&pretty, v, 2);
    assert(json_parse(&a, buf_str(&pretty), &again, &err) && json_equal(v, again));
    check_pack(&a, v);
    return 0;
}
