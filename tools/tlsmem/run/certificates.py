"""Certificates that are made when a run first needs them: stores of many roots, certificates of many names, and chains
that are padded."""

import importlib.util
from functools import cache
from pathlib import Path
from types import ModuleType

from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.config.certificates import is_padded
from tlsmem.config.definitions import Suite
from tlsmem.config.run import Run

MAKERS = ROOT / "memtest/certs"
MADE = ROOT / "build/certs"


def provide(run: Run, suite: Suite) -> None:
    """Make the directory that the run reads, where it is one to make. Raises UserError where that cannot be."""
    if run.scenario == "contexts" and suite.certs != "none":
        make(run.suite, suite.certs)
    elif is_padded(suite.certs):
        make_padded(suite.certs)


@cache
def make(suite: str, certs: str) -> None:
    """Once for each suite; what is there from another time stays."""
    maker = load("make_many")
    if certs != maker.KIND:
        raise UserError(f"suite {suite}: the scenario contexts needs certificates {maker.KIND}, and not {certs}")
    call(maker, MADE / certs)


@cache
def provide_names() -> Path:
    """Return the directory with certificates of many names, NNNNN/chain.pem and key.pem, which is made if need be.
    Raises UserError where that cannot be."""
    maker = load("make_many")
    call(maker, MADE / maker.KIND)
    return MADE / str(maker.KIND) / "names"


@cache
def make_padded(certs: str) -> None:
    """The same of chains that are padded."""
    call(load("make_padded"), MADE / certs)


def call(maker: ModuleType, out: object) -> None:
    """Make the directory. Raises UserError where that cannot be."""
    try:
        maker.make(out)
    except (OSError, ValueError) as error:
        raise UserError(f"memtest/certs/{maker.__name__}.py: {error}") from None


def load(name: str) -> ModuleType:
    """Return a script of memtest/certs as a module."""
    spec = importlib.util.spec_from_file_location(name, MAKERS / f"{name}.py")
    assert spec and spec.loader
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    return maker
