"""A program on a terminal of its own, and what a person would see on it.

The screen understands what our display sends and nothing else: an unknown sequence is an error, so that whatever is
added there gets looked at here. When the window becomes narrower, lines wrap, as they do in the terminals of today.
"""
import fcntl
import os
import pty
import re
import select
import shlex
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

from lab import die_with_parent, spawn, wait_for

PATIENCE_S = 60
SEQUENCE = re.compile(r"\x1b\[(\?)?(\d*)([A-Za-z])")


class Screen:
    """Lines of (character, colour) cells; all of them, also those that went up and out of the window."""

    def __init__(self, width):
        self.width, self.lines, self.row, self.column = width, [[]], 0, 0
        self.hidden = self.no_wrap = self.pastes = False
        self.colour, self.seen, self.rest = 0, set(), ""

    def feed(self, text):
        text = self.rest + text
        self.rest = ""
        at = 0
        while at < len(text):
            if text[at] == "\x1b":
                found = SEQUENCE.match(text, at)
                if not found:
                    assert len(text) - at < 12, f"unknown sequence {text[at:at + 12]!r}"
                    self.rest = text[at:]
                    return
                self.seen.add(found[3])
                self._control(bool(found[1]), int(found[2] or 0), found[3])
                at = found.end()
                continue
            self._put(text[at])
            at += 1

    def _control(self, private, number, final):
        at = min(self.column, self.width - 1)  # behind the last cell a terminal's cursor is still on it
        if final == "A":
            self.row = max(0, self.row - number)
        elif final == "C" and number:
            self.column = min(self.width - 1, at + number)
        elif final == "K" and not number:
            del self.lines[self.row][at:]
        elif final == "J" and not number:
            del self.lines[self.row][at:]
            del self.lines[self.row + 1:]
        elif private and number == 25:
            self.hidden = final == "l"
        elif private and number == 7:
            self.no_wrap = final == "l"
        elif private and number == 2004:
            self.pastes = final == "h"
        else:
            assert final == "m" and not private, f"unknown sequence {private}, {number}, {final}"
            self.colour = number

    def _put(self, character):
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self._down()
        else:
            assert character >= " ", f"control character {character!r}"
            if self.column == self.width:
                if self.no_wrap:
                    self.column -= 1
                else:
                    self.column = 0
                    self._down()
            line = self.lines[self.row]
            line += [(" ", 0)] * (self.column + 1 - len(line))
            line[self.column] = (character, self.colour)
            self.column += 1

    def _down(self):
        self.row += 1
        while len(self.lines) <= self.row:
            self.lines.append([])

    def resize(self, width):
        """What is on the screen wraps at the new edge; the cursor stays below it."""
        lines = []
        for line in self.lines:
            lines += [line[i:i + width] for i in range(0, len(line), width)] or [[]]
        self.lines, self.row, self.column, self.width = lines, len(lines) - 1, 0, width

    def text(self):
        return ["".join(c for c, _ in line).rstrip() for line in self.lines]


class Terminal:
    def __init__(self, command, width=100, height=30, **environment):
        self.screen, self.code = Screen(width), None
        self.raw = b""
        env = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "TERM": "xterm-256color",
               "LC_ALL": "C.UTF-8", **environment}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                die_with_parent()
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
                os.execvpe(command[0], command, env)
            finally:
                os._exit(127)
        self.height = height

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.code is None:
            os.kill(self.pid, signal.SIGTERM)  # killed, it would leave what it runs
            try:
                self.wait_end()
            except AssertionError:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
        os.close(self.fd)

    def _read(self, seconds):
        """False at the end of the program's output."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # the other side is closed
            return False
        self.raw += data
        self.screen.feed(data.decode())  # a character is never cut: each drawing is one write
        return bool(data)

    def wait(self, condition, what):
        """Reads until a condition on the screen's lines holds, and returns what it returns."""
        end = time.monotonic() + PATIENCE_S
        while True:
            found = condition(self.screen.text())
            if found:
                return found
            open_ = self._read(0.5)
            assert open_ and time.monotonic() < end, \
                f"no {what} on the screen:\n" + "\n".join(self.screen.text())

    def wait_line(self, pattern):
        """The first line that matches, once there is one."""
        return self.wait(lambda lines: next((m for m in (re.search(pattern, line) for line in lines) if m), None),
                         pattern)

    def resize(self, width):
        self.screen.resize(width)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", self.height, width, 0, 0))

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait_end(self):
        """The program's exit code."""
        end = time.monotonic() + PATIENCE_S
        while self._read(0.2):
            assert time.monotonic() < end, "it does not end:\n" + "\n".join(self.screen.text())
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code


class Tmux:
    """A program in tmux, a terminal that we did not write: what it shows is what a person sees."""

    def __init__(self, command, width=80, height=24):
        self.folder = tempfile.mkdtemp(prefix="tmux-")
        self.server = spawn(["tmux", "-S", f"{self.folder}/socket", "-f", "/dev/null", "-D"], f"{self.folder}/log",
                            env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "SHELL": "/bin/sh"})
        wait_for(lambda: os.path.exists(f"{self.folder}/socket"), PATIENCE_S, "tmux to listen")
        self.ask("new-session", "-d", "-x", str(width), "-y", str(height),
                 f"trap : INT; {shlex.join(command)}; echo ended with $?; exec cat")

    def ask(self, *words):
        return subprocess.run(["tmux", "-u", "-S", f"{self.folder}/socket", *words], text=True, check=True,
                              timeout=PATIENCE_S, stdout=subprocess.PIPE).stdout

    def value(self, name):
        return self.ask("display-message", "-p", f"#{{{name}}}").strip()

    def text(self):
        return self.ask("capture-pane", "-p").splitlines()

    def wait(self, condition, what):
        try:
            return wait_for(lambda: condition(self.text()), PATIENCE_S, what)
        except AssertionError as error:
            raise AssertionError("\n".join([str(error), *self.text()])) from error

    def wait_line(self, pattern):
        return self.wait(lambda lines: next((line for line in lines if re.search(pattern, line)), None), pattern)

    def send(self, key):
        self.ask("send-keys", key)

    def wait_end(self):
        """The program's exit code; what it left behind is still to be seen."""
        return int(self.wait_line(r"^ended with \d+$").split()[-1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ask("kill-server")  # what runs in it hears that its terminal is gone
        self.server.wait(PATIENCE_S)
        shutil.rmtree(self.folder)
