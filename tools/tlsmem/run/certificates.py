"""Certificates that are made when a run first needs them: stores of many roots, and certificates of many names."""

import importlib.util
import sys
from functools import cache

from tlsmem.base.paths import ROOT
from tlsmem.config.definitions import Suite
from tlsmem.config.run import Run

MAKER = ROOT / "memtest/certs/make_many.py"


def provide(run: Run, suite: Suite) -> None:
    """Make the directory that the scenario `contexts` reads. Exits with a sentence where that cannot be."""
    if run.scenario == "contexts" and suite.certs != "none":
        make(run.suite, suite.certs)


@cache
def make(suite: str, certs: str) -> None:
    """Once for each suite; what is there from another time stays."""
    spec = importlib.util.spec_from_file_location("make_many", MAKER)
    assert spec and spec.loader
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    if certs != maker.KIND:
        sys.exit(f"memtest: suite {suite}: the scenario contexts needs certificates {maker.KIND}, and not {certs}")
    try:
        maker.make(ROOT / "build/certs" / certs)
    except (OSError, ValueError) as error:
        sys.exit(f"memtest: {MAKER.relative_to(ROOT)}: {error}")
