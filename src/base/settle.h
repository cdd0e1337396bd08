#pragma once

/* Whether the planned value is what is stored, although the API server changed its form: a quantity
 * in another notation, defaults beside our fields. */

#include "base/json.h"

enum settle {
    SETTLE_ALL,     /* every planned field is stored, and no other */
    SETTLE_PLANNED, /* every planned field is stored, maybe among others */
};

bool settle_same(struct json planned, struct json stored, enum settle how);
/* The planned value, but each list whose stored form has only additions is taken from the stored
 * value. For objects of CRDs: their lists are owned as a whole, and the defaults in them depend on
 * the CRD. */
struct json settle_lists(struct arena *a, struct json planned, struct json stored);
