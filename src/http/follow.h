#pragma once

/* Finds the ends of HTTP/1.x messages in a stream of bytes, without storing or changing them. A
 * proxy that passes the bytes on uses this to know when a connection is between two exchanges.
 *
 *   IDLE ──byte──> INSIDE ──last byte──> ENDED ──follow_next()──> IDLE
 *      └──────────────┴──> LOST: no HTTP/1.x, or no more of it (HTTP/2's preface, 101, CONNECT)
 *
 * LOST is not an error: the bytes are still valid for the receiver. Interim responses (100, 103)
 * are part of the message that follows. A response that ends with the connection stays INSIDE. */

#include "base/str.h"

struct follow;

enum follow_state { FOLLOW_IDLE, FOLLOW_INSIDE, FOLLOW_ENDED, FOLLOW_LOST };

/* Follows a client's requests. The other one follows the server's responses, one for each request;
 * the follower of the requests must outlive it. */
struct follow *follow_requests_new(void) must_check;
struct follow *follow_answers_new(const struct follow *requests) must_check;
void follow_free(struct follow *f);
/* Reads bytes up to the end of a message, and returns their number. Once LOST, returns the length
 * of all bytes. */
size_t follow_feed(struct follow *f, struct str bytes) must_check;
enum follow_state follow_state(const struct follow *f);
/* For an ended message: whether it was the last one of its connection, and whether it was
 * chunked. */
bool follow_is_last(const struct follow *f);
bool follow_is_chunked(const struct follow *f);
/* For a request: its head is complete, so that a server may act on it, and repeating it is not safe
 * (RFC 9110, 9.2.2). */
bool follow_may_act(const struct follow *f);
/* Call after the end of a message. */
void follow_next(struct follow *f);
