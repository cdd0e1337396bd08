"""What goes wrong behind and before a router, and how each of it must end: the table of faults that routers were compared by."""
import collections
import contextlib
import json
import os
import signal
import socket
import struct
import threading
import time
import urllib.request

import routers
from lab import wait_for

HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
LAST = b"0\r\n\r\n"
SECOND = 10**9  # timeouts are nanoseconds


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(text):
    return chunk(b"data: " + json.dumps({"choices": [{"delta": {"content": text}}]}).encode() + b"\n\n")


class Back:
    """A back end that a test plays itself."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.settimeout(90)
        self.port = self.listener.getsockname()[1]

    def accept(self):
        """A connection whose request was read."""
        connection, _ = self.listener.accept()
        connection.settimeout(90)
        self.request(connection)
        return connection

    @staticmethod
    def request(connection):
        got = b""
        while b"}]}" not in got:
            more = connection.recv(65536)
            assert more, got
            got += more

    def backend(self, name, **more):
        return {"name": name, "tier": "local", "address": f"http://127.0.0.1:{self.port}", **more}


@contextlib.contextmanager
def place(*, timeouts=None):
    """Two back ends and the router before them."""
    backs = [Back(), Back()]
    rule = {"name": "r", "match": {}, "route": {"backends": ["a", "b"]}, **({"timeouts": timeouts} if timeouts else {})}
    with routers.running({"backends": [b.backend(n) for b, n in zip(backs, "ab")], "rules": [rule]}) as port:
        yield port, *backs
    for back in backs:
        back.listener.close()


def ask(port):
    client = socket.create_connection(("127.0.0.1", int(port)))
    client.settimeout(90)
    body = json.dumps({"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}).encode()
    client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: r\r\nContent-Type: application/json\r\n"
                   b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    return client


def until(client, mark):
    got = b""
    while mark not in got:
        more = client.recv(65536)
        assert more, f"ended before {mark!r}: {got!r}"
        got += more
    return got


def rest(client):
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while more := client.recv(65536):
            got += more
    return got


def outcome(port):
    return wait_for(port.audit, 20, "the audit line")[-1]["outcome"]


def closed(connection):
    """Waits until the other side has closed."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass


def reset(connection):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def test_a_back_end_that_dies_in_a_stream_is_seen():
    for end in (lambda c: c.close(), reset):
        with place() as (port, a, _):
            client = ask(port)
            server = a.accept()
            server.sendall(HEAD + event("one"))
            until(client, b"one")
            end(server)
            got = rest(client)
            assert b"error" in got and not got.endswith(LAST), got
            assert outcome(port) == "upstream_cut"


