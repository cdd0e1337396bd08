#pragma once

/* ResourceQuotas: how many objects a namespace may have, and how much they may request.
 *
 * A quota counts objects of every kind (count/KIND.GROUP, and the short names of some kinds),
 * requests and limits of pods, node ports and load balancers of services, storage of claims (in
 * total or by storage class), and devices of claims by device class; with all scopes. Every write
 * updates the status of its quotas in the same turn. A quota is counted again when its spec
 * changes, when a client writes its status, and when the server starts. A terminating pod counts
 * until it is gone. */

#include "apiserver/core/registry.h"

/* Whether a valid write fits into the quotas of its namespace. */
bool quota_admit(const struct api_write *w, struct json object, struct error *err) must_check;
/* After a write (old absent: created, now absent: deleted): updates the usage of the quotas. */
void quota_written(struct apiserver *s, const struct api_kind *k, struct json old, struct json now,
    bool by_client);
/* Counts all quotas again. */
void quota_count_all(struct apiserver *s);
/* Warns about a quota for resources that are not enforced here. */
void quota_warn(const struct api_write *w, struct json quota);
