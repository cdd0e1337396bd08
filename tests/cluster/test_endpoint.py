"""The one address of `leeboard up`: models by their names, with a real llama-server behind each."""
import json
import re
import socket
import subprocess
import urllib.error
import urllib.request

import test_up
from lab import PATIENCE_S, tail, wait_for

HELLO = [{"role": "user", "content": "hello"}]


class Up(test_up.Up):
    def url(self):
        return wait_for(lambda: re.search(r"models answer at (\S+)", self.said()), PATIENCE_S, "the endpoint")[1]

    def said(self):
        return tail(self.log, 100000)

    def post(self, path="/chat/completions", headers=None, **body):
        """Status and body; the body is read to its end."""
        request = urllib.request.Request(
            self.url() + path, data=json.dumps(body).encode() if body else None,
            headers={"Content-Type": "application/json", **(headers or {})})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as e:
            return e.code, e.read().decode()

    def chat(self, model="chat", **more):
        return self.post(model=model, messages=HELLO, max_tokens=4, **more)

    def wait_answer(self, model="chat"):
        wait_for(lambda: self.chat(model)[0] == 200, PATIENCE_S, f"an answer of {model}")

    def models(self):
        return sorted(m["id"] for m in json.loads(self.post("/models")[1])["data"])


def test_endpoint_routes_by_the_names_of_services_and_of_what_they_serve():
    other = test_up.service("talk", extraArgs=["--threads", "1", "--alias", "org/tiny-chat"])
    with Up(test_up.model(), test_up.service(), other) as up:
        wait_for(lambda: up.models() == ["chat", "talk"], PATIENCE_S, "both models")
        up.wait_answer("chat")
        up.wait_answer("talk")
        assert up.chat("default/talk")[0] == 200
        wait_for(lambda: up.chat("org/tiny-chat")[0] == 200, PATIENCE_S, "the alias of llama-server")
        assert json.loads(up.chat("org/tiny-chat")[1])["model"] == "org/tiny-chat"
        assert up.post("/completions", model="chat", prompt="a", max_tokens=2)[0] == 200
        status, body = up.chat("chat", stream=True)
        assert status == 200 and body.startswith("data: ") and body.rstrip().endswith("data: [DONE]"), body
        status, body = up.chat("nope")
        error = json.loads(body)["error"]
        assert status == 404 and error["code"] == "model_not_found", body
        assert error["message"] == 'The model "nope" does not exist. There are: chat, talk', body
        assert error["type"] == "invalid_request_error"
        status, body = up.post(messages=HELLO)
        assert status == 400 and "names no model" in body, body
        status, body = up.post("/models", {"Host": "site.example"})
        assert status == 403 and "forbidden_host" in body, "a web page got in by a name of its own"


def test_endpoint_follows_services_and_keeps_a_stream_that_is_under_way():
    with Up(test_up.model(), test_up.service()) as up:
        up.wait_answer()
        assert up.post(messages=HELLO, max_tokens=2)[0] == 200, "the only model needs no name"
        request = urllib.request.Request(
            up.url() + "/chat/completions", headers={"Content-Type": "application/json"},
            data=json.dumps({"model": "chat", "messages": HELLO, "stream": True, "max_tokens": 400,
                             "ignore_eos": True}).encode())
        with urllib.request.urlopen(request, timeout=PATIENCE_S) as stream:
            assert stream.readline().startswith(b"data: ")
            up.write(test_up.model(), test_up.service(), test_up.service("more"))
            up.run("apply", "-f", up.manifest)
            wait_for(lambda: up.models() == ["chat", "more"], PATIENCE_S, "the new service")
            assert stream.read().rstrip().endswith(b"data: [DONE]")
        up.wait_answer("more")
        up.write(test_up.service("more"))
        up.run("delete", "-f", up.manifest)
        wait_for(lambda: up.models() == ["chat"], PATIENCE_S, "the service to go")
        assert up.chat("more")[0] == 404


def test_endpoint_says_that_a_model_is_not_ready_or_stopped():
    with Up(test_up.model(), test_up.service(replicas=0),
            test_up.service("late", modelRef="missing")) as up:
        wait_for(lambda: up.models() == ["chat", "late"], PATIENCE_S, "both models")
        status, body = up.chat("chat")
        assert status == 503 and "is stopped" in body and "leeboard run chat" in body, body
        status, body = up.chat("late")
        assert status == 503 and "model_not_ready" in body and "leeboard why late" in body, body


def test_endpoint_needs_a_key_where_there_are_keys():
    with Up(test_up.model(), test_up.service(), start=False) as up:
        keys = f"{up.dir}/keys"
        with open(keys, "w", encoding="utf8") as f:
            f.write("# of two people\nfirst\nsecond\n")
        up.command += ["--endpoint", "0.0.0.0:0", "--api-key-file", keys]
        up.start()
        status, body = up.post("/models")
        assert status == 401 and json.loads(body)["error"]["code"] == "invalid_api_key", body
        assert up.post("/models", {"Authorization": "Bearer fir"})[0] == 401
        assert up.post("/models", {"Authorization": "Bearer second"})[0] == 200
        assert up.post("/models", {"x-api-key": "first"})[0] == 200
        with open(keys, "w", encoding="utf8") as f:
            f.write("third\n")
        assert up.post("/models", {"Authorization": "Bearer second"})[0] == 401
        assert up.post("/models", {"Authorization": "Bearer third"})[0] == 200


def test_endpoint_is_not_opened_to_others_without_a_key_or_a_word():
    with Up(test_up.model(), start=False) as up:
        up.command += ["--endpoint", "0.0.0.0:0"]
        done = subprocess.run(up.command, env=up.env, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1 and "--api-key-file" in done.stderr, done.stderr
        up.command += ["--endpoint-without-key"]
        up.start()
        wait_for(lambda: "models answer" in up.said(), PATIENCE_S, "the endpoint")
        assert "warning" in up.said()


def test_endpoint_that_is_taken():
    """An address that was asked for is an error; the default one is a warning, and the models run."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 11435))
            taken.listen()
        except OSError:
            pass  # somebody else has it, which is as good
        with Up(test_up.model(), start=False) as up:
            at = up.command.index("--endpoint")
            default = up.command[:at] + up.command[at + 2:]
            done = subprocess.run([*default, "--endpoint", "127.0.0.1:11435"], env=up.env, capture_output=True,
                                  text=True, timeout=60, check=False)
            assert done.returncode == 1, done.stderr
            assert "port 11435" in done.stderr and "--endpoint none" in done.stderr, done.stderr
            up.command = default
            up.start()
            wait_for(lambda: "warning: no endpoint for all models" in up.said(), PATIENCE_S, "the warning")
