/* Replies of Redis: a reply that is whole is eaten whole, and reads the same when the bytes come in
 * two pieces. */

#include "fuzz/fuzz.h"
#include "mcp/middleware/redis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size }, error, again;
    int64_t value, other;
    while (text.len) {
        struct str before = text, part = text;
        int got = redis_read_reply(&text, &value, &error);
        if (got != 1) {
            assert(text.len == before.len);
            break;
        }
        assert(text.len < before.len);
        part.len = before.len - text.len;
        assert(redis_read_reply(&part, &other, &again) == 1 && !part.len && value == other);
        part = before;
        part.len = before.len - text.len - 1;
        assert(redis_read_reply(&part, &other, &again) != 1);
    }
    return 0;
}
