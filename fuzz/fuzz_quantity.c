/* Quantities: a canonical form is canonical, and equal to what it was made of. The same bytes also
 * go to the other small readers of numbers: durations, times, int-or-string. */

#include "base/intorstr.h"
#include "base/quantity.h"
#include "base/time.h"
#include "fuzz/fuzz.h"

static void check_quantity(struct arena *a, const char *text)
{
    struct quantity q, again;
    struct error err;
    if (!quantity_parse(str_of(text), &q, &err)) {
        assert(err.code == ERR_INVALID && !quantity_canonical(a, text));
        return;
    }
    const char *canonical = quantity_canonical(a, text), *exact = quantity_to_text(a, q);
    assert(text_eq(canonical, quantity_canonical(a, canonical)));
    assert(quantity_text_equal(text, canonical));
    assert(text_eq(exact, quantity_canonical(a, exact)));
    assert(quantity_parse(str_of(exact), &again, &err) && quantity_compare(q, again) == 0);
    const char *rounded = quantity_canonical_resource(a, text);
    assert(text_eq(rounded, quantity_canonical_resource(a, rounded)));
    assert(quantity_parse(str_of(rounded), &again, &err));
    assert(q.value < 0 ? quantity_compare(again, q) <= 0 : quantity_compare(again, q) >= 0);
    assert(quantity_milli_value(q) == quantity_milli_value(again));
    (void)quantity_value(q);
}

static void check_time(struct arena *a, const char *text)
{
    int64_t ns, again;
    if (time_duration_parse(text, &ns)) {
        assert(time_duration_parse(time_duration_format(a, ns), &again));
        assert(ns == again);
    }
    int64_t us;
    const int64_t year_0 = -62167219200000000, year_10000 = 253402300800000000;
    if (time_parse_micro(text, &us) && us >= year_0 && us < year_10000) {
        assert(time_parse_micro(time_format_micro(a, us), &again));
        assert(us == again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup(arena_done) struct arena a = ARENA_INIT;
    const char *text = arena_strndup(&a, (const char *)data, size);
    check_quantity(&a, text);
    check_time(&a, text);
    int64_t scaled;
    struct error err;
    (void)!intorstr_scaled(json_str(text), 1000, true, &scaled, &err);
    return 0;
}
