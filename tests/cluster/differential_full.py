"""Objects in which every field says something, with one place after the other spoiled: what the real server refuses of them, ours refuses in the same words."""
import copy
import os
import random

import yaml
from differential import STORED_FIELDS

with open(os.path.join(os.path.dirname(__file__), "full_objects.yaml")) as f:
    OBJECTS = yaml.safe_load(f)  # of each: where it is created, the object
DROPPED = object()
DRAWN = 120  # of some 1,500 ways to spoil a pod, some 6,000 to spoil the others
UPDATED, UPDATES = 10, 12  # objects that are made, ways to spoil each


def places(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, below in items:
        yield path + (step,), below
        yield from places(below, path + (step,))


def wrong(value):
    """What is put in its place."""
    if isinstance(value, bool) or value is None:
        return (DROPPED,)
    if isinstance(value, int):
        return (0, -1, 70000, 2147483647, DROPPED)
    if isinstance(value, str):
        return ("", "X y", "a" * 64, "-1", DROPPED)
    return ({}, DROPPED) if isinstance(value, dict) else ([], value + value, DROPPED)


def ways(entry):
    """All ways to spoil it."""
    return [(entry, path, value) for path, old in places(entry["object"])
            if path[0] != "metadata" and not STORED_FIELDS.intersection(path) for value in wrong(old)
            if (path[-1], value) != ("completions", DROPPED)]  # the real server dies of an update like that


def spoiled(body, path, value):
    body = part = copy.deepcopy(body)
    for step in path[:-1]:
        part = part[step]
    if value is DROPPED:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return body


def label(entry, path, value):
    return f"{entry['at'].split('/')[-1]} {path} {'dropped' if value is DROPPED else value}"


def shape(answer):
    """The object, or what is wrong with it: causes are a set."""
    if answer.status >= 300:
        causes = (answer.body.get("details") or {}).get("causes") or ()
        return {"status": answer.status, "reason": answer["reason"], "causes": sorted({c.get("field", "") for c in causes})}
    body = {field: value for field, value in answer.body.items() if field not in ("metadata", "status")}
    return {"status": answer.status, "body": body, "warnings": answer.warnings}


def path_of(entry, namespace):
    return entry["at"].replace("/namespaces/default/", f"/namespaces/{namespace.split('/')[-1]}/")


def created(seed, entries):
    def play(s):
        namespace = s.namespace()
        every = [way for entry in entries for way in ways(entry)]
        for entry, path, value in random.Random(seed).sample(every, DRAWN):
            answer = s.ask("POST", path_of(entry, namespace) + "?dryRun=All", spoiled(entry["object"], path, value))
            s.record(label(entry, path, value), shape(answer))
    return play


def updated(seed):
    """What is there is replaced by what the server answered, spoiled."""
    def play(s):
        namespace, rng = s.namespace(), random.Random(seed)
        for i, entry in enumerate(rng.sample([o for o in OBJECTS if "/apiextensions" not in o["at"]], UPDATED)):
            name = f"{namespace.split('/')[-1]}-{i}"
            at = path_of(entry, namespace)
            live = s.send("POST", at, {**entry["object"], "metadata": {**entry["object"]["metadata"], "name": name}})
            if live.status >= 300:
                continue
            del live.body["metadata"]["resourceVersion"]
            for _, path, value in rng.sample(ways(entry), min(UPDATES, len(ways(entry)))):
                answer = s.ask("PUT", f"{at}/{name}?dryRun=All", spoiled(live.body, path, value))
                s.record(label(entry, path, value), shape(answer))
            s.ask("DELETE", f"{at}/{name}?gracePeriodSeconds=0")
    return play


def scripts(pods, others, updates):
    yield from ((f"full_{seed}", created(seed, OBJECTS[:1])) for seed in pods)
    yield from ((f"created_{seed}", created(seed, OBJECTS[1:])) for seed in others)
    yield from ((f"updated_{seed}", updated(seed)) for seed in updates)
