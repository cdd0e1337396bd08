#pragma once

/* Schedules of CronJobs: only whether they are ones. */

#include "base/error.h"

/* Five fields, or @hourly and its like; the message is the API server's. */
bool cron_check(const char *schedule, struct error *err) must_check;
/* A name such as Europe/Berlin, of a zone that this machine knows. */
bool cron_is_zone(const char *name);
