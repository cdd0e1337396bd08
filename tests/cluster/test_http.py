"""The HTTP stack against others' programs: our client against nginx and haproxy, our server against
curl and behind both. No control plane is needed here; everything is on loopback ports.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

from lab import ROOT, Failure, free_port, wait_for

TOOL = f"{ROOT}/build/{os.environ.get('V', 'release')}/http_tool"


def check(condition, what):
    if not condition:
        raise Failure(what)


def answers(port):
    with contextlib.suppress(OSError):
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    return False


class Stage:
    """A folder with a CA and a certificate, and the programs of one test."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="leeboard-http-")
        self.programs = []
        os.chmod(self.folder, 0o755)  # nginx's workers are somebody else when we are root
        os.mkdir(self.path("www"))
        run = lambda *words: subprocess.run(words, check=True, capture_output=True)  # noqa: E731
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
            "-nodes", "-keyout", self.path("key"), "-out", self.path("cert"), "-days", "30",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        with open(self.path("both"), "w", encoding="utf8") as both:
            for name in ("cert", "key"):
                with open(self.path(name), encoding="utf8") as f:
                    both.write(f.read())

    def path(self, name):
        return f"{self.folder}/{name}"

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf8") as f:
            f.write(text)
        return self.path(name)

    def file(self, name, size):
        with open(self.path(f"www/{name}"), "wb") as f:
            f.truncate(size)

    def start(self, *words, **options):
        program = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, **options)
        self.programs.append(program)
        return program

    def nginx(self, server, http="", port=None):
        port = port or free_port()
        text = f"""
            daemon off; pid {self.path('nginx.pid')}; error_log {self.path('nginx.log')} info;
            events {{ worker_connections 512; }}
            http {{
              access_log off; client_max_body_size 0; client_body_temp_path {self.path('tmp1')};
              proxy_temp_path {self.path('tmp2')}; fastcgi_temp_path {self.path('tmp3')};
              uwsgi_temp_path {self.path('tmp4')}; scgi_temp_path {self.path('tmp5')};
              ssl_certificate {self.path('cert')}; ssl_certificate_key {self.path('key')};
              root {self.path('www')}; {http}
              server {{ {server.replace('PORT', str(port))} }}
            }}"""
        program = self.start("/usr/sbin/nginx", "-c", self.write("nginx.conf", text),
                             "-e", self.path("nginx.log"))
        wait_for(lambda: answers(port), 10, "nginx")
        return port, program

    def haproxy(self, lines):
        port = free_port()
        text = ("global\n  maxconn 500\n"
                "defaults\n  mode http\n  timeout connect 5s\n  timeout client 20s\n"
                "  timeout server 20s\n" + lines.replace("PORT", str(port))
                .replace("PEM", self.path("both")) + "\n")
        program = self.start("/usr/sbin/haproxy", "-db", "-f", self.write("haproxy.cfg", text))
        wait_for(lambda: answers(port), 10, "haproxy")
        return port, program

    def ours(self, tls=False):
        words = [TOOL, "serve"]
        if tls:
            words += ["--cert", self.path("cert"), "--key", self.path("key")]
        program = self.start(*words, stdout=subprocess.PIPE)
        return int(program.stdout.readline().split()[1]), program

    def get(self, url, *words, fails=False, timeout=600):
        """Our client; what it says when it is through."""
        done = subprocess.run([TOOL, "get", "--ca", self.path("cert"), *words, url], text=True,
                              capture_output=True, timeout=timeout, check=False)
        if not done.stdout:
            raise Failure(f"http_tool says nothing: {done.stderr}")
        said = json.loads(done.stdout.splitlines()[-1])
        if not fails and said["failed"]:
            raise Failure(f"{said['failed']} calls failed: {said['error']}")
        return said

    def curl(self, *words, check_code=True):
        done = subprocess.run(["curl", "-sS", "--cacert", self.path("cert"), *words],
                              capture_output=True, timeout=600, check=False)
        if check_code and done.returncode:
            raise Failure(f"curl: {done.stderr.decode()}")
        return done


@contextlib.contextmanager
def stage():
    s = Stage()
    try:
        yield s
    finally:
        for program in s.programs:
            program.terminate()
        for program in s.programs:
            try:
                program.wait(5)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
        shutil.rmtree(s.folder)


