"""No client can hold up `leeboard apiserver`: sizes and waits have limits, and whoever meets one is alone with it."""
import json
import os
import socket

from differential import JSON, Ours, Server, Session
from lab import NO_WORKLOADS, wait_for

LAB = {"controllers": NO_WORKLOADS}
PATH = "/api/v1/namespaces/default/configmaps"
MEGABYTE = 1 << 20


def configmap(name, size, letter="x"):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"value": letter * size}}


def resident_mb(process):
    with open(f"/proc/{process.pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS:")) / 1024


def raw(server, head, body=b"", timeout=60):
    """A connection on which these bytes were sent, as far as the other side took them."""
    plain = socket.create_connection((server.host, server.port), timeout=timeout)
    connection = server.tls.wrap_socket(plain, server_hostname=server.host)
    lines = [head, f"Host: {server.host}", *(f"{k}: {v}" for k, v in server.headers.items())]
    try:
        connection.sendall("\r\n".join(lines).encode() + b"\r\n" + body)
    except OSError:  # it has had enough
        pass
    return connection


def until_closed(connection, end=None):
    """All that comes until the other side closes, or until this comes."""
    got = bytearray()
    try:
        while not (end and got.endswith(end)) and (piece := connection.recv(65536)):
            got += piece
    except ConnectionError:
        pass
    return bytes(got)


def test_a_body_of_more_than_three_megabytes_is_refused_as_the_real_server_does(lab):
    answers = {}
    with Ours() as ours:
        for name, kubeconfig in (("real", lab.kubeconfig), ("ours", ours.kubeconfig)):
            session = Session(Server(name, kubeconfig), "limits")
            answer = session.ask("POST", PATH, json.dumps(configmap("big", 3 * MEGABYTE)))
            answers[name] = (answer.status, answer["kind"], answer["reason"], answer["code"])
            big = session.ask("POST", PATH, json.dumps(configmap("big", 2 * MEGABYTE)))
            answers[name] += (big.status, big["reason"])
            assert session.ask("GET", PATH).status == 200
    assert answers["real"] == answers["ours"], answers


def test_a_head_that_is_too_long_is_refused():
    with Ours() as ours:
        server = Server("ours", ours.kubeconfig)
        got = until_closed(raw(server, "GET /version HTTP/1.1", b"X-Long: " + b"x" * 2 * MEGABYTE + b"\r\n\r\n"))
        assert got.startswith(b"HTTP/1.1 431"), got[:200]
        got = until_closed(raw(server, f"GET /version?{'x' * 2 * MEGABYTE} HTTP/1.1", b"\r\n"))
        assert got.split(b" ")[1] in (b"414", b"431"), got[:200]
        assert Session(server, "limits").ask("GET", "/version").status == 200


def test_a_watcher_that_does_not_read_is_cut_off_and_costs_the_others_nothing():
    with Ours("--no-fsync") as ours:
        server = Server("ours", ours.kubeconfig)
        session = Session(server, "limits")
        slow = [raw(server, f"GET {PATH}?watch=1 HTTP/1.1", b"\r\n") for _ in range(4)]
        for connection in slow:
            assert connection.recv(12) == b"HTTP/1.1 200"
        quick = server.connect()
        quick.request("GET", f"{PATH}?watch=1&fieldSelector=metadata.name%3Dquick", headers=server.headers)
        stream = quick.getresponse()
        assert session.ask("POST", PATH, configmap("large", 500000)).status == 201
        highest = 0
        for i in range(120):  # 60 MB: more than any buffer on the way and the 16 MiB that a watcher may lag
            letter = chr(ord("a") + i % 26)
            assert session.ask("PUT", f"{PATH}/large", configmap("large", 500000, letter)).status == 200
            highest = max(highest, resident_mb(ours.process))
        assert session.ask("POST", PATH, configmap("quick", 10)).status == 201
        while True:
            event = json.loads(stream.readline())
            if event["object"]["metadata"]["name"] == "quick":
                break
        # The history itself may hold 64 MiB of texts; four watchers that lagged without limit would hold 240 more.
        assert highest < 200, f"{highest:.0f} MB resident"
        for connection in slow:
            got = until_closed(connection, b"\r\n0\r\n\r\n")  # a watch may end at any time; what it missed can be had
            assert len(got) < 40 * MEGABYTE, f"{len(got)} bytes came to one that did not read"


