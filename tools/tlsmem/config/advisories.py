"""The register of advisories, memtest/advisories.toml: what a peer can make a library hold, and in which releases."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from tlsmem.base.nearest import suggest_nearest
from tlsmem.config import definitions
from tlsmem.config.campaigns import Definition
from tlsmem.config.stall_points import stall_points
from tlsmem.config.toml_tables import DEFINITIONS

STATES = ("before", "after", "beside")  # the correction; stacks that the advisory is not of


def check_point(point: str) -> str:
    """Return the point. Raises ValueError with half a sentence where the scenario stall has none of this name."""
    if point not in stall_points():
        raise ValueError(f"unknown point {point}{suggest_nearest(point, stall_points())}")
    return point


def check_suite(suite: str) -> str:
    """Return the suite. Raises ValueError with half a sentence where there is none of this name."""
    if suite not in definitions.suites():
        raise ValueError(definitions.describe_unknown_suite(suite))
    return suite


def check_stack(stack: str) -> str:
    """Return the stack. Raises ValueError with half a sentence where there is none of this name."""
    known = definitions.stacks()
    if stack not in known:
        raise ValueError(f"memtest/stacks.toml has no stack {stack}{suggest_nearest(stack, known) or ''}")
    return stack


Stacks = list[Annotated[str, AfterValidator(check_stack)]]


class Place(Definition):
    """Where a peer stops, in a suite."""

    point: Annotated[str, AfterValidator(check_point)]
    suite: Annotated[str, AfterValidator(check_suite)]


class Advisory(Definition):
    """A table of advisories.toml, whose head explains the keys."""

    library: str = Field(min_length=1)
    sends: str = Field(min_length=1)
    affects: str = Field(min_length=1)
    says: str = Field(min_length=1)
    reason: str | None = None
    point: Annotated[str, AfterValidator(check_point)] | None = None
    suite: Annotated[str, AfterValidator(check_suite)] | None = None
    ordinary: Place | None = None
    before: Stacks = Field(default=[])
    after: Stacks = Field(default=[])
    beside: Stacks = Field(default=[])
    lacking: dict[str, str] = Field(default={})

    @model_validator(mode="after")
    def check_place(self) -> Self:
        """A row is measured at a point in a suite, before and after; or it says why it is not."""
        if self.reason:
            extra = [key for key in ("point", "suite", *STATES) if getattr(self, key)]
            if extra:
                raise ValueError(f"{extra[0]}: what is not measured has none; leave out it or reason")
            return self
        for key in ("point", "suite", "before", "after"):
            if not getattr(self, key):
                raise ValueError(f"{key} is missing; say where it is measured, or give reason")
        return self

    @property
    def place(self) -> Place | None:
        """Where it is measured; None where it is not."""
        return Place(point=self.point, suite=self.suite) if self.point and self.suite else None

    def stacks(self) -> list[tuple[str, str]]:
        """Return all stacks of the row, each with its state."""
        return [(state, stack) for state in STATES for stack in getattr(self, state)]


def campaign_of(advisory: Advisory) -> str | None:
    """Return the campaign that measures an advisory: the first of the scenario with its releases, suite and point."""
    for name, one in definitions.campaigns().items():
        if one.scenario != "stall" or advisory.suite not in one.suites or not {*advisory.before} <= {*one.stacks}:
            continue
        if any(advisory.point in settings.get("point", []) for settings in one.settings):
            return name
    return None


def advisories() -> dict[str, Advisory]:
    """Return the advisories by identifier; raises UserError when the file is wrong."""
    return definitions.read(DEFINITIONS / "advisories.toml", Advisory.model_validate)
