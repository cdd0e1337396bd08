"""What `leeboard apiserver` has acknowledged is there, whatever happens to the process, the disk or the folder.

The first test kills it 50 times while four clients write and three watch. LEEBOARD_SEED repeats a run's choices; which
request a kill meets is the machine's.
"""
import http.client
import json
import os
import random
import shutil
import sqlite3
import subprocess
import threading
import time

from differential import BUILD, JSON, Ours, Server
from lab import Failure, spawn, wait_for

KILLS, WRITES, WRITERS, WATCHERS = 50, 10000, 4, 3
PATH = "/api/v1/namespaces/default/configmaps"
GONE = None


def configmap(name, value, version=None):
    meta = {"name": name, "labels": {"of": "power"}, **({"resourceVersion": version} if version else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"value": value}}


class Client:
    """One connection, opened anew when it breaks."""

    def __init__(self, kubeconfig):
        self.kubeconfig, self.connection = kubeconfig, None

    def ask(self, method, path, body=None):
        """(status, body); raises OSError or HTTPException where no whole answer came."""
        try:
            if not self.connection:
                server = Server("ours", self.kubeconfig)
                self.connection, self.headers = server.connect(), {**server.headers, "Content-Type": JSON}
            self.connection.request(method, path, body and json.dumps(body), self.headers)
            answer = self.connection.getresponse()
            return answer.status, json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise ConnectionError(str(error)) from error

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None


class Run:
    """What the threads of a run share: whether the server is up, and the first thing that went wrong."""

    def __init__(self, ours, seed):
        self.ours, self.seed = ours, seed
        self.up, self.ending, self.lock = threading.Event(), False, threading.Condition()
        self.acknowledged, self.highest, self.failure = 0, 0, None

    def wait_up(self):
        while not self.up.wait(0.2):
            if self.ending:
                return False
        return not self.ending

    def fail(self, text):
        with self.lock:
            self.failure = self.failure or text
            self.lock.notify_all()

    def count(self, version):
        with self.lock:
            self.acknowledged += 1
            self.highest = max(self.highest, version)
            self.lock.notify_all()

    def check(self):
        if self.failure:
            raise Failure(f"{self.failure}\n  LEEBOARD_SEED={self.seed}")


class Writer(threading.Thread):
    """Creates, changes and deletes objects of its own. `sure` has what the last answers said of each, `open` the one
    write whose answer did not come."""

    def __init__(self, run, number):
        super().__init__(daemon=True)
        self.run_, self.number = run, number
        self.random = random.Random(f"{run.seed}/{number}")
        self.client, self.sure, self.open, self.made = Client(run.ours.kubeconfig), {}, None, 0
        self.history = {}  # version: (type, name, value), acknowledged
        self.doubtful = set()  # (type, name, value) without an answer
        self.idle = threading.Event()

    def run(self):
        try:
            while True:
                if not self.run_.up.is_set():
                    self.client.close()
                    self.idle.set()
                    if not self.run_.wait_up():
                        return
                    self.idle.clear()
                try:
                    self.write()
                except ConnectionError:
                    self.run_.up.wait(0.005)
        except Exception as error:  # noqa: BLE001 - told by the main thread
            self.run_.fail(f"writer {self.number}: {error!r}")

    def choose(self):
        alive = [name for name, (_, value) in self.sure.items() if value is not GONE]
        dice = self.random.random()
        if dice < 0.5 or not alive:
            self.made += 1
            return "ADDED", f"w{self.number}-{self.made}", None
        name = self.random.choice(alive)
        return ("MODIFIED" if dice < 0.8 else "DELETED"), name, self.sure[name][0]

    def write(self):
        if self.open:
            return self.settle()
        what, name, version = self.choose()
        value = f"{self.number}/{self.random.getrandbits(64):x}" + "x" * self.random.randrange(2000)
        self.open = (what, name, self.sure[name][1] if what == "DELETED" else value)
        self.doubtful.add(self.open)
        if what == "ADDED":
            status, body = self.client.ask("POST", PATH, configmap(name, value))
        elif what == "MODIFIED":
            status, body = self.client.ask("PUT", f"{PATH}/{name}", configmap(name, value, str(version)))
        else:
            options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"resourceVersion": str(version)}}
            status, body = self.client.ask("DELETE", f"{PATH}/{name}", options)
        if status not in (200, 201):
            raise Failure(f"{self.open[:2]} was answered {status}: {json.dumps(body)[:300]}")
        return self.settled(body)

    def settled(self, body):
        what, name, value = self.open
        self.doubtful.discard(self.open)
        self.open = None
        if what == "DELETED":  # the answer does not tell its version
            self.sure[name] = (0, GONE)
            self.run_.count(0)
            return
        version = int(body["metadata"]["resourceVersion"])
        if version <= self.sure.get(name, (0, 0))[0]:
            raise Failure(f"the version of {name} went from {self.sure[name][0]} to {version}")
        self.sure[name] = (version, value)
        self.history[version] = (what, name, value)
        self.run_.count(version)

    def settle(self):
        """After a crash: the write without an answer happened as a whole or not at all."""
        what, name, value = self.open
        status, body = self.client.ask("GET", f"{PATH}/{name}")
        now = (int(body["metadata"]["resourceVersion"]), body["data"]["value"]) if status == 200 else (0, GONE)
        wanted = GONE if what == "DELETED" else value
        if now != self.sure.get(name, (0, GONE)) and now[1] != wanted:
            raise Failure(f"{what} {name} had no answer; before it {self.sure.get(name)}, now {now}")
        self.sure[name], self.open = now, None


