#pragma once

/* A watch inside a WebSocket, which the Java client fabric8 uses: each event is a text message. It
 * is used when the answer to the watch would be 200. Messages from the client are discarded, but
 * its pings are answered, and its close ends the exchange. */

#include "base/arena.h"
#include "base/str.h"

struct http_exchange;
struct loop;
struct session_offer;
struct watch_socket;

/* Answers 101, or returns NULL: the request was refused and the exchange is finished. */
struct watch_socket *watch_socket_new(struct loop *loop, struct http_exchange *http,
    const struct session_offer *offer, struct arena *a) must_check;
/* Called when the exchange was closed. NULL is allowed. */
void watch_socket_free(struct watch_socket *w);
/* Writes complete events, each with a newline at its end. False: the buffer is full, wait for
 * drained. */
bool watch_socket_write(struct watch_socket *w, struct str events);
/* The last event was sent: sends a close and finishes the exchange. */
void watch_socket_finish(struct watch_socket *w);
/* Input from the exchange's handlers. */
void watch_socket_feed(struct watch_socket *w, struct str bytes);
void watch_socket_drained(struct watch_socket *w);
