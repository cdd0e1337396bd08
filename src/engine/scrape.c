#include "engine/scrape.h"

#include <stdlib.h>

#include "base/buf.h"

#define SCRAPE_FAMILIES_MAX 16

struct scrape {
    size_t limit;
    size_t count;
    struct collected {
        const struct scrape_family *family;
        struct buf text;
        char *labels; /* of the last sample, to which values can be added; NULL: none */
        double value;
    } all[SCRAPE_FAMILIES_MAX];
};

static struct collected *collect(struct scrape *s, const struct scrape_family *family)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->all[i].family == family)
            return &s->all[i];
    assert(s->count < SCRAPE_FAMILIES_MAX);
    struct collected *fresh = &s->all[s->count++];
    *fresh = (struct collected){ .family = family, .text = BUF_INIT(s->limit) };
    return fresh;
}

/* `name="value",…` in Prometheus' syntax. */
static char *print_labels(const struct scrape_family *family, const char *const *values)
{
    cleanup(buf_done) struct buf b = BUF_INIT((size_t)64 << 10);
    for (size_t i = 0; family->labels[i]; i++) {
        buf_printf(&b, "%s%s=\"", i ? "," : "", family->labels[i]);
        for (const char *c = values[i] ? values[i] : ""; *c; c++) {
            if (*c == '\n')
                buf_add_text(&b, "\\n");
            else if (*c == '"' || *c == '\\')
                buf_printf(&b, "\\%c", *c);
            else
                buf_add_char(&b, *c);
        }
        buf_add_char(&b, '"');
    }
    return mem_strdup(buf_text(&b));
}

static void print_sample(struct collected *c)
{
    if (c->labels)
        buf_printf(&c->text, "%s{%s} %.15g\n", c->family->name, c->labels, c->value);
    free(c->labels);
    c->labels = NULL;
}

static void print_observation(struct collected *c, const char *labels, double value)
{
    const char *name = c->family->name;
    for (size_t i = 0; c->family->bounds[i] > 0; i++)
        if (value <= c->family->bounds[i])
            buf_printf(&c->text, "%s_bucket{%s,le=\"%g\"} 1\n", name, labels, c->family->bounds[i]);
    buf_printf(&c->text, "%s_bucket{%s,le=\"+Inf\"} 1\n", name, labels);
    buf_printf(&c->text, "%s_sum{%s} %.9g\n%s_count{%s} 1\n", name, labels, value, name, labels);
}

void scrape_add(
    struct scrape *s, const struct scrape_family *family, double value, const char *const *values)
{
    struct collected *c = collect(s, family);
    char *labels = print_labels(family, values);
    if (family->type == METRIC_HISTOGRAM) {
        print_observation(c, labels, value);
        free(labels);
    } else if (text_eq(c->labels, labels)) {
        c->value += value;
        free(labels);
    } else {
        print_sample(c);
        c->labels = labels;
        c->value = value;
    }
}

struct scrape *scrape_new(size_t bytes_max)
{
    struct scrape *s = mem_new_of(struct scrape);
    s->limit = bytes_max;
    return s;
}

void scrape_print(struct scrape *s, struct buf *to)
{
    static const char *const types[] = { "counter", "gauge", "histogram" };
    for (size_t i = 0; i < s->count; i++) {
        struct collected *c = &s->all[i];
        const struct scrape_family *f = c->family;
        print_sample(c);
        buf_printf(to, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, types[f->type]);
        buf_add(to, c->text.ptr, c->text.len);
    }
}

void scrape_free(struct scrape *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->all[i].labels);
        buf_done(&s->all[i].text);
    }
    free(s);
}
