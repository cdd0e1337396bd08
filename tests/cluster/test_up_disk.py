"""`leeboard up` and its disk: one that is full, and a directory that cannot be removed. Both need a file system of
their own, which only root can make."""
import contextlib
import os
import signal
import subprocess

import yaml
from lab import spawn, tail, wait_for
from machine import MIB, Machine, Source
from test_up import Up


@contextlib.contextmanager
def mounted(path, size):
    """A small disk at a path; None where this machine lets nobody mount."""
    os.makedirs(path, exist_ok=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "none", path], capture_output=True, text=True)
    try:
        yield None if done.returncode else path
    finally:
        if done.returncode:
            print(f"     skipped: {done.stderr.strip()}")
        elif os.path.ismount(path):
            subprocess.run(["umount", "--lazy", path], check=True)


def test_full_disk_is_told_with_its_remedy_and_goes_on_when_there_is_room():
    with Source(size=24 * MIB) as source, Machine(source.url) as machine, mounted(machine.data, "16m") as disk:
        if not disk:
            return
        log = f"{machine.folder}/log"
        process = spawn(machine.up(), log)
        told = f"InferenceService tiny: no space  no space left in {machine.data}: free some " \
               "(`leeboard models remove --unused`), or take another disk with --data"
        wait_for(lambda: told in tail(log, 100), 60, "the full disk to be told")
        assert f"no space left in {machine.data}" in machine.ask("ps")
        subprocess.run(["mount", "-o", "remount,size=64m", machine.data], check=True)
        wait_for(lambda: "InferenceService tiny: ready" in tail(log, 100), 120, "it to go on")
        process.send_signal(signal.SIGTERM)
        assert process.wait(90) == 0, tail(log, 100)


def test_directory_that_cannot_be_removed_is_told():
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}}
    with Up(claim) as up:
        wait_for(lambda: up.get("pvc", "data")["status"].get("phase") == "Bound", 30, "the claim to be bound")
        place = f"{up.data}/volumes/default/data"
        with mounted(f"{place}/below", "1m") as disk:
            if not disk:
                return
            up.run("delete", "-f", up.manifest)
            told = f"PersistentVolumeClaim data: not removed  removing: {place}: "
            wait_for(lambda: told in up.said(), 30, "the reason")
            assert f"removing: {place}: " in up.run("ps")
            kept = up.get("pvc", "data")
            assert "leeboard.dev/NotRemoved" in yaml.safe_dump(kept["status"]), kept
        up.stop()
        up.write()
        os.remove(up.log)
        up.start()  # which tries again at once; otherwise it would be a minute
        wait_for(lambda: not up.get("pvc") and not os.path.exists(place), 60, "the claim to go")
        up.stop()
