#include "base/metric.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

const double METRIC_SECONDS[] = {
    0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 0
};

static size_t bound_count(const struct metric *family)
{
    size_t count = 0;
    while (family->bounds && family->bounds[count] > 0)
        count++;
    return count;
}

void metrics_link(struct metrics *m, struct metric *family)
{
    assert(!family->linked && (family->type == METRIC_HISTOGRAM) == (family->bounds != NULL));
    family->linked = true;
    *(m->last ? &m->last->next : &m->first) = family;
    m->last = family;
}

void metrics_done(struct metrics *m)
{
    for (struct metric *f = m->first; f;) {
        for (size_t i = 0; i < f->count; i++) {
            free(f->series[i]->labels);
            free(f->series[i]->buckets);
            free(f->series[i]);
        }
        free(f->series);
        struct metric *next = f->next;
        f->series = NULL;
        f->count = 0;
        f->linked = false;
        f->next = NULL;
        f = next;
    }
    *m = (struct metrics){ 0 };
}

/* FNV-1a: a quick comparison, not a defence; series_max is the defence. */
static uint64_t hash_of(const char *labels)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (; *labels; labels++)
        hash = (hash ^ (uint8_t)*labels) * 0x100000001b3;
    return hash;
}

static struct metric_series *find(const struct metric *family, const char *labels)
{
    labels = labels ? labels : "";
    uint64_t hash = hash_of(labels);
    for (size_t i = 0; i < family->count; i++)
        if (family->series[i]->hash == hash && text_eq(family->series[i]->labels, labels))
            return family->series[i];
    return NULL;
}

static struct metric_series *add(struct metric *family, const char *labels)
{
    struct metric_series *fresh = mem_new_of(struct metric_series);
    fresh->labels = mem_strdup(labels);
    fresh->hash = hash_of(labels);
    if (family->type == METRIC_HISTOGRAM)
        fresh->buckets = mem_new((bound_count(family) + 1) * sizeof(*fresh->buckets));
    family->series = mem_resize(family->series, family->count + 1, sizeof(struct metric_series *));
    family->series[family->count++] = fresh;
    return fresh;
}

/* The same label names, each with the value "other". */
static void other_labels(const char *labels, struct buf *to)
{
    while (*labels) {
        const char *equals = strchr(labels, '=');
        assert(equals && equals[1] == '"');
        buf_add_text(to, to->len ? "," : "");
        buf_add(to, labels, (size_t)(equals - labels));
        buf_add_text(to, "=\"other\"");
        for (labels = equals + 2; *labels && *labels != '"'; labels++)
            labels += *labels == '\\' && labels[1];
        labels += *labels == '"';
        labels += *labels == ',';
    }
}

struct metric_series *metric_series(struct metric *family, const char *labels)
{
    struct metric_series *found = find(family, labels);
    size_t most = family->series_max ? family->series_max : METRIC_SERIES_MAX;
    if (found || !labels || family->count < most)
        return found ? found : add(family, labels ? labels : "");
    cleanup(buf_done) struct buf other = BUF_INIT((size_t)64 << 10);
    other_labels(labels, &other);
    found = find(family, buf_text(&other));
    return found ? found : add(family, buf_text(&other));
}

void metric_label(struct buf *to, const char *name, struct str value)
{
    if (value.len > METRIC_LABEL_BYTES_MAX)
        value.len = METRIC_LABEL_BYTES_MAX;
    if (to->len)
        buf_add_char(to, ',');
    buf_add_text(to, name);
    buf_add_text(to, "=\"");
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        if (c == '\n' || c == '"' || c == '\\')
            buf_add_char(to, '\\');
        buf_add_char(to, c == '\n' ? 'n' : c);
    }
    buf_add_char(to, '"');
}

void metric_add(struct metric *family, const char *labels, double by)
{
    assert(family->type == METRIC_COUNTER ? by >= 0 : family->type == METRIC_GAUGE);
    metric_series(family, labels)->value += by;
}

void metric_set(struct metric *family, const char *labels, double value)
{
    assert(family->type != METRIC_HISTOGRAM);
    metric_series(family, labels)->value = value;
}

void metric_observe(struct metric *family, const char *labels, double value)
{
    assert(family->type == METRIC_HISTOGRAM);
    metric_series_observe(family, metric_series(family, labels), value);
}

void metric_series_observe(const struct metric *family, struct metric_series *series, double value)
{
    series->value += value;
    size_t at = 0;
    while (family->bounds[at] > 0 && value > family->bounds[at])
        at++;
    series->buckets[at]++;
}

double metric_value(const struct metric *family, const char *labels)
{
    const struct metric_series *series = find(family, labels);
    return series ? series->value : 0;
}

static void print_histogram(
    const struct metric *family, const struct metric_series *series, struct buf *to)
{
    uint64_t total = 0;
    size_t bounds = bound_count(family);
    const char *comma = *series->labels ? "," : "";
    for (size_t i = 0; i <= bounds; i++) {
        char bound[32] = "+Inf";
        if (i < bounds)
            snprintf(bound, sizeof(bound), "%g", family->bounds[i]);
        total += series->buckets[i];
        buf_printf(to,
            "%s_bucket{%s%sle=\"%s\"} %llu\n",
            family->name,
            series->labels,
            comma,
            bound,
            (unsigned long long)total);
    }
    const char *open = *series->labels ? "{" : "", *close = *series->labels ? "}" : "";
    buf_printf(to, "%s_sum%s%s%s %.9g\n", family->name, open, series->labels, close, series->value);
    buf_printf(to,
        "%s_count%s%s%s %llu\n",
        family->name,
        open,
        series->labels,
        close,
        (unsigned long long)total);
}

static void print_series(
    const struct metric *family, const struct metric_series *series, struct buf *to)
{
    if (family->type == METRIC_HISTOGRAM) {
        print_histogram(family, series, to);
        return;
    }
    const char *open = *series->labels ? "{" : "", *close = *series->labels ? "}" : "";
    buf_printf(to, "%s%s%s%s %.15g\n", family->name, open, series->labels, close, series->value);
}

void metric_print_as(const struct metric *family, const char *labels, const char *name,
    const char *as, struct buf *to)
{
    const struct metric_series *found = find(family, labels);
    if (!found)
        return;
    cleanup(arena_done) struct arena a = ARENA_INIT;
    struct metric renamed = *family;
    struct metric_series series = *found;
    renamed.name = name;
    series.labels = arena_strdup(&a, as);
    print_series(&renamed, &series, to);
}

void metrics_print(const struct metrics *m, struct buf *to)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };
    for (const struct metric *f = m->first; f; f = f->next) {
        buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, types[f->type]);
        for (size_t i = 0; i < f->count; i++)
            print_series(f, f->series[i], to);
    }
}