# The three ways to nginx and haproxy: listen options, scheme, our flag, HTTP/2 expected.
WAYS = [("", "http", "--h1", False), ("ssl", "https", "--h1", False),
        ("ssl http2", "https", "--h2", True)]


def test_nginx_small_and_large_answers():
    with stage() as s:
        s.file("small", 100)
        s.file("large", 300_000_000)
        for listen, scheme, flag, h2 in WAYS:
            port, program = s.nginx(f"listen 127.0.0.1:PORT {listen};")
            said = s.get(f"{scheme}://localhost:{port}/small", flag, "--count", "300",
                         "--parallel", "20")
            check(said["ok"] == 300 and said["bytes"] == 30_000, said)
            check(bool(said["http2"]) == h2, said)
            check(said["dialled"] == 1 if h2 else said["dialled"] <= 20, said)
            said = s.get(f"{scheme}://localhost:{port}/large", flag)
            check(said["bytes"] == 300_000_000 and said["residentKb"] < 30_000, said)
            program.terminate()
            program.wait()


def test_nginx_protocol_is_agreed_on():
    """Without a wish: what ALPN says. With the wish for HTTP/2 alone: an error that names it."""
    with stage() as s:
        s.file("small", 100)
        old, program = s.nginx("listen 127.0.0.1:PORT ssl;")
        check(s.get(f"https://localhost:{old}/small")["http2"] == 0, "HTTP/1.1 was agreed on")
        said = s.get(f"https://localhost:{old}/small", "--h2", fails=True)
        check("does not speak HTTP/2" in said["error"] and not said["sentFailures"], said)
        program.terminate()
        program.wait()
        new, _ = s.nginx("listen 127.0.0.1:PORT ssl http2;")
        check(s.get(f"https://localhost:{new}/small")["http2"] == 1, "HTTP/2 was agreed on")


def test_nginx_keep_alive_limits_that_close():
    """nginx ends each connection after 7 requests, over HTTP/2 by GOAWAY: no call may fail."""
    with stage() as s:
        s.file("small", 100)
        for listen, scheme, flag, _ in WAYS:
            port, program = s.nginx(f"listen 127.0.0.1:PORT {listen}; keepalive_requests 7;")
            said = s.get(f"{scheme}://localhost:{port}/small", flag, "--count", "700",
                         "--parallel", "10")
            check(said["ok"] == 700 and 70 <= said["dialled"] <= 300, said)
            program.terminate()
            program.wait()


def test_nginx_closes_idle_connections():
    with stage() as s:
        s.file("small", 100)
        for listen, scheme, flag, _ in WAYS:
            port, program = s.nginx(f"listen 127.0.0.1:PORT {listen}; keepalive_timeout 200ms;"
                                    "location /hello { return 200 hello; }")
            said = s.get(f"{scheme}://localhost:{port}/small", flag, "--count", "12",
                         "--pause", "210")
            check(said["ok"] == 12, said)
            # A POST is not sent again, so it must not meet nginx in the act of closing.
            said = s.get(f"{scheme}://localhost:{port}/hello", flag, "--count", "4",
                         "--method", "POST", "--pause", "1500")
            check(said["ok"] == 4 and said["dialled"] == 4, said)
            program.terminate()
            program.wait()


def test_nginx_few_streams_per_connection():
    with stage() as s:
        s.file("middle", 3_000_000)
        port, _ = s.nginx("listen 127.0.0.1:PORT ssl http2; http2_max_concurrent_streams 3;"
                          "limit_rate 20m;")
        said = s.get(f"https://localhost:{port}/middle", "--h2", "--count", "40",
                     "--parallel", "20")
        check(said["ok"] == 40 and said["bytes"] == 120_000_000, said)
        check(7 <= said["dialled"] <= 20, said)


