#pragma once

/* The live display of `leeboard up`: watches resources and shows a line for each, at most ten times
 * a second on a terminal, and plain lines on change where there is none.
 *
 *   show_new ─> …                 lines come by themselves
 *               show_print()      a line above them, for logs and hints
 *            ─> show_free         the last state stays on the screen, the cursor is back */

#include "base/error.h"

struct kube_transport;
struct loop;
struct resource;
struct show;
struct show_row;

struct show_options {
    struct loop *loop;
    const struct kube_transport *transport;
    /* What gets lines, ended by NULL; constants. Pods are watched besides. */
    const struct resource *const *resources;
    int fd;             /* standard output */
    const char *folder; /* of the data: models and logs are looked at there */
    bool plain;         /* lines on change, even on a terminal */
    /* Which rows there are, with ctx; NULL: all. */
    bool (*wanted)(void *ctx, const struct show_row *row);
    /* Everything that has a line is ready, which it was not before; NULL: nobody asks. */
    void (*ready)(void *ctx);
    /* The rows, whenever they were worked out and all is loaded; NULL: nobody asks. */
    void (*drawn)(void *ctx, const struct show_row *rows, size_t count);
    void *ctx;
};

/* All but the folder's name outlives it. */
struct show *show_new(const struct show_options *options);
void show_free(struct show *s);
/* From here on what is not ready has ended: it does not start any more. */
void show_ending(struct show *s);
/* Control characters come out as blanks. */
void show_print(struct show *s, const char *format, ...) printf_like(2, 3);
