"""`leeboard run`, `chat`, `pull`, `stop`, `rm` and `export`, with a real llama-server and, for a person, a real
terminal."""
import json
import os
import subprocess

import yaml

import machine
import test_up
from lab import PATIENCE_S, tail, wait_for
from terminal import Terminal, Tmux
from test_up import LEEBOARD

LOOPBACK = ("--listen", "127.0.0.1:0", "--endpoint", "127.0.0.1:0")
SILENT = """#!/usr/bin/python3
import http.server, sys
def value(flag):
    return sys.argv[sys.argv.index(flag) + 1]
def note(text):
    with open(sys.argv[1], "a") as f:
        f.write(text + "\\n")
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def do_POST(self):
        note(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b'data: {"choices": [{"delta": {"content": "word"}}]}\\n\\n')
        self.connection.recv(1)
        note("closed")
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer((value("--host"), int(value("--port"))), Answer).serve_forever()
"""


class Box(test_up.Up):
    """A folder on which nothing runs yet, and a model file with a name of its own."""

    def __init__(self, *objects, **options):
        super().__init__(*objects, **{"start": False, **options})
        self.file = f"{self.dir}/Tiny_Chat-1.5B.gguf"
        os.symlink(test_up.tiny(), self.file)

    def say(self, *args, text="", code=0):
        """Standard output and standard error, apart."""
        done = subprocess.run([LEEBOARD, *args], env=self.env, text=True, input=text, capture_output=True,
                              timeout=120, check=False)
        assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
        return done.stdout, done.stderr

    def shell(self, *words):
        return ["env", f"LEEBOARD_DATA={self.data}", f"PATH={self.env['PATH']}", f"HOME={self.dir}", LEEBOARD, *words]

    def __exit__(self, *exception):
        self.run("down", "--now")
        super().__exit__(*exception)


def test_run_makes_serves_and_answers_without_a_manifest():
    with Box() as box:
        answer, said = box.say("run", box.file, "Ahoy?", "--max-tokens", "4", "--context", "512", *LOOPBACK)
        assert answer.strip() and len(answer.splitlines()) == 1, answer
        assert "runs in the background now" in said and "InferenceService tiny-chat-1-5b: ready" in said, said
        # What it made is what a person would have written, and no more; it is the same when it is applied.
        manifest = box.run("export", "tiny-chat-1-5b")
        model, service = yaml.safe_load_all(manifest)
        assert model["spec"] == {"source": f"file://{box.file}"}, manifest
        assert service["spec"] == {"contextSize": 512, "modelRef": "tiny-chat-1-5b", "replicas": 1}, manifest
        assert model["metadata"] == service["metadata"] == {"name": "tiny-chat-1-5b"}, manifest
        with open(box.manifest, "w", encoding="utf8") as f:
            f.write(manifest)
        assert box.run("apply", "-f", box.manifest).count("unchanged") == 2
        # Again: nothing new is made, and the question may come in a pipe.
        answer, said = box.say("run", box.file, "--max-tokens", "4", text="Ahoy?\n")
        assert answer.strip() and "background" not in said, (answer, said)
        assert box.say("chat", "tiny-chat-1-5b", "Ahoy?", "--max-tokens", "2")[0].strip()
        # The name is taken by another file.
        other = f"{box.dir}/other"
        os.mkdir(other)
        os.symlink(test_up.tiny(), f"{other}/Tiny_Chat-1.5B.gguf")
        _, said = box.say("run", f"{other}/Tiny_Chat-1.5B.gguf", "Ahoy?", code=1)
        assert "is another model already" in said and "--name" in said, said
        with Terminal(box.shell("down", "--purge")) as terminal:
            terminal.wait_line(r"of models. Go on\? \[y/N\]")
            terminal.send("n\n")
            assert terminal.wait_end() == 1
        assert box.tasks() and os.path.exists(f"{box.data}/server")
        assert box.run("down", "--purge", "--yes") == f"ended\nremoved {box.data}\n"
        assert not os.path.exists(box.data) and os.path.exists(box.file)


def test_stop_run_and_rm_by_name():
    with Box() as box:
        box.say("run", "--detach", box.file, "--name", "sail", *LOOPBACK)
        assert "sail stops" in box.run("stop", "sail")
        _, said = box.say("chat", "sail", "Ahoy?", code=1)
        assert "sail is stopped; `leeboard run sail` starts it" in said, said
        wait_for(lambda: not box.tasks(), PATIENCE_S, "its program to end")
        assert box.say("run", "sail", "Ahoy?", "--max-tokens", "2")[0].strip()
        # A second service of the Model keeps it.
        box.write(test_up.service("keel", modelRef="sail", replicas=0))
        box.run("apply", "-f", box.manifest)
        assert "models/sail stays: the InferenceService keel uses it" in box.run("rm", "sail")
        assert "uses the Model sail" in box.run("rm", "sail", code=1)
        assert box.say("run", box.file, "Ahoy?", "--name", "sail", "--max-tokens", "2")[0].strip()
        box.run("rm", "sail")
        said = box.run("rm", "keel")
        assert "models/sail deleted" in said, said
        said = box.run("rm", "keel", code=1)
        assert "nothing is called keel in namespace default; there is nothing" in said, said
        assert 'The model "keel" does not exist' in box.say("chat", "keel", "Ahoy?", code=1)[1]


