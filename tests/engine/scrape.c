#include "engine/scrape.h"
#include "base/buf.h"
#include "tests/test.h"

TEST(samples_are_printed_by_family_and_added_where_labels_are_the_same)
{
    static const double bounds[] = { 1, 10, 0 };
    static const struct scrape_family waiting = {
        "waiting", "Who waits.", METRIC_GAUGE, .labels = { "namespace" }
    };
    static const struct scrape_family took = {
        "took_seconds", "How long.", METRIC_HISTOGRAM, bounds, { "name", "namespace" }
    };
    struct scrape *s = scrape_new(4096);
    scrape_add(s, &waiting, 1, SCRAPE_LABELS("a"));
    scrape_add(s, &took, 1.5, SCRAPE_LABELS("x", "a"));
    scrape_add(s, &waiting, 1, SCRAPE_LABELS("a"));
    scrape_add(s, &waiting, 0, SCRAPE_LABELS("b"));
    scrape_add(s, &took, 60, SCRAPE_LABELS("q\"\\\n", NULL));
    cleanup(buf_done) struct buf b = BUF_INIT(4096);
    scrape_print(s, &b);
    check_text(buf_text(&b),
        "# HELP waiting Who waits.\n# TYPE waiting gauge\n"
        "waiting{namespace=\"a\"} 2\nwaiting{namespace=\"b\"} 0\n"
        "# HELP took_seconds How long.\n# TYPE took_seconds histogram\n"
        "took_seconds_bucket{name=\"x\",namespace=\"a\",le=\"10\"} 1\n"
        "took_seconds_bucket{name=\"x\",namespace=\"a\",le=\"+Inf\"} 1\n"
        "took_seconds_sum{name=\"x\",namespace=\"a\"} 1.5\n"
        "took_seconds_count{name=\"x\",namespace=\"a\"} 1\n"
        "took_seconds_bucket{name=\"q\\\"\\\\\\n\",namespace=\"\",le=\"+Inf\"} 1\n"
        "took_seconds_sum{name=\"q\\\"\\\\\\n\",namespace=\"\"} 60\n"
        "took_seconds_count{name=\"q\\\"\\\\\\n\",namespace=\"\"} 1\n");
    scrape_free(s);
}
