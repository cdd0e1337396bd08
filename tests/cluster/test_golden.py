"""Every recorded case of LLMKube and OtterScale, replayed: what comes of it is what came of it there."""
import functools

import replay  # also finds golden
from lab import Failure

import golden


def check(family, case, future, accepted):
    ours = future.result()
    differences = list(golden.compare(golden.recorded(family, case), ours))
    unexplained = [d for d in differences if not accepted.explains(d)]
    if unexplained:
        raise Failure("\n".join(f"  {d}" for d in unexplained))


def check_all_met(accepted):
    if accepted.unused():
        raise Failure("\n".join(f"  nothing differs like this any more: {entry}"
                                for entry in accepted.unused()))


def tests_of(family, wanted):
    accepted, every = golden.Accepted(family, "cluster"), golden.cases(family)
    chosen = {name: path for name, path in every.items() if wanted(name)}
    if not chosen:
        return
    for case, future in replay.replay(family, chosen):
        yield case, functools.partial(check, family, case, future, accepted)
    if len(chosen) == len(every):
        yield f"every_accepted_difference_of_{family}_is_met", \
            functools.partial(check_all_met, accepted)


def tests(wanted):
    for family in golden.FAMILIES:
        yield from tests_of(family, wanted)
