#pragma once

/* A watch inside a WebSocket, as the Java client of fabric8 asks for it: each event is a text
 * message. It begins where the answer to the watch would be 200. What the client sends is thrown
 * away, but its pings are answered, and its close ends the exchange. */

#include "base/arena.h"
#include "base/str.h"

struct http_exchange;
struct loop;
struct session_offer;
struct watch_socket;

/* Answers 101, or NULL: the request was refused, and the exchange is finished. */
struct watch_socket *watch_socket_new(struct loop *loop, struct http_exchange *http,
    const struct session_offer *offer, struct arena *a) must_check;
/* When the exchange was closed. NULL is fine. */
void watch_socket_free(struct watch_socket *w);
/* Whole events, each with a newline at its end. False: enough for now, drained comes. */
bool watch_socket_write(struct watch_socket *w, struct str events);
/* There are no more events: says goodbye and finishes the exchange. */
void watch_socket_finish(struct watch_socket *w);
/* What the exchange's handlers say. */
void watch_socket_feed(struct watch_socket *w, struct str bytes);
void watch_socket_drained(struct watch_socket *w);
