#pragma once

/* TLS on one connection, without the connection: ciphertext in, plaintext out, and back. Sessions
 * can be stacked (an https:// proxy carries another session). An idle one keeps no buffers.
 *
 *   handshake ──> open ──> closed by the other side
 *
 * What is to be sent appears in the buffer given at the beginning; the owner sends it. */

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "http/tls.h"

struct tls_session;

/* host: what is dialled, for a client: verified and sent as SNI unless the context overrides it.
 * alpn: protocol ids, each with its length in front ("\2h2\10http/1.1"), or NULL. */
struct tls_session *tls_session_new(
    struct tls_context *context, const char *host, const char *alpn, struct buf *out) must_check;
void tls_session_free(struct tls_session *s);

enum tls_state { TLS_HANDSHAKE, TLS_OPEN, TLS_CLOSED };
enum tls_state tls_session_state(const struct tls_session *s);

/* Goes on with the handshake, as far as it gets without more input. A client calls it once to
 * begin. */
bool tls_session_handshake(struct tls_session *s, struct error *err) must_check;
/* New ciphertext, consumed by the next handshake and read calls. It must stay where it is until it
 * is consumed or tls_session_hold() was called. */
void tls_session_input(struct tls_session *s, struct str ciphertext);
/* Copies what was not consumed. */
void tls_session_hold(struct tls_session *s);
/* The next plaintext, at most size bytes; 0 when more input is needed, or it was closed. */
bool tls_session_read(
    struct tls_session *s, char *into, size_t size, size_t *ret, struct error *err) must_check;
/* Only when open. Takes everything. */
bool tls_session_write(struct tls_session *s, struct str plain, struct error *err) must_check;
/* Says goodbye, if there is somebody to say it to. */
void tls_session_shutdown(struct tls_session *s);

/* True if ALPN agreed on HTTP/2. */
bool tls_session_is_h2(const struct tls_session *s);
/* NULL without a verified certificate of the other side. */
const struct tls_peer *tls_session_peer(const struct tls_session *s, struct arena *a);