def test_run_says_what_is_missing_and_goes_on_when_it_is_there():
    with Box(path=test_up.PLAIN) as box:
        _, said = box.say("run", box.file, "Ahoy?", "--name", "sail", *LOOPBACK, code=1)
        assert "InferenceService sail is not ready: no program" in said and "`leeboard rm sail` deletes it" in said, said
        box.run("down")
        box.env["PATH"] = f"{test_up.llama()}:{test_up.PLAIN}"
        assert box.say("run", "sail", "Ahoy?", "--max-tokens", "2", *LOOPBACK)[0].strip()


def test_chat_on_a_terminal():
    """From a file to an answer; lines that are longer than the window; what was asked before; Ctrl-D."""
    with Box() as box, Tmux(box.shell("run", box.file, "--name", "sail", "--max-tokens", "9", *LOOPBACK),
                           width=100) as terminal:
        terminal.wait_line("✔ InferenceService +sail +ready")
        terminal.wait_line("^Chat with sail")
        terminal.send("Ahoy?")
        terminal.send("Enter")
        terminal.wait(lambda lines: "> Ahoy?" in lines and ">" in lines, "an answer and a new line")
        terminal.send("x" * 150)
        terminal.wait_line("^x{52}$")
        terminal.send("C-u")
        terminal.send("/clear")
        terminal.send("Enter")
        terminal.wait_line("conversation is deleted")
        terminal.send("Up")
        terminal.send("Up")
        terminal.wait(lambda lines: [line for line in lines if line][-1] == "> Ahoy?", "the question of before")
        terminal.send("C-c")
        terminal.send("C-c")
        terminal.wait_line("^Ctrl-D ends the chat")
        terminal.send("C-d")
        assert terminal.wait_end() == 0
        with open(f"{box.data}/chat", encoding="utf8") as f:
            assert f.read() == "Ahoy?\n/clear\n"
        terminal.send("echoed")  # the terminal is as it was
        terminal.wait_line("^echoed")


def test_interrupt_ends_the_answer_and_not_the_chat():
    """Of a server that says a word and then nothing more. What it had said stays part of the conversation."""
    with Box() as box:
        with open(f"{box.dir}/server", "w", encoding="utf8") as f:
            f.write(SILENT)
        os.chmod(f"{box.dir}/server", 0o755)
        with open(f"{box.dir}/images", "w", encoding="utf8") as f:
            f.write(f"images: [{{image: ghcr.io/ggml-org/llama.cpp, program: [{box.dir}/server, {box.dir}/asked], "
                    "hostFlag: --host}]\n")
        with Tmux(box.shell("run", box.file, "--name", "sail", "--images", f"{box.dir}/images", *LOOPBACK),
                  width=100) as terminal:
            terminal.wait_line("^Chat with sail")
            terminal.send("one")
            terminal.send("Enter")
            terminal.wait_line("^word$")
            terminal.send("typed")
            terminal.send("C-c")
            terminal.wait(lambda lines: "word^C" in lines and ">" in lines, "a new line")
            wait_for(lambda: "closed" in tail(f"{box.dir}/asked", 100), PATIENCE_S, "the server to hear of it")
            terminal.send("two")
            terminal.send("Enter")
            terminal.wait(lambda lines: "> two" in lines and "word" in lines, "the second answer")
            asked = json.loads(tail(f"{box.dir}/asked", 100).splitlines()[-1])
            assert [m["content"] for m in asked["messages"]] == ["one", "word", "two"], asked
            terminal.send("C-c")
            terminal.send("C-d")
            assert terminal.wait_end() == 0


def test_pull_fetches_into_the_cache_and_run_uses_it():
    with Box(flags=("--allowed-remote-hosts", "127.0.0.1")) as box:
        with open(f"{box.dir}/keys", "w", encoding="utf8") as f:
            f.write("# of a team\nsecret\n")
        box.command += ["--api-key-file", f"{box.dir}/keys"]  # which run finds by itself
        box.start()
        with machine.Source(held=True) as source:
            with open(test_up.tiny(), "rb") as f:
                source.data = f.read()
            with Terminal([LEEBOARD, "pull", source.url, "--data", box.data], PATH=box.env["PATH"]) as terminal:
                terminal.wait_line(r"Model +weights +pulling +━+╸?─+ +7\d%")
                source.go_on.set()
                terminal.wait_line("✔ Model +weights +ready")
                terminal.wait_line("weights is in the cache; `leeboard run weights` serves it")
                assert terminal.wait_end() == 0
            assert not box.get("inferenceservices") and len(source.downloads) == 1, source.downloads
            assert "is in the cache" in box.run("pull", source.url)
            assert box.say("run", "weights", "Ahoy?", "--max-tokens", "2")[0].strip()
            assert len(source.downloads) == 1, source.downloads
