"""The live display of `leeboard up` on a terminal, its plain lines without one, and `leeboard models`."""
import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from lab import PATIENCE_S, ROOT, Operator, spawn, tail, wait_for
from machine import MANIFEST, Machine, Source
from terminal import Terminal, Tmux

READY = r"✔ InferenceService +tiny +ready +http://\S+/v1/chat/completions"


def rows(lines):
    return [line for line in lines if re.match(r" \S (Model|InferenceService) ", line)]


def test_terminal_shows_pulling_starting_and_ready_in_place():
    with Source(held=True) as source, Machine(source.url) as machine, Terminal(machine.up()) as terminal:
        terminal.wait_line(r"Model +tiny +pulling +━+╸?─+ +5\d%  4\.\d/8\.0 MiB")
        terminal.wait_line(r"InferenceService +tiny +starting +waits for its model")
        assert terminal.screen.hidden
        source.go_on.set()
        terminal.wait_line(READY)
        terminal.wait_line(r"✔ Model +tiny +ready +8\.0 MiB")
        assert len(rows(terminal.screen.text())) == 2
        assert "m" in terminal.screen.seen
        terminal.send("\x03")
        assert terminal.wait_end() == 0
        assert not terminal.screen.hidden and not terminal.screen.no_wrap
        assert len(rows(terminal.screen.text())) == 2, terminal.screen.text()


def test_tmux_shows_what_is_meant_and_gets_its_cursor_back():
    """A line that is as wide as the window once lost its last cell on real terminals, and only there."""
    with Source(held=True) as source, Machine(source.url) as machine, Tmux(machine.up(), width=46) as terminal:
        assert terminal.wait_line(r"Model +tiny +pulling +5\d%  4\.").endswith("…")
        line = terminal.wait_line(r"InferenceService +tiny +starting +waits")
        assert len(line) == 46 and line.endswith("…"), line
        assert terminal.value("cursor_flag") == "0"
        source.go_on.set()
        terminal.wait_line(r"✔ InferenceService +tiny +ready +http")
        assert len(rows(terminal.text())) == 2, terminal.text()
        terminal.send("C-c")
        assert terminal.wait_end() == 0
        assert terminal.value("cursor_flag") == "1" and len(rows(terminal.text())) == 2, terminal.text()


def test_window_that_changes_is_drawn_anew():
    with Source(held=True) as source, Machine(source.url) as machine, \
            Terminal(machine.up(), NO_COLOR="1") as terminal:
        terminal.wait_line(r"Model +tiny +pulling +.* +5\d%  4\.\d/8\.0 MiB")
        terminal.resize(44)
        narrow = terminal.wait(
            lambda lines: (found := rows(lines)) and len(found) == 2 and all(len(r) <= 44 for r in found) and
            found[1].endswith("…") and found, "two narrow rows")
        assert not re.search(r"[━─]", narrow[0]), narrow
        terminal.resize(100)
        terminal.wait_line(r"Model +tiny +pulling +━+╸?─+ +5\d%")
        assert len(rows(terminal.screen.text())) == 2, terminal.screen.text()
        assert "m" not in terminal.screen.seen


def test_terminal_without_unicode_gets_ascii():
    with Source(held=True) as source, Machine(source.url) as machine, \
            Terminal(machine.up(), LC_ALL="C") as terminal:
        terminal.wait_line(r"Model +tiny +pulling +=+-?\.+ +5\d%  4\.\d/8\.0 MiB")
        source.go_on.set()
        terminal.wait_line(r"\* InferenceService +tiny +ready +http://")
        assert terminal.raw.isascii()


def test_plain_lines_without_a_terminal_and_word_to_the_service_manager():
    with Source(held=True) as source, Machine(source.url) as machine, \
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        log, address = f"{machine.folder}/out", f"{machine.folder}/notify"
        manager.bind(address)
        manager.settimeout(PATIENCE_S)
        with open(log, "wb") as out:
            process = subprocess.Popen(machine.up(), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL,
                                       env={**os.environ, "NOTIFY_SOCKET": address})

        def said(pattern):
            with open(log, encoding="utf8") as f:
                return re.search(pattern, f.read(), re.M)
        try:
            assert manager.recv(100) == b"READY=1"
            wait_for(lambda: said(r"^Model tiny: pulling  5\d%  4\.\d/8\.0 MiB"), 60, "the line of the download")
            wait_for(lambda: "A pod fetches the model: 50% of 8.0 MiB" in machine.ask("get", "models", "tiny", "-o",
                                                                                     "yaml"), 60, "it in the status")
            source.go_on.set()
            wait_for(lambda: said(r"^InferenceService tiny: ready  http://\S+$"), 60, "the line of the service")
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0, tail(log, 20)
        assert manager.recv(100) == b"STOPPING=1"
        with open(log, "rb") as f:
            assert b"\x1b" not in f.read()


