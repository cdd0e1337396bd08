"""Every recorded case of LLMKube, replayed: what comes of it is what came of it there."""
import functools

import replay  # also finds golden
from lab import Failure

import golden


def check(case, future, accepted):
    ours = future.result()
    differences = list(golden.compare(golden.recorded(replay.FAMILY, case), ours))
    unexplained = [d for d in differences if not accepted.explains(d)]
    if unexplained:
        raise Failure("\n".join(f"  {d}" for d in unexplained))


def check_all_met(accepted):
    if accepted.unused():
        raise Failure("\n".join(f"  nothing differs like this any more: {entry}"
                                for entry in accepted.unused()))


def tests(wanted):
    accepted, every = golden.Accepted(replay.FAMILY, "cluster"), golden.cases(replay.FAMILY)
    chosen = {name: path for name, path in every.items() if wanted(name)}
    if not chosen:
        return
    for case, future in replay.replay(chosen):
        yield case, functools.partial(check, case, future, accepted)
    if len(chosen) == len(every):
        yield "every_accepted_difference_is_met", lambda: check_all_met(accepted)
