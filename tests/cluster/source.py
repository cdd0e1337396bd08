"""A source of weights on loopback for cases that name one: a tiny valid GGUF file, made up here.

    /tiny.gguf          answers ranges          /norange/tiny.gguf  does not
    /shelf/tiny.gguf    the same file, where an S3 client with path-style addresses looks
    /hop/tiny.gguf      redirects to it         /junk.gguf          is no GGUF file
    anything else       404

PORT is fixed: it is part of the sources that the cases name, and so of the recorded cache keys.
"""
import http.server
import re
import struct
import threading

PORT = 21010


def gguf_text(text):
    return struct.pack("<Q", len(text)) + text.encode()


def gguf():
    """Bytes of a GGUF version 3 file with eight values and one tensor; recordings hold its hash."""
    uint32, string = 4, 8
    values = (("general.architecture", "llama"), ("general.name", "Tiny Chat 0.1B (test)"),
              ("general.file_type", 15), ("general.license", "mit"), ("llama.context_length", 4096),
              ("llama.embedding_length", 64), ("llama.block_count", 3),
              ("llama.attention.head_count", 4))
    data = b"GGUF" + struct.pack("<IQQ", 3, 1, len(values))
    for key, value in values:
        data += gguf_text(key)
        if isinstance(value, str):
            data += struct.pack("<I", string) + gguf_text(value)
        else:
            data += struct.pack("<II", uint32, value)
    dimensions, float32, offset = (8, 8), 0, 0
    data += gguf_text("token_embd.weight") + struct.pack("<I", len(dimensions))
    data += struct.pack("<QQIQ", *dimensions, float32, offset)
    return data + bytes(-len(data) % 32) + bytes(4 * 64)


TINY = gguf()
FILES = {"/tiny.gguf": TINY, "/norange/tiny.gguf": TINY, "/shelf/tiny.gguf": TINY,
         "/junk.gguf": b"this is not a model file\n" * 40}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in {**headers, "Content-Length": len(body)}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/hop/tiny.gguf":
            return self.reply(302, {"Location": "/tiny.gguf"})
        data = FILES.get(path)
        if data is None:
            return self.reply(404, {})
        if path.startswith("/norange/"):
            return self.reply(200, {"ETag": '"fixed"'}, data)
        headers = {"ETag": '"fixed"', "Accept-Ranges": "bytes"}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if wanted is None:
            return self.reply(200, headers, data)
        first, last = int(wanted[1]), min(int(wanted[2] or len(data)), len(data) - 1)
        if first >= len(data):
            return self.reply(416, {"Content-Range": f"bytes */{len(data)}"})
        headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        return self.reply(206, headers, data[first:last + 1])

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


def serve(port=PORT):
    """Starts it in a thread of this process; returns the server, to shut it down."""
    http.server.ThreadingHTTPServer.allow_reuse_address = True
    http.server.ThreadingHTTPServer.allow_reuse_port = True  # runs side by side serve the same files
    try:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as e:
        raise SystemExit(f"the cases name http://127.0.0.1:{port}/ as a source, but: {e}") from e
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
