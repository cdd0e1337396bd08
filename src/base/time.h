#pragma once

/* Instants and durations as Kubernetes and Go write them. Instants are whole milliseconds or
 * microseconds since 1970 in UTC; what time it is now, struct env knows (timer.h). */

#include "base/arena.h"
#include "base/base.h"

/* ---- metav1.Time and metav1.MicroTime: RFC 3339 ---- */

/* "2026-11-15T17:00:00Z"; parts of a second are cut, as metav1.Time does it. The year must be 0 to
 * 9999, or it is an assertion. */
const char *time_format(struct arena *a, int64_t wall_ms);
/* "2026-11-15T17:00:00.123000Z", as metav1.MicroTime. */
const char *time_format_micro(struct arena *a, int64_t wall_us);
/* Any RFC 3339 time: fractions of any length (cut), any offset. A leap second is refused, as Go
 * refuses it. text NULL is false. */
bool time_parse(const char *text, int64_t *ret_ms) must_check;
bool time_parse_micro(const char *text, int64_t *ret_us) must_check;

/* ---- durations of Go: "1h30m", "300ms", "1.5s", "-2m" ---- */

/* In nanoseconds, as Go counts; units ns us µs ms s m h. "0" needs no unit. */
bool time_duration_parse(const char *text, int64_t *ret_ns) must_check;
/* What Go says of a text that is no duration; NULL: it is one. */
const char *time_duration_error(struct arena *a, const char *text);
/* As time.Duration.String(): "1h30m0s", "1.5s", "0s". */
const char *time_duration_format(struct arena *a, int64_t ns);

#define TIME_NS_PER_MS ((int64_t)1000000)
#define TIME_NS_PER_S ((int64_t)1000000000)
