#include "base/metric.h"

#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "base/metric_process.h"
#include "tests/test.h"

TEST(metrics_print_in_the_text_format)
{
    static const double bounds[] = { 0.1, 1, 0 };
    struct metric runs = { .name = "runs_total", .help = "Runs.", .type = METRIC_COUNTER };
    struct metric seconds = {
        .name = "run_seconds",
        .help = "Time.",
        .type = METRIC_HISTOGRAM,
        .bounds = bounds,
    };
    struct metrics m = { 0 };
    metrics_link(&m, &runs);
    metrics_link(&m, &seconds);
    metric_add(&runs, "kind=\"a\"", 1);
    metric_add(&runs, "kind=\"a\"", 2);
    metric_add(&runs, NULL, 1);
    metric_observe(&seconds, NULL, 0.1);
    metric_observe(&seconds, NULL, 5);
    struct buf b = BUF_INIT(4096);
    metrics_print(&m, &b);
    check_text(buf_text(&b),
        "# HELP runs_total Runs.\n# TYPE runs_total counter\n"
        "runs_total{kind=\"a\"} 3\nruns_total 1\n"
        "# HELP run_seconds Time.\n# TYPE run_seconds histogram\n"
        "run_seconds_bucket{le=\"0.1\"} 1\nrun_seconds_bucket{le=\"1\"} 1\n"
        "run_seconds_bucket{le=\"+Inf\"} 2\nrun_seconds_sum 5.1\nrun_seconds_count 2\n");
    check(metric_value(&runs, "kind=\"a\"") == 3);
    buf_done(&b);
    metrics_done(&m);
}

TEST(metric_families_are_bounded)
{
    struct metric hits = {
        .name = "hits", .help = "Hits.", .type = METRIC_COUNTER, .series_max = 2
    };
    struct metrics m = { 0 };
    metrics_link(&m, &hits);
    struct metric_series *first = metric_series(&hits, "team=\"0\",code=\"a\\\"b\"");
    for (int i = 1; i < 100; i++) {
        cleanup(buf_done) struct buf labels = BUF_INIT(1024);
        char value[16];
        snprintf(value, sizeof(value), "%d", i);
        metric_label(&labels, "team", str_of(value));
        metric_label(&labels, "code", STR("a\"b"));
        metric_add(&hits, buf_text(&labels), 1);
    }
    metric_series_add(first, 5);
    cleanup(buf_done) struct buf b = BUF_INIT(4096);
    metrics_print(&m, &b);
    check_text(buf_text(&b),
        "# HELP hits Hits.\n# TYPE hits counter\nhits{team=\"0\",code=\"a\\\"b\"} 5\n"
        "hits{team=\"1\",code=\"a\\\"b\"} 1\nhits{team=\"other\",code=\"other\"} 98\n");
    metrics_done(&m);
}

/* The value of a line `NAME VALUE`; -1: there is none. */
static double line_value(const char *text, const char *name)
{
    const char *at = strstr(text, arena_printf(test_arena(), "\n%s ", name));
    return at ? strtod(at + strlen(name) + 2, NULL) : -1;
}

TEST(a_process_tells_its_time_memory_files_and_start)
{
    cleanup(buf_done) struct buf text = BUF_INIT(1 << 16);
    metric_process_print(&text);
    const char *told = buf_text(&text);
    check(line_value(told, "process_cpu_seconds_total") >= 0);
    check(line_value(told, "process_resident_memory_bytes") > 1 << 20);
    check(line_value(told, "process_virtual_memory_bytes") >
          line_value(told, "process_resident_memory_bytes"));
    double started = line_value(told, "process_start_time_seconds"), now = (double)time(NULL);
    check(started > now - 24 * 3600 && started < now + 60);
    double files = line_value(told, "process_open_fds");
    check(files >= 3 && files <= line_value(told, "process_max_fds"));
}