def test_another_back_end_answers_in_place_of_one_that_says_503():
    with place() as (port, a, b):
        client = ask(port)
        server = a.accept()
        server.sendall(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
        other = b.accept()
        other.sendall(HEAD + event("two") + LAST)
        got = until(client, LAST)
        assert got.startswith(b"HTTP/1.1 200 ") and b"two" in got, got
        assert outcome(port) == "ok_stream"


def test_another_back_end_answers_in_place_of_one_that_hangs():
    with place(timeouts={"firstToken": SECOND // 4}) as (port, a, b):
        client = ask(port)
        hanging = a.accept()
        other = b.accept()
        closed(hanging)
        other.sendall(HEAD + event("two") + LAST)
        assert b"two" in until(client, LAST)


def test_a_stream_may_last_longer_than_the_clocks_between_its_tokens():
    with place(timeouts={"firstToken": 3 * SECOND, "betweenTokens": 3 * SECOND}) as (port, a, _):
        client = ask(port)
        server = a.accept()
        server.sendall(HEAD)
        for i in range(20):  # four seconds in all
            server.sendall(event(f"t{i}"))
            time.sleep(0.2)
        server.sendall(LAST)
        got = until(client, LAST)
        assert all(b't%d"' % i in got for i in range(20)), got
        assert outcome(port) == "ok_stream"


def test_silence_in_a_stream_ends_it_visibly():
    with place(timeouts={"firstToken": 60 * SECOND, "betweenTokens": SECOND // 4}) as (port, a, _):
        client = ask(port)
        server = a.accept()
        server.sendall(HEAD + event("one"))
        until(client, b"one")
        got = rest(client)
        assert b"error" in got and not got.endswith(LAST), got
        closed(server)
        assert outcome(port) == "upstream_timeout"


def test_a_client_that_leaves_ends_the_work_of_the_back_end():
    for before in ("the first byte", "a slow chunk", "fast chunks"):
        with place() as (port, a, _):
            client = ask(port)
            server = a.accept()
            if before != "the first byte":
                server.sendall(HEAD + event("one"))
                until(client, b"one")
            client.close()
            if before == "fast chunks":
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    while True:
                        server.sendall(event("x"))
            closed(server)
            assert outcome(port) == "client_closed", before


def test_a_client_that_stops_reading_holds_the_back_end_back():
    with place() as (port, a, _):
        client = ask(port)
        server = a.accept()
        server.sendall(HEAD + event("one"))
        until(client, b"one")
        before, sent, piece = port.rss_kib(), 0, chunk(b"data: " + b"x" * 16000 + b"\n\n")
        server.settimeout(2)
        with contextlib.suppress(TimeoutError):
            while sent < 128 << 20:
                server.sendall(piece)
                sent += len(piece)
        assert sent < 64 << 20, f"{sent} bytes went nowhere"
        assert port.rss_kib() - before < 16 << 10, f"{port.rss_kib() - before} KiB more"
        client.close()
        closed(server)

def test_the_total_clock_ends_a_stream_that_goes_on():
    with place(timeouts={"total": SECOND // 2}) as (port, a, _):
        client = ask(port)
        server = a.accept()
        server.sendall(HEAD)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            while True:
                server.sendall(event("on"))
                time.sleep(0.02)
        got = rest(client)
        assert b"on" in got and b"error" in got and not got.endswith(LAST), got[-300:]
        assert outcome(port) == "upstream_timeout"


def test_the_connect_clock_goes_on_to_the_next_back_end():
    """A listener whose queue is full: the system answers no more connections."""
    deaf, waiting = socket.socket(), []
    deaf.bind(("127.0.0.1", 0))
    deaf.listen(0)
    for _ in range(3):
        waiting.append(socket.socket())
        waiting[-1].setblocking(False)
        with contextlib.suppress(BlockingIOError):
            waiting[-1].connect(deaf.getsockname())
    other = Back()
    rule = {"name": "r", "match": {}, "route": {"backends": ["deaf", "b"]}, "timeouts": {"connect": SECOND // 4}}
    config = {"backends": [{"name": "deaf", "tier": "local", "address": f"http://127.0.0.1:{deaf.getsockname()[1]}"},
                           other.backend("b")], "rules": [rule]}
    with routers.running(config) as port:
        client = ask(port)
        other.accept().sendall(HEAD + event("two") + LAST)
        assert b"two" in until(client, LAST)
        assert wait_for(port.audit, 20, "the audit line")[-1]["failedBackends"] == "deaf"
    for s in (deaf, *waiting, other.listener):
        s.close()


class Answers(threading.Thread):
    """A back end that answers each request with a short stream, a little at a time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.back = Back()
        self.start()

    def run(self):
        while True:
            connection, _ = self.back.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(AssertionError, OSError):
            while True:
                self.back.request(connection)
                connection.sendall(HEAD)
                for i in range(5):
                    connection.sendall(event(f"t{i}"))
                    time.sleep(0.05)
                connection.sendall(LAST)


def is_ready(port):
    with contextlib.suppress(OSError):
        return urllib.request.urlopen(f"http://127.0.0.1:{int(port)}/readyz", timeout=20).status == 200


def one_request(port):
    """What was wrong with it; None: nothing."""
    try:
        with contextlib.closing(ask(port)) as client:
            got = until(client, LAST)
        return None if b't4"' in got and b"error" not in got else got
    except (OSError, AssertionError) as e:
        return repr(e)


def test_a_rollout_of_the_router_fails_no_request_and_cuts_no_stream():
    """As a Service does it: requests go to those that say they are ready. The old one is told to end under load."""
    answers = Answers()
    config = {"backends": [answers.back.backend("a")], "defaultRoute": "a"}
    stop, faults, counts = threading.Event(), [], collections.Counter()
    with routers.running(config, flags=("--drain-delay", "6s")) as old, routers.running(config) as new:
        offered = [old]

        def load():
            while not stop.is_set():
                port = offered[0]
                counts[int(port)] += 1
                fault = one_request(port)
                if fault:
                    faults.append(fault)
        workers = [threading.Thread(target=load) for _ in range(8)]
        for worker in workers:
            worker.start()
        wait_for(lambda: counts[int(old)] > 40, 20, "load")
        os.kill(old.pid, signal.SIGTERM)
        wait_for(lambda: not is_ready(old), 20, "the old one to say that it ends")
        offered[0] = new
        assert is_ready(new)
        wait_for(lambda: old.ended() is not None, 60, "the end of the old one")
        wait_for(lambda: counts[int(new)] > 40, 20, "load on the new one")
        stop.set()
        for worker in workers:
            worker.join()
        assert old.ended() == 0, old.ended()
        assert not faults, faults[:3]
        assert {line["outcome"] for line in old.audit() + new.audit()} == {"ok_stream"}
    answers.back.listener.close()