class Up:
    """`leeboard up` in the background, until the service is ready."""

    def __init__(self, machine):
        self.machine, self.log = machine, f"{machine.folder}/up.log"
        self.process = spawn(machine.up(), self.log)

    def wait_ready(self):
        def ready():
            assert self.process.poll() is None, tail(self.log, 20)
            done = self.machine.ask("get", "inferenceservices", check=False)
            return done.returncode == 0 and " Ready " in done.stdout
        wait_for(ready, 60, "the service to be ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)


def test_download_goes_on_after_a_restart_and_is_not_repeated():
    with Source(held=True) as source, Machine(source.url) as machine:
        with Up(machine):
            wait_for(lambda: re.search(r"\(partial\) +4\.\d MiB", machine.ask("models", check=False).stdout), 60,
                     "half of the file")
        source.go_on.set()
        with Up(machine) as up:
            up.wait_ready()
        assert len(source.downloads) == 2 and source.downloads[0] == 0 < source.downloads[1], source.downloads
        with Up(machine) as up:
            up.wait_ready()
        assert len(source.downloads) == 2, source.downloads


def test_file_with_a_wrong_digest_is_fetched_once_and_taken_when_the_digest_is_corrected():
    with Source() as source, Machine(source.url) as machine:
        def write(digest):
            machine.write("tiny.yaml", MANIFEST.format(url=f'{source.url}", sha256: "{digest}', name="tiny"))

        def said(pattern):
            return re.search(pattern, machine.ask("why", "tiny", check=False).stdout)
        write("0" * 64)
        with Up(machine):
            wait_for(lambda: said("crashing: model-downloader: .*spec.sha256 of the Model is 0{64}, but the file has "
                                  "[0-9a-f]{64}: correct one of the two"), 60, "the wrong digest to be told")
            write(hashlib.sha256(source.data).hexdigest())
            machine.ask("apply", "-f", f"{machine.folder}/tiny.yaml")
            wait_for(lambda: said("InferenceService tiny is ready"), 60, "the service to be ready")
        assert source.downloads == [0], source.downloads


def test_models_lists_who_uses_what_and_removes_the_rest():
    with Source() as source, Machine(source.url) as machine:
        assert "no model files" in machine.ask("models", check=False).stderr
        with Up(machine) as up:
            up.wait_ready()
            listed = machine.ask("models")
            found = re.search(r"^default +tiny +([0-9a-f]{16})/(\S+) +8\.0 MiB +inferenceservice default/tiny$",
                              listed, re.M)
            assert found, listed
            key, file = found.groups()
            folder = f"{machine.data}/volumes/default/llmkube-model-cache/{key}"
            for word in ("tiny", file, key):
                refused = machine.ask("models", "remove", word, check=False)
                assert refused.returncode == 1 and "is used by inferenceservice default/tiny" in refused.stderr, refused
            assert machine.ask("models", "remove", "--unused") == ""
            assert os.path.exists(f"{folder}/{file}")
            machine.ask("delete", "-f", f"{machine.folder}/tiny.yaml")
        # nothing runs now: the server is asked all the same
        listed = machine.ask("models")
        assert re.search(rf"^default +- +{key}/{re.escape(file)} +8\.0 MiB +-$", listed, re.M), listed
        missing = machine.ask("models", "remove", "other", check=False)
        assert missing.returncode == 1 and "`leeboard models` lists them" in missing.stderr, missing
        assert "removed" in machine.ask("models", "remove", "--unused")
        assert not os.path.exists(folder)


def test_files_of_a_claim_go_with_it():
    with Source() as source, Machine(source.url) as machine:
        machine.write("claim.yaml", "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: llmkube-model-cache}}")
        volumes = f"{machine.data}/volumes"
        with Up(machine) as up:
            up.wait_ready()
            assert os.listdir(f"{volumes}/default") == ["llmkube-model-cache"]
            machine.ask("delete", "-f", f"{machine.folder}/claim.yaml")
            os.stat(f"{volumes}/default/llmkube-model-cache")  # a pod uses it
            machine.ask("delete", "-f", f"{machine.folder}/tiny.yaml")
            wait_for(lambda: not os.listdir(f"{volumes}/default"), 60, "the claim's files to go")
            wait_for(lambda: os.listdir(volumes) == ["default"], 60, "nothing to be left beside them")
            assert machine.ask("models", check=False).stderr.startswith("There are no model files")


def test_unit_is_one_that_systemd_takes():
    if not shutil.which("systemd-analyze"):
        print("     skipped: there is no systemd-analyze")
        return
    with open(f"{ROOT}/packaging/leeboard.service") as f:
        unit = f.read().replace("/usr/local/bin/leeboard", os.path.abspath(Operator.BINARY))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/leeboard.service"
        with open(path, "w") as f:
            f.write(unit)
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", path], capture_output=True, text=True)
        about = [line for line in (done.stdout + done.stderr).splitlines() if "leeboard" in line]
        assert not about, about
