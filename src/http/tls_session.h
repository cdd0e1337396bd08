#pragma once

/* TLS on one connection, without the connection: ciphertext in, plaintext out, and back. Sessions
 * can be stacked (an https:// proxy carries another session). An idle session has no buffers.
 *
 *   handshake ──> open ──> closed by the peer
 *
 * Output is added to the buffer that was passed at creation; the owner sends it. */

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "http/tls.h"

struct tls_session;

/* host: for a client, the dialled host, which is verified and sent as SNI unless the context
 * overrides it. alpn: protocol ids, each preceded by its length ("\2h2\10http/1.1"), or NULL. */
struct tls_session *tls_session_new(
    struct tls_context *context, const char *host, const char *alpn, struct buf *out) must_check;
void tls_session_free(struct tls_session *s);

enum tls_state { TLS_HANDSHAKE, TLS_OPEN, TLS_CLOSED };
enum tls_state tls_session_state(const struct tls_session *s);

/* Continues the handshake as far as possible without more input. A client calls it once to
 * start. */
bool tls_session_handshake(struct tls_session *s, struct error *err) must_check;
/* Adds ciphertext, which the next handshake and read calls consume. It must stay valid until it is
 * consumed or until tls_session_hold() is called. */
void tls_session_input(struct tls_session *s, struct str ciphertext);
/* Copies the input that was not consumed. */
void tls_session_hold(struct tls_session *s);
/* The next plaintext, at most size bytes; 0 if more input is needed, or if the session is
 * closed. */
bool tls_session_read(
    struct tls_session *s, char *into, size_t size, size_t *ret, struct error *err) must_check;
/* Only when open. Takes all bytes. */
bool tls_session_write(struct tls_session *s, struct str plain, struct error *err) must_check;
/* Sends close_notify, if the session is open. */
void tls_session_shutdown(struct tls_session *s);

/* True if ALPN selected HTTP/2. */
bool tls_session_is_h2(const struct tls_session *s);
/* NULL unless the peer's certificate was verified. */
const struct tls_peer *tls_session_peer(const struct tls_session *s, struct arena *a);
