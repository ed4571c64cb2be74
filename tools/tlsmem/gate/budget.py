"""BUDGET.toml: a head, and a table [[budget]] for each limit; read, checked, and spread out into one budget a place."""

import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from tlsmem.base import nearest
from tlsmem.base.errors import Usage
from tlsmem.base.nearest import suggest_nearest
from tlsmem.compare.figure_places import Place
from tlsmem.config import toml_tables
from tlsmem.config.advisories import advisories
from tlsmem.config.campaigns import Definition
from tlsmem.config.scenarios import combine_settings, list_texts
from tlsmem.gate import budget_meters, limits, scenario_meters
from tlsmem.gate.limits import Limit
from tlsmem.gate.scenario_meters import SETTING_KEYS

SESSIONS = 2000
OWN_KEYS = "keys of a scenario"
ADVISORY = "advisory"  # in place of a point and a suite
Names = Annotated[list[str], BeforeValidator(lambda given: [given] if isinstance(given, str) else given)]


def place_advisory(given: dict[str, object]) -> dict[str, object]:
    """Return the table with the advisory's point and suite in its place. Raises ValueError that begins with a key."""
    name, known = given[ADVISORY], advisories()
    for key in "point", "suite":
        if key in given:
            raise ValueError(f"{key}: {ADVISORY} says it; leave out one of them")
    if name not in known:
        near = suggest_nearest(str(name), known) or f"; there are: {', '.join(known)}"
        raise ValueError(f"{ADVISORY}: memtest/advisories.toml has no {name}{near}")
    place = known[name].place
    if place is None:
        raise ValueError(f"{ADVISORY}: {name} is not measured: {known[name].reason}")
    rest = {key: value for key, value in given.items() if key != ADVISORY}
    return rest | {"point": place.point, "suite": place.suite}


class Entry(Definition):
    """A table [[budget]]; one limit for all that its lists name."""

    name: str | None = Field(default=None, min_length=1)  # for people and a CI's history
    stack: str = Field(min_length=1)
    suite: Names = Field(min_length=1)
    role: Names = Field(default=[])
    phase: Names = Field(default=[])
    meter: str
    limit: str
    against: str | None = Field(default=None, min_length=1)  # what the baseline calls the stack
    settings: dict[str, Names] = Field(default={}, alias="keys of a scenario")  # no key of a file

    @model_validator(mode="before")
    @classmethod
    def gather_settings(cls, given: object) -> object:
        """The keys of scenarios, such as `point`, are kept together; an advisory stands for a point and a suite."""
        if isinstance(given, dict) and ADVISORY in given:
            given = place_advisory(given)
        if not isinstance(given, dict) or not (own := {key: given[key] for key in SETTING_KEYS if key in given}):
            return given
        return {key: value for key, value in given.items() if key not in own} | {OWN_KEYS: list_texts(own)}

    @field_validator("meter")
    @classmethod
    def known(cls, meter: str) -> str:
        if meter not in limits.UNITS_BY_METER:
            near = (
                nearest.suggest_nearest(meter, limits.UNITS_BY_METER)
                or f"; there are: {', '.join(limits.UNITS_BY_METER)}"
            )
            raise ValueError(f"no meter {meter}{near}")
        return meter

    @model_validator(mode="after")
    def together(self) -> Self:
        """What one key says of another."""
        scenario_meters.check_settings(self.meter, self.settings)
        self.places()
        suites = toml_tables.read_tables("suites")
        for suite in self.suite:
            budget_meters.check_suite(suite, self.meter, suites)
        try:
            limit = limits.parse_limit(self.limit, self.meter)
        except ValueError as error:
            raise ValueError(f"limit: {error}") from None
        budget_meters.check_zero(limit, self.limit, self.meter, budget_meters.choose_phases(self.phase, self.meter))
        return self

    def places(self) -> list[Place]:
        """Peak RSS without its N."""
        return [
            Place(suite, role, phase, self.meter, settings=settings)
            for suite in dict.fromkeys(self.suite)
            for settings in combine_settings(scenario_meters.scenario(self.meter), self.settings)
            for role in budget_meters.choose_roles(self.role, self.meter, settings)
            for phase in budget_meters.choose_phases(self.phase, self.meter)
        ]


ENTRY_KEYS = (*(key for key in Entry.model_fields if key != "settings"), *SETTING_KEYS, ADVISORY)


class Budgets(Definition):
    """The whole file."""

    baseline: str | None = Field(default=None, min_length=1)  # a recording, from where the file is
    sessions: int = Field(default=SESSIONS, ge=20, le=10**6, multiple_of=2)  # the largest N of RSS
    repeats: int | None = Field(default=None, ge=1, le=1000)
    budget: list[Entry] = Field(min_length=1)


class Budget(NamedTuple):
    """One limit at one place, of the table of this number, from 1 on. `against`: the stack's name in the baseline.

    `title` is the table's name, or its stack as the file has it: the same from one commit to the next."""

    number: int
    stack: str
    place: Place
    limit: Limit
    against: str | None = None
    title: str = ""

    def __str__(self) -> str:
        return f"{self.stack}, {self.place}"


class BudgetError(Usage):
    """A sentence about a budget that cannot be."""


def load_budgets(file: Path) -> Budgets:
    """Raises BudgetError with a sentence that names file, table and key."""
    try:
        return Budgets.model_validate(tomllib.loads(file.read_text(encoding="utf-8")))
    except ValidationError as error:
        raise BudgetError(f"{file}: {describe_validation_error(error)}") from None
    except OSError as error:
        raise BudgetError(f"{file}: cannot read the budgets: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BudgetError(f"{file}: is no TOML: it is not text in UTF-8") from None
    except RecursionError:
        raise BudgetError(f"{file}: is no TOML that can be read: its values are nested too deep") from None
    except ValueError as error:
        raise BudgetError(f"{file}: is no TOML: {error}") from None


IN_WORDS = {  # what pydantic says of a value, for people who write TOML
    "string_too_short": "it is empty; name one",
    "string_type": "it must be a text in quotes",
    "int_type": "it must be a whole number",
}


def describe_validation_error(error: ValidationError) -> str:
    """The first thing that is wrong: an unknown key before others, since it explains that another is missing."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    table, key = located(first["loc"])
    fields = [*ENTRY_KEYS] if table else [*Budgets.model_fields]
    what = IN_WORDS.get(first["type"], first["msg"].removeprefix("Value error, "))
    if first["type"] == "extra_forbidden":
        what = "no such key" + (nearest.suggest_nearest(key, fields) or f"; there are: {', '.join(fields)}")
    elif first["type"] == "missing" or first["loc"] == ("budget",):
        what = "it is missing" if first["type"] in ("missing", "too_short") else f"it must be tables [[budget]]: {what}"
    return ": ".join(filter(None, (table, key, what)))


def located(place: Sequence[int | str]) -> tuple[str, str]:
    """The table of an entry, and the key; of the head no table."""
    if len(place) > 1 and place[0] == "budget":
        keys = [str(key) for key in place[2:] if key != OWN_KEYS]
        return entry_name(int(place[1]) + 1), keys[0] if keys else ""
    return "", str(place[0]) if place else ""


def entry_name(number: int) -> str:
    return f"[[budget]] {number}"


def expand_entries(given: Budgets) -> Iterable[Budget]:
    """One a place."""
    for number, one in enumerate(given.budget, start=1):
        for place in one.places():
            at = place._replace(sessions=given.sessions) if one.meter == "peak-rss" else place
            limit = limits.parse_limit(one.limit, one.meter)
            yield Budget(number, one.stack, at, limit, one.against, one.name or one.stack)
