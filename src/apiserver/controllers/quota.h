#pragma once

/* ResourceQuotas: what may be in a namespace, and how much its objects may ask for.
 *
 * Counted are objects of every kind (count/KIND.GROUP, and the short names of the old ones), what
 * pods request and may use, node ports and load balancers of services, storage of claims, for all
 * of it or by storage class, devices of claims by device class; by every scope. Every write takes
 * its quotas' status along, in the same turn; a quota is counted again when its spec changes, when
 * a client says that it counted, and when the server starts. Pods that never end count until they
 * are gone. */

#include "apiserver/core/registry.h"

/* Whether a write that is valid fits into the quotas of its namespace. */
bool quota_admit(const struct api_write *w, struct json object, struct error *err) must_check;
/* After a write (old absent: created, now absent: gone): the quotas say what is used. */
void quota_written(struct apiserver *s, const struct api_kind *k, struct json old, struct json now,
    bool by_client);
/* All of them are counted again. */
void quota_count_all(struct apiserver *s);
/* Warns of a quota with resources that are not enforced here. */
void quota_warn(const struct api_write *w, struct json quota);
