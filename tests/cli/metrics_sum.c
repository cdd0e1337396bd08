#include "cli/metrics_sum.h"

#include "base/buf.h"
#include "tests/test.h"

#define HEAD(name, type) "# HELP " name " It.\n# TYPE " name " " type "\n"

TEST(metrics_of_several_engines_are_one_text_with_each_family_once)
{
    static const char version[] = "leeboard_watched_resource_version";
    static const char *const texts[] = {
        HEAD("runs_total", "counter") "runs_total{a=\"x y\"} 2\nruns_total{a=\"z\"} 1\n" HEAD(
            "leeboard_watched_resource_version", "gauge") "leeboard_watched_resource_version 90\n",
        HEAD("leeboard_watched_resource_version",
            "gauge") "leeboard_watched_resource_version 70\n" HEAD("runs_total",
            "counter") "runs_total{a=\"x y\"} 40\nruns_total{a=\"new\"} 1.5\n",
    };
    struct metrics_sum *sum = metrics_sum_new();
    for (size_t i = 0; i < lengthof(texts); i++)
        metrics_sum_add(sum, str_of(texts[i]));
    cleanup(buf_done) struct buf got = BUF_INIT(1 << 16);
    metrics_sum_print(sum, &got);
    metrics_sum_free(sum);
    check_text(buf_text(&got),
        arena_printf(test_arena(),
            HEAD("runs_total", "counter") "runs_total{a=\"x y\"} 42\nruns_total{a=\"z\"} 1\n"
                                          "runs_total{a=\"new\"} 1.5\n" HEAD(
                                              "%s", "gauge") "%s 70\n",
            version,
            version,
            version));
}
