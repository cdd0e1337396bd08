#pragma once

/* Where the messages of HTTP/1.x end, in bytes that pass by. Nothing is kept and nothing changed: a
 * proxy that hands on what it reads learns from it when a connection is between two exchanges.
 *
 *   IDLE ──byte──> INSIDE ──last byte──> ENDED ──follow_next()──> IDLE
 *      └──────────────┴──> LOST: no HTTP/1.x, or no more of it (HTTP/2's preface, 101, CONNECT)
 *
 * What cannot be followed is no error: the bytes are still good for whoever they are meant for.
 * Interim answers (100, 103) are part of the message that comes after them. An answer that only the
 * end of the connection ends stays INSIDE. */

#include "base/str.h"

struct follow;

enum follow_state { FOLLOW_IDLE, FOLLOW_INSIDE, FOLLOW_ENDED, FOLLOW_LOST };

/* requests: what a client says. Otherwise what a server answers, one answer for each request; the
 * follower of these outlives it. */
struct follow *follow_requests_new(void) must_check;
struct follow *follow_answers_new(const struct follow *requests) must_check;
void follow_free(struct follow *f);
/* Looks at bytes up to the end of a message: how many those are. All of them once it is lost. */
size_t follow_feed(struct follow *f, struct str bytes) must_check;
enum follow_state follow_state(const struct follow *f);
/* Of an ended message: it was the last of its connection; it came in chunks. */
bool follow_is_last(const struct follow *f);
bool follow_is_chunked(const struct follow *f);
/* Of a request: its head is whole, so a server may act on it; and doing that twice would not be the
 * same as doing it once (RFC 9110, 9.2.2). */
bool follow_may_act(const struct follow *f);
/* After an end. */
void follow_next(struct follow *f);
