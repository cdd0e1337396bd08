/* A pattern, a line end, a text: a match lies within the text, and searching from its beginning
 * finds it again. */

#include "cel/regex/regex.h"

#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct str text = { (const char *)data, size }, pattern = str_cut(&text, '\n');
    const struct cel_regex *re;
    struct cel_regex_scratch scratch = { 0 };
    struct cel_regex_match m, again;
    const char *trouble = cel_regex_compile(&a, pattern, &re);
    if (trouble) {
        assert(*trouble);
        return 0;
    }
    if (!text.ptr)
        text = (struct str){ "", 0 };
    if (!cel_regex_search(re, &a, &scratch, text, 0, &m) || scratch.exhausted)
        return 0;
    assert(m.start <= m.end && m.end <= text.len);
    assert(cel_regex_search(re, &a, &scratch, text, m.start, &again) || scratch.exhausted);
    assert(scratch.exhausted || (again.start == m.start && again.end == m.end));
    return 0;
}