def test_requests_that_do_not_go_on_are_ended_and_the_others_are_served():
    with Ours() as ours:
        server = Server("ours", ours.kubeconfig)
        stuck = [raw(server, "GET /version HTTP/1.1", b"X-Half: ", timeout=180) for _ in range(50)]
        stuck += [raw(server, f"POST {PATH} HTTP/1.1", b"Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{",
                      timeout=180) for _ in range(50)]
        session = Session(server, "limits")
        for i in range(20):
            assert session.ask("POST", PATH, configmap(f"other-{i}", 10)).status == 201
        for connection in stuck:
            until_closed(connection)
        files = f"/proc/{ours.process.pid}/fd"
        wait_for(lambda: len(os.listdir(files)) < 60, 90, "the connections to be closed")


def test_garbage_on_the_wire_ends_its_connection_alone():
    with Ours() as ours:
        server = Server("ours", ours.kubeconfig)
        session = Session(server, "limits")
        for bytes_ in (b"\x00" * 1000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n",
                       b"GET / HTTP/1.1\r\nContent-Length: -5\r\n\r\n", b"\xff\xfe" * 5000,
                       b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZZ\r\n"):
            plain = socket.create_connection((server.host, server.port), timeout=60)
            connection = server.tls.wrap_socket(plain, server_hostname=server.host)
            connection.sendall(bytes_)
            connection.settimeout(60)
            until_closed(connection)
            plain = socket.create_connection((server.host, server.port), timeout=60)
            plain.sendall(bytes_)  # not even TLS
            until_closed(plain)
            assert session.ask("GET", "/version", accept=JSON).status == 200
        assert ours.process.poll() is None


def test_what_is_too_far_back_is_gone():
    """The history has 64 MiB: a watch and the rest of a list from before that are told to begin again."""
    with Ours("--no-fsync") as ours:
        session = Session(Server("ours", ours.kubeconfig), "gone")
        for name in ("a", "b"):
            assert session.ask("POST", PATH, configmap(name, 10)).status == 201
        first = session.ask("GET", PATH + "?limit=1")
        version, rest = first["metadata.resourceVersion"], first["metadata.continue"]
        assert session.ask("GET", f"{PATH}?limit=1&continue={rest}").status == 200
        for i in range(140):
            answer = session.ask("PUT", PATH + "/a", configmap("a", MEGABYTE // 2, "xy"[i % 2]))
            assert answer.status == 200, answer.text[:300]
        wait_for(lambda: session.ask("GET", f"{PATH}?limit=1&continue={rest}").status == 410, 30, "the version to be forgotten")
        answer = session.ask("GET", f"{PATH}?limit=1&continue={rest}")
        assert answer["reason"] == "Expired", answer.text
        watch = session.watch(f"{PATH}?watch=true&resourceVersion={version}", 1)
        events = watch.read()
        assert [e["type"] for e in events] == ["ERROR"] and events[0]["object"]["code"] == 410, events
        now = session.ask("GET", PATH + "?limit=1")["metadata.resourceVersion"]
        watch = session.watch(f"{PATH}?watch=true&resourceVersion={now}", 1)
        session.ask("DELETE", PATH + "/b")
        assert [e["type"] for e in watch.read()] == ["DELETED"]


def test_bodies_that_never_end_do_not_keep_others_from_writing():
    """Without rights the answer comes at the head. With rights, who has been sending for the longest time makes room."""
    head, most = f"POST {PATH} HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {3 * MEGABYTE}", b"x" * (3 * MEGABYTE - 1)
    with Ours() as ours:
        session = Session(server := Server("ours", ours.kubeconfig), "limits")
        stranger = Server("ours", ours.kubeconfig)
        stranger.headers["Impersonate-User"] = "eve"
        with raw(stranger, head, b"\r\n") as refused:
            assert b" 403 " in refused.recv(4096)
        open_ones = [raw(server, head, b"\r\n" + most) for _ in range(46)]
        assert session.ask("POST", PATH, json.dumps(configmap("small", 10))).status == 201
        assert b" 429 " in open_ones[0].recv(4096)
        for connection in open_ones:
            connection.close()