def test_nginx_reload_under_load():
    with stage() as s:
        s.file("small", 100)
        for listen, scheme, flag, _ in WAYS:
            port, program = s.nginx(f"listen 127.0.0.1:PORT {listen};")
            stop = threading.Event()

            def reload(program=program, stop=stop):
                while not stop.wait(0.15):
                    program.send_signal(signal.SIGHUP)
            thread = threading.Thread(target=reload)
            thread.start()
            try:
                said = s.get(f"{scheme}://localhost:{port}/small", flag, "--count", "1000",
                             "--parallel", "2", "--pause", "2")
            finally:
                stop.set()
                thread.join()
            check(said["ok"] == 1000 and said["dialled"] > 2, said)
            program.terminate()
            program.wait()


def test_nginx_uploads_to_our_server():
    """Client ─> nginx ─> our server, unbuffered: nginx cannot send and receive at once, so no echo."""
    with stage() as s:
        ours, _ = s.ours()
        for listen, scheme, flag, _ in WAYS:
            port, program = s.nginx(
                f"listen 127.0.0.1:PORT {listen};"
                "location / { proxy_pass http://127.0.0.1:%d; proxy_http_version 1.1;"
                " proxy_set_header Connection ''; proxy_request_buffering off;"
                " proxy_buffering off; }" % ours)
            for more in (["--streamed"], []):
                said = s.get(f"{scheme}://localhost:{port}/sink", flag, "--method", "POST",
                             "--body", "20000000", *more)
                check(said["bytes"] == len("20000000") and said["status"] == 200, said)
            program.terminate()
            program.wait()


HAPROXY = [("", "http", "--h1"), ("ssl crt PEM alpn http/1.1", "https", "--h1"),
           ("ssl crt PEM alpn h2,http/1.1", "https", "--h2"), ("proto h2", "http", "--h2")]


def haproxy_lines(listen, backend, more=""):
    return (f"frontend in\n  bind 127.0.0.1:PORT {listen}\n  default_backend out\n"
            f"backend out\n{more}  server one 127.0.0.1:{backend}\n")


def test_haproxy_before_our_server():
    with stage() as s:
        ours, _ = s.ours()
        for proto in ("", " proto h2"):
            for listen, scheme, flag in HAPROXY:
                port, program = s.haproxy(haproxy_lines(listen, f"{ours}{proto}"))
                url = f"{scheme}://localhost:{port}"
                said = s.get(f"{url}/hello", flag, "--count", "500", "--parallel", "20")
                check(said["ok"] == 500, said)
                said = s.get(f"{url}/big?100000000", flag)
                check(said["bytes"] == 100_000_000, said)
                said = s.get(f"{url}/echo", flag, "--method", "POST", "--body", "10000000",
                             "--streamed")
                check(said["bytes"] == 10_000_000, said)
                program.terminate()
                program.wait()


def test_haproxy_slow_reader_is_bounded():
    """A reader of 1 MB/s of an endless stream: neither side piles it up."""
    with stage() as s:
        ours, server = s.ours()
        for listen, scheme, flag in HAPROXY:
            port, program = s.haproxy(haproxy_lines(listen, str(ours)))
            said = s.get(f"{scheme}://localhost:{port}/big?3000000", flag, "--read", "1000000")
            check(said["bytes"] == 3_000_000 and said["mostBuffered"] <= 300_000, said)
            program.terminate()
            program.wait()
        server.terminate()
        resident = int(re.search(r"residentKb (\d+)", server.stdout.read()).group(1))
        check(resident < 30_000, f"our server took {resident} kB")


def test_haproxy_dies_in_mid_stream():
    with stage() as s:
        ours, server = s.ours()
        for listen, scheme, flag in HAPROXY:
            port, program = s.haproxy(haproxy_lines(listen, str(ours)))
            client = s.start(TOOL, "get", "--ca", s.path("cert"), flag, "--hold",
                             f"{scheme}://localhost:{port}/drip", stdout=subprocess.PIPE)
            client.stdout.readline()  # held
            program.kill()
            said = json.loads(client.stdout.readline())
            check(said["failed"] == 1 and said["sentFailures"] == 1, said)
            # By the end of the connection, or by a write that meets its end first.
            noticed = server.stdout.readline()
            check(noticed.startswith("closed ") and noticed != "closed ok\n", noticed)


