#pragma once

/* Objects of namespace "ns" for tests, without a server behind them. */

#include "kube/objects.h"
#include "tests/test.h"

struct loop;

struct shelf {
    struct loop *loop;
    struct objects *objects;
    int changes;
};

void shelf_open(struct shelf *s);
void shelf_close(struct shelf *s);
void shelf_put(struct shelf *s, const char *kind, const char *name, const char *body);
