"""Every built stack in every suite once, with two sessions: what each does, told line by line and counted."""

import sys

import definitions
import names
import stdout
from campaign import SYSTEM, matrix
from definitions import Campaign
from provenance import built, missing, unavailable
from runner import Runner
from slots import complete


def verify(runner: Runner, cpus: list[int], named: str, prefix: str | None) -> int:
    """Exit status. Of these stacks those that are built are run; of the others it shows why they are not."""
    asked = names.stacks(named, prefix)
    stacks = [stack for stack in asked if built(stack)]
    if not stacks:
        sys.exit("memtest: none of these stacks is built; `tools/build.py` builds them")
    with stdout.checked():
        for stack in asked:
            if stack not in stacks:
                print(f"{'unavailable' if unavailable(stack) else 'not built':<12} {missing(stack)}", flush=True)
    verdicts = complete(runner.verify_all(matrix(everything(stacks)), cpus), "stopped")
    counts = ", ".join(f"{verdicts[said]} {said}" for said in ("ok", "unsupported", "FAILED"))
    with stdout.checked():
        print(f"{len(stacks)} of {len(asked)} stacks are built; runs: {counts}")
    return 1 if verdicts["FAILED"] else 0


def everything(stacks: list[str]) -> Campaign:
    suites = list(definitions.suites())
    kinds = {"scenario": "memory", "allocators": [SYSTEM], "windows": ["all"]}
    return Campaign(stacks=stacks, suites=suites, n=2, sessions=["1"], **kinds)