def test_answer_that_a_dying_backend_cuts():
    """The backend announces 1000 bytes, sends 10 and dies: an error, not a short answer."""
    def cut(listener):
        with contextlib.suppress(OSError):
            while True:
                peer, _ = listener.accept()
                peer.recv(4096)
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n0123456789")
                peer.close()
    with stage() as s:
        listener = socket.create_server(("127.0.0.1", 0))
        backend = listener.getsockname()[1]
        threading.Thread(target=cut, args=(listener,), daemon=True).start()
        for listen, scheme, flag in HAPROXY:
            port, _ = s.haproxy(haproxy_lines(listen, str(backend)))
            said = s.get(f"{scheme}://localhost:{port}/", flag, fails=True)
            check(said["failed"] == 1 and said["sentFailures"] == 1, said)
        for listen, scheme, flag, _ in WAYS:
            port, program = s.nginx(f"listen 127.0.0.1:PORT {listen}; proxy_buffering off;"
                                    "location / { proxy_pass http://127.0.0.1:%d; }" % backend)
            said = s.get(f"{scheme}://localhost:{port}/", flag, fails=True)
            check(said["failed"] == 1 and said["sentFailures"] == 1, said)
            program.terminate()
            program.wait()
        listener.close()


def test_haproxy_limits_and_timeouts():
    """haproxy closes idle connections after 100 ms and has two slots to the backend."""
    with stage() as s:
        ours, _ = s.ours()
        for listen, scheme, flag in HAPROXY:
            lines = haproxy_lines(listen, f"{ours} maxconn 2").replace(
                "  default_backend", "  timeout http-keep-alive 100ms\n  default_backend")
            port, program = s.haproxy(lines)
            url = f"{scheme}://localhost:{port}/hello"
            said = s.get(url, flag, "--count", "300", "--parallel", "30")
            check(said["ok"] == 300, said)
            said = s.get(url, flag, "--count", "10", "--pause", "103")
            check(said["ok"] == 10, said)
            program.terminate()
            program.wait()


def test_curl_and_our_server():
    with stage() as s:
        for tls in (False, True):
            port, server = s.ours(tls)
            base = f"{'https' if tls else 'http'}://localhost:{port}"
            ways = {"--http1.1": b"hello 1", "--http1.0": b"hello 1",
                    "--http2" if tls else "--http2-prior-knowledge": b"hello 2"}
            for way, hello in ways.items():
                check(s.curl(way, f"{base}/hello").stdout == hello, f"{way}: not {hello}")
                check(s.curl(way, "-I", f"{base}/hello").stdout.startswith(b"HTTP/"), way)
                big = s.curl(way, "-o", "/dev/null", "-w", "%{size_download}",
                             f"{base}/big?50000000")
                check(big.stdout == b"50000000", f"{way}: {big.stdout}")
                body = s.path("body")
                with open(body, "wb") as f:
                    f.write(os.urandom(5_000_000))
                back = s.curl(way, "-T", body, f"{base}/echo").stdout
                with open(body, "rb") as f:
                    check(back == f.read(), f"{way}: the echo differs")
                s.curl(way, "-m", "1", "-o", "/dev/null", f"{base}/drip", check_code=False)
            if not tls:  # an offer to upgrade is declined by ignoring it
                check(s.curl("--http2", f"{base}/hello").stdout == b"hello 1", "upgrade")
            server.terminate()
            said = server.stdout.read()
            check(len(re.findall("(?m)^closed (?!ok)", said)) == 3, said)


def test_idle_memory_of_watches():
    """Ten streams on one HTTP/2 connection with TLS, as an idle operator holds them."""
    with stage() as s:
        ours, _ = s.ours(tls=True)
        client = s.start(TOOL, "get", "--ca", s.path("cert"), "--h2", "--hold", "--count", "10",
                         "--parallel", "10", f"https://localhost:{ours}/drip",
                         stdout=subprocess.PIPE)
        said = json.loads(client.stdout.readline())
        check(said["state"] == "held" and said["connections"] == 1, said)
        bare = s.get(f"https://localhost:{ours}/hello", "--h2")["residentKb"]
        print(f"     ten held streams: {said['residentKb']} kB resident, one call: {bare}")
        check(said["residentKb"] < bare + 1500, said)
        later = json.loads(client.stdout.readline())  # some drips later it is the same
        check(later["state"] == "still held", later)
        check(later["residentKb"] < said["residentKb"] + 300, f"{said}, then {later}")
