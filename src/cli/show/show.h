#pragma once

/* The live display of `leeboard up`: watches resources and shows a line for each. A terminal is
 * updated at most ten times a second; other outputs get a plain line for each change.
 *
 *   show_new ─> …                 lines are updated automatically
 *               show_print()      a line above them, for logs and hints
 *            ─> show_free         the last state stays on the screen, the cursor is restored */

#include "base/error.h"

struct kube_transport;
struct loop;
struct resource;
struct show;
struct show_row;

struct show_options {
    struct loop *loop;
    const struct kube_transport *transport;
    /* The resources with lines, ended by NULL; constants. Pods are watched, too. */
    const struct resource *const *resources;
    int fd;             /* standard output */
    const char *folder; /* of the data: for the state of models and logs */
    bool plain;         /* plain lines on change, even on a terminal */
    /* Whether to show a row, called with ctx; NULL: show all. */
    bool (*wanted)(void *ctx, const struct show_row *row);
    /* All rows have become ready; NULL: not interested. */
    void (*ready)(void *ctx);
    /* The current rows, after each update once everything is loaded; NULL: not interested. */
    void (*drawn)(void *ctx, const struct show_row *rows, size_t count);
    void *ctx;
};

/* Everything but the folder's name must outlive it. */
struct show *show_new(const struct show_options *options);
void show_free(struct show *s);
/* Shutdown has started: rows that are not ready have ended, and are not starting. */
void show_ending(struct show *s);
/* Control characters are printed as spaces. */
void show_print(struct show *s, const char *format, ...) printf_like(2, 3);
