#pragma once

/* Whether what is planned is what is stored, although the API server wrote it in its own words: a
 * quantity in another spelling, defaults beside our fields. */

#include "base/json.h"

enum settle {
    SETTLE_ALL,     /* every planned field is stored, and no other */
    SETTLE_PLANNED, /* every planned field is stored, maybe among others */
};

bool settle_same(struct json planned, struct json stored, enum settle how);
/* planned, with each list that is stored with nothing but additions as it is stored. For objects of
 * CRDs: their lists are owned as a whole, and the defaults in them depend on the CRD. */
struct json settle_lists(struct arena *a, struct json planned, struct json stored);