class Watcher(threading.Thread):
    """Follows all changes, each time from the last version it met."""

    def __init__(self, run, number, version):
        super().__init__(daemon=True)
        self.run_, self.number, self.version = run, number, version
        self.events, self.last = [], float("inf")  # (version, type, name, value); the version to stop at

    def run(self):
        try:
            while self.run_.wait_up():
                try:
                    self.follow()
                except (OSError, http.client.HTTPException):
                    self.run_.up.wait(0.005)
        except Exception as error:  # noqa: BLE001 - told by the main thread
            self.run_.fail(f"watcher {self.number}: {error!r}")

    def follow(self):
        server = Server("ours", self.run_.ours.kubeconfig)
        connection = server.connect()
        try:
            connection.request("GET", f"{PATH}?watch=1&allowWatchBookmarks=true&labelSelector=of%3Dpower"
                                      f"&resourceVersion={self.version}", headers=server.headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise Failure(f"a watch from {self.version} was answered {answer.status}: {answer.read()[:300]}")
            while self.version < self.last and (line := answer.readline()).endswith(b"\n"):
                self.take(json.loads(line))
        finally:
            connection.close()

    def take(self, event):
        if event["type"] == "ERROR":
            raise Failure(f"a watch from {self.version} ended with {event['object']}")
        meta = event["object"]["metadata"]
        version = int(meta["resourceVersion"])
        if version <= self.version and event["type"] != "BOOKMARK":
            raise Failure(f"{event['type']} {meta.get('name')} of version {version} came after {self.version}")
        if event["type"] != "BOOKMARK":
            self.events.append((version, event["type"], meta["name"], event["object"]["data"]["value"]))
        self.version = max(version, self.version)


def listed(client):
    status, body = client.ask("GET", f"{PATH}?labelSelector=of%3Dpower")
    assert status == 200, body
    return int(body["metadata"]["resourceVersion"]), {
        o["metadata"]["name"]: (int(o["metadata"]["resourceVersion"]), o["data"]["value"]) for o in body["items"]}


def compare_with_answers(run, writers):
    """With the writers at rest: what the server has is what it said."""
    version, found = listed(Client(run.ours.kubeconfig))
    if version < run.highest:
        raise Failure(f"the version went back from {run.highest} to {version}; LEEBOARD_SEED={run.seed}")
    sure = {name: state for w in writers for name, state in w.sure.items() if state[1] is not GONE}
    unsure = {w.open[1]: w.open for w in writers if w.open}
    for name in {*sure, *found} - {*unsure}:
        if sure.get(name) != found.get(name):
            raise Failure(f"{name}: acknowledged {str(sure.get(name))[:90]}, after a restart "
                          f"{str(found.get(name))[:90]}; LEEBOARD_SEED={run.seed}")
    run.highest = version
    return found


def compare_with_events(run, writers, watchers, found):
    """Every watcher saw every change, once and in order."""
    streams = [w.events for w in watchers]
    if any(s != streams[0] for s in streams):
        raise Failure(f"watchers saw different things; LEEBOARD_SEED={run.seed}")
    seen, state = {version: event for version, *event in streams[0]}, {}
    for version, what, name, value in streams[0]:
        if (what == "ADDED") == (name in state):
            raise Failure(f"{what} {name} at {version} cannot be: a change is missing; LEEBOARD_SEED={run.seed}")
        state[name] = (version, value)
        if what == "DELETED":
            del state[name]
    if state != found:
        raise Failure(f"the events do not add up to the list; LEEBOARD_SEED={run.seed}")
    for writer in writers:
        for version, event in writer.history.items():
            if tuple(seen.get(version, ())) != event:
                raise Failure(f"{event[:2]} of version {version} was acknowledged, watchers saw {seen.get(version)}; "
                              f"LEEBOARD_SEED={run.seed}")
    known = {event for w in writers for event in w.history.values()} | {e for w in writers for e in w.doubtful}
    invented = [e for e in seen.values() if e[0] != "DELETED" and tuple(e) not in known]
    if invented:
        raise Failure(f"nobody wrote {invented[0]}; LEEBOARD_SEED={run.seed}")


def one_round(run, ours, writers, goal, pause):
    run.up.set()
    with run.lock:
        run.lock.wait_for(lambda: run.acknowledged >= goal or run.failure, 300)
    time.sleep(pause)
    ours.kill()
    run.up.clear()
    for writer in writers:
        writer.idle.wait(90)
    run.check()
    if run.acknowledged < goal:
        raise Failure(f"{run.acknowledged} writes after five minutes, not {goal}; LEEBOARD_SEED={run.seed}")
    ours.start()


def read_to_the_end(run, watchers):
    """Their threads are done; each goes on once more, up to a last object."""
    status, last = Client(run.ours.kubeconfig).ask("POST", PATH, configmap("the-end", ""))
    assert status == 201, last
    for watcher in watchers:
        watcher.join(90)
        watcher.last = int(last["metadata"]["resourceVersion"])
        watcher.follow()
        watcher.events.pop()
    run.check()


def test_what_was_acknowledged_survives_fifty_kills():
    seed = os.environ.get("LEEBOARD_SEED") or str(random.getrandbits(32))
    chance = random.Random(seed)
    goals = sorted(chance.sample(range(WRITES // 100, WRITES), KILLS - 1)) + [WRITES]
    with Ours() as ours:
        run = Run(ours, seed)
        version, _ = listed(Client(ours.kubeconfig))
        writers = [Writer(run, i) for i in range(WRITERS)]
        watchers = [Watcher(run, i, version) for i in range(WATCHERS)]
        for thread in writers + watchers:
            thread.start()
        for goal in goals:
            one_round(run, ours, writers, goal, chance.uniform(0, 0.01))
            found = compare_with_answers(run, writers)
        run.ending = True
        read_to_the_end(run, watchers)
        compare_with_events(run, writers, watchers, found)
        print(f"  {run.acknowledged} writes, {KILLS} kills, {len(watchers[0].events)} events; LEEBOARD_SEED={seed}")


# ---- the folder ----

def refusal(folder, *more):
    """What a start that must fail says."""
    done = subprocess.run([f"{BUILD}/leeboard", "apiserver", "--data", folder, "--listen", "127.0.0.1:0", *more],
                          capture_output=True, text=True, timeout=90)
    assert done.returncode != 0, f"it started: {done.stderr}"
    return done.stderr


def test_a_second_start_on_a_folder_is_refused_with_the_pid_of_the_first():
    with Ours() as ours:
        said = refusal(f"{ours.dir}/data")
        assert f"is in use by process {ours.process.pid};" in said, said
        assert listed(Client(ours.kubeconfig))[1] == {}
        ours.kill()
        ours.start()  # what a dead one left behind hinders nobody


def test_a_folder_of_a_newer_version_is_refused():
    with Ours() as ours:
        ours.stop()
        with sqlite3.connect(f"{ours.dir}/data/leeboard.db") as db:
            layout = db.execute("PRAGMA user_version").fetchone()[0]
            db.execute(f"PRAGMA user_version = {layout + 1}")
        db.close()
        said = refusal(f"{ours.dir}/data")
        assert f"newer leeboard (layout {layout + 1}, this one knows {layout})" in said, said
        with sqlite3.connect(f"{ours.dir}/data/leeboard.db") as db:
            db.execute(f"PRAGMA user_version = {layout}")
        db.close()
        ours.start()


def test_a_backup_of_a_running_server_can_be_restored():
    with Ours() as ours:
        client = Client(ours.kubeconfig)
        for i in range(50):
            assert client.ask("POST", PATH, configmap(f"before-{i}", "b"))[0] == 201
        stop, made = threading.Event(), []

        def write():
            other = Client(ours.kubeconfig)
            while not stop.is_set():
                assert other.ask("POST", PATH, configmap(f"during-{len(made)}", "d"))[0] == 201
                made.append(f"during-{len(made)}")
        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        wait_for(lambda: len(made) > 5, 90, "writes during the backup")
        least = len(made)
        done = subprocess.run([f"{BUILD}/leeboard", "apiserver", "backup", "--data", f"{ours.dir}/data",
                               f"{ours.dir}/copy"], capture_output=True, text=True, timeout=90)
        most = len(made) + 1
        stop.set()
        writer.join(90)
        assert done.returncode == 0, done.stderr
        assert os.stat(f"{ours.dir}/copy").st_mode & 0o777 == 0o600
        again = subprocess.run([f"{BUILD}/leeboard", "apiserver", "backup", "--data", f"{ours.dir}/data",
                                f"{ours.dir}/copy"], capture_output=True, text=True, timeout=90)
        assert again.returncode != 0 and "is there already" in again.stderr, again.stderr
        ours.stop()
        for name in os.listdir(f"{ours.dir}/data"):
            if name.startswith("leeboard.db"):
                os.remove(f"{ours.dir}/data/{name}")
        shutil.move(f"{ours.dir}/copy", f"{ours.dir}/data/leeboard.db")
        ours.start()
        _, found = listed(Client(ours.kubeconfig))
        during = sorted((n for n in found if n.startswith("during")), key=lambda n: int(n.split("-")[1]))
        assert sum(n.startswith("before") for n in found) == 50
        assert least <= len(during) <= most, (least, len(during), most)
        assert during == [f"during-{i}" for i in range(len(during))], "the copy has a hole"


# ---- the disk ----

class SmallDisk(Ours):
    """A server whose folder is on a small disk of memory, in a mount namespace that outlives the server."""

    def __init__(self, megabytes):
        super().__init__()
        os.mkdir(f"{self.dir}/disk")
        self.holder = spawn(["unshare", "-m", "sh", "-c",
                             f"mount -t tmpfs -o size={megabytes}m tmpfs {self.dir}/disk && exec sleep 3600"],
                            f"{self.dir}/holder.log")
        self.seen = f"/proc/{self.holder.pid}/root{self.dir}/disk"  # from outside
        self.kubeconfig = f"{self.seen}/data/kubeconfig"
        wait_for(lambda: self.holder.poll() is not None or os.path.ismount(self.seen), 90, "the small disk")

    def start(self):
        self.process = spawn(["nsenter", "-t", str(self.holder.pid), "-m", f"{BUILD}/leeboard", "apiserver",
                              "--data", f"{self.dir}/disk/data", "--listen", f"127.0.0.1:{self.port}"], self.log)
        wait_for(self.answers, 60, "leeboard apiserver to be ready")

    def stop(self):
        super().stop()
        self.holder.kill()
        self.holder.wait()


def may_mount():
    done = subprocess.run(["unshare", "-m", "sh", "-c", "mount -t tmpfs tmpfs /mnt"], capture_output=True, text=True)
    return done.returncode == 0 or print(f"  skipped: no disk can be mounted here: {done.stderr.strip()}")


def fill(client, prefix, kept):
    """Writes until the server refuses; returns what it said."""
    for i in range(1000):
        status, body = client.ask("POST", PATH, configmap(f"{prefix}-{i}", f"{i}" + "x" * 100000))
        if status != 201:
            return status, body
        kept[f"{prefix}-{i}"] = (int(body["metadata"]["resourceVersion"]), body["data"]["value"])
    raise Failure("1,000 objects of 100 kB fit on a disk of 8 MB")


def test_a_full_disk_refuses_writes_and_loses_nothing():
    if not may_mount():
        return
    with SmallDisk(8) as ours:
        for name, megabytes in (("ballast", 3), ("reserve", 1)):
            with open(f"{ours.seen}/{name}", "wb") as f:
                f.write(b"x" * (megabytes << 20))
        client, kept = Client(ours.kubeconfig), {}
        status, body = fill(client, "a", kept)
        assert 500 <= status < 600 and body["kind"] == "Status" and body["code"] == status, body
        assert "full" in body["message"] and "free some space" in body["message"], body
        assert kept, "not one fitted"
        for _ in range(20):  # it goes on answering: writes with a refusal, reads with what is there
            status, _ = client.ask("POST", PATH, configmap("more", "y" * 200000))
            assert 500 <= status < 600, status
            assert listed(client)[1] == kept
        version = listed(client)[0]
        os.remove(f"{ours.seen}/ballast")
        status, body = client.ask("POST", PATH, configmap("space", "z"))
        assert status == 201, body
        assert int(body["metadata"]["resourceVersion"]) > version
        kept["space"] = (int(body["metadata"]["resourceVersion"]), "z")
        fill(client, "b", kept)
        ours.kill()
        os.remove(f"{ours.seen}/reserve")  # a start writes a little
        ours.start()
        client.close()
        assert listed(client)[1] == kept
