#include "fuzz/fuzz.h"
#include "http/follow.h"

#define MESSAGES_MAX 4096

/* Where messages end does not depend on the pieces that they come in: the sum of the ends of one
 * side's bytes, all at once or byte by byte. */
static uint64_t ends_of(struct follow *f, struct str bytes, size_t piece)
{
    uint64_t sum = 0;
    size_t at = 0;
    for (size_t messages = 0; at < bytes.len && messages < MESSAGES_MAX;) {
        size_t size = bytes.len - at < piece ? bytes.len - at : piece;
        size_t count = follow_feed(f, (struct str){ bytes.ptr + at, size });
        assert(count <= size && follow_state(f) != FOLLOW_IDLE);
        at += count;
        if (follow_state(f) != FOLLOW_ENDED) {
            assert(count == size); /* nothing is left over but at an end */
            continue;
        }
        assert(count > 0);
        sum = sum * 31 + at * 2 + follow_is_last(f);
        follow_next(f);
        messages++;
    }
    return sum * 4 + (uint64_t)follow_state(f);
}

/* A request and its answers, with a NUL between: the first byte says how the answers are cut. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t pieces[] = { 1, 2, 7, 64 };
    if (size < 2)
        return 0;
    struct str rest = { (const char *)data + 1, size - 1 };
    struct str request = str_cut(&rest, '\0');
    uint64_t ends[2][2];
    for (int i = 0; i < 2; i++) {
        struct follow *requests = follow_requests_new();
        struct follow *asked = follow_requests_new();
        ends[0][i] = ends_of(requests, request, i ? pieces[data[0] % 4] : SIZE_MAX);
        size_t count = follow_feed(asked, request);
        assert(count <= request.len);
        struct follow *answers = follow_answers_new(asked);
        ends[1][i] = rest.ptr ? ends_of(answers, rest, i ? pieces[data[0] / 4 % 4] : SIZE_MAX) : 0;
        follow_free(answers);
        follow_free(asked);
        follow_free(requests);
    }
    assert(ends[0][0] == ends[0][1]);
    assert(ends[1][0] == ends[1][1]);
    return 0;
}
