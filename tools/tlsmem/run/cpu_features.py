"""Which features of the CPU a run may use: the mask of its libraries, as variables of its process."""

from tlsmem.config import definitions
from tlsmem.config.run import EVERY_FEATURE, Run
from tlsmem.schema.harness_output import Cpu
from tlsmem.schema.run_origins import CpuFeatures


def features(run: Run) -> CpuFeatures | None:
    """None: all that there are. Without variables: a stack of the run has no such mask, as `unmasked` says."""
    if run.cpu == EVERY_FEATURE:
        return None
    masks = [mask(stack, run.cpu) for stack in run.stacks]
    there = [one for one in masks if one] if all(masks) else []
    variables = {name: value for one in there for name, value in one.variables.items()}
    hides = dict.fromkeys(flag for one in there for flag in one.hides)
    return CpuFeatures(name=run.cpu, variables=variables, hides=[*hides])


def mask(stack: str, cpu: Cpu) -> definitions.HiddenFeatures | None:
    known = definitions.stacks()[stack].mask
    return definitions.cpus()[known].root.get(cpu) if known else None


def missing_mask_reason(run: Run) -> str | None:
    """Why it cannot be run so."""
    if run.cpu == EVERY_FEATURE:
        return None
    for stack in run.stacks:
        if not definitions.stacks()[stack].mask:
            return f"CPU={run.cpu}: {stack} has no mask of its own for features of the CPU"
        if not mask(stack, run.cpu):
            return f"CPU={run.cpu}: the mask of {stack} has nothing for it"
    return None
