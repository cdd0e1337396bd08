#pragma once

/* Instants and durations in the formats of Kubernetes and Go. Instants are whole milliseconds or
 * microseconds since 1970 in UTC. The current time comes from struct env (timer.h). */

#include "base/arena.h"
#include "base/base.h"

/* ---- metav1.Time and metav1.MicroTime: RFC 3339 ---- */

/* "2026-11-15T17:00:00Z"; fractions of a second are cut off, as in metav1.Time. Asserts that the
 * year is 0 to 9999. */
const char *time_format(struct arena *a, int64_t wall_ms);
/* "2026-11-15T17:00:00.123000Z", as in metav1.MicroTime. */
const char *time_format_micro(struct arena *a, int64_t wall_us);
/* Any RFC 3339 time: fractions of any length (cut off), any offset. A leap second is refused, as in
 * Go. text NULL returns false. */
bool time_parse(const char *text, int64_t *ret_ms) must_check;
bool time_parse_micro(const char *text, int64_t *ret_us) must_check;

/* ---- durations of Go: "1h30m", "300ms", "1.5s", "-2m" ---- */

/* In nanoseconds, as Go counts; units ns us µs ms s m h. "0" needs no unit. */
bool time_duration_parse(const char *text, int64_t *ret_ns) must_check;
/* Go's error message for a text that is not a duration; NULL if it is one. */
const char *time_duration_error(struct arena *a, const char *text);
/* As in time.Duration.String(): "1h30m0s", "1.5s", "0s". */
const char *time_duration_format(struct arena *a, int64_t ns);

#define TIME_NS_PER_MS ((int64_t)1000000)
#define TIME_NS_PER_S ((int64_t)1000000000)
