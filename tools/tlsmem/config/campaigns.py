"""What a campaign may ask for, by its scenario."""

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PlainValidator,
    field_validator,
    model_validator,
)

from tlsmem.config.scenarios import LIKE_MEMORY, check_settings, list_texts
from tlsmem.config.suite_variants import is_ticket_count, name_variant
from tlsmem.schema.harness_output import TIMED_SCENARIOS, Cpu, Data, Env, Roles, Window


class Definition(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)


def check_pattern(text: str) -> str:
    """Return the text. Raises ValueError with half a sentence where it is no regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


Pattern = Annotated[str, AfterValidator(check_pattern)]


def fraction(text: str) -> str:
    try:
        value = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{text!r} is not a fraction such as 1/10") from None
    if not 0 < value <= 1:
        raise ValueError(f"{text!r} must be above 0 and at most 1")
    return text


def parse_ticket_choice(value: object) -> int | str:
    """A number, `library`, or `suite`: as the suite has it."""
    if value != "suite" and not is_ticket_count(value):
        raise ValueError("must be suite, library, or a number")
    return value


class AnyCampaign(Definition):
    """What is recorded, whatever the scenario."""

    stacks: list[str] = Field(min_length=1)
    suites: list[str] = Field(min_length=1)
    allocators: list[str] = Field(min_length=1)
    repeats: int = Field(default=1, ge=1, le=1000)
    cpus: list[Cpu] = Field(default=["all"], min_length=1)
    options: list[Literal["default", "low-memory", "drop-peer-chain"]] = Field(default=["default"], min_length=1)
    tickets: list[Annotated[int | str, PlainValidator(parse_ticket_choice)]] = Field(default=["suite"], min_length=1)
    built_only: bool = False  # stacks that are not built are left out, and said

    @property
    def is_timed(self) -> bool:
        """Whether it is of time, and not of memory."""
        return False

    @property
    def every_stack(self) -> list[str]:
        return list(dict.fromkeys(self.stacks))

    @property
    def configurations(self) -> list[str]:
        """The suites with each of the options and numbers of tickets, as variants."""
        tickets = [None if one == "suite" else one for one in self.tickets]
        return [name_variant(suite, one, some) for suite in self.suites for some in tickets for one in self.options]

    def restrict_to_stacks(self, wanted: Callable[[str], bool]) -> Self | None:
        """With those of its stacks; None when that is no campaign."""
        stacks = list(filter(wanted, self.stacks))
        return self.model_copy(update={"stacks": stacks}) if stacks else None


class Campaign(AnyCampaign):
    """Of memory; sessions are fractions of n."""

    scenario: Literal["memory", "stall", "churn", "contexts"]
    n: int = Field(ge=2, le=10**9, multiple_of=2)
    sessions: list[Annotated[str, AfterValidator(fraction)]] = Field(min_length=1)
    heap: NonNegativeInt | Literal["all"] = 2
    windows: list[Window] = Field(default=["all"], min_length=1)
    settings: list[dict[str, list[str]]] = [{}]  # the scenario's own keys, of each table all combinations of values
    roles: list[Roles] = Field(default=["together"], min_length=1)
    peers: list[str] = []  # clients: every stack is run as server against each; none: each stack with itself
    envs: list[Env] = Field(default=["lab"], min_length=1)
    data: Data = "short"  # that sessions send and receive
    rss: bool = True  # false: runs under the heap meter only
    sites: Annotated[str, AfterValidator(fraction)] | None = None  # of n: where one sites run is made

    @property
    def every_stack(self) -> list[str]:
        return list(dict.fromkeys([*self.stacks, *self.peers]))

    def restrict_to_stacks(self, wanted: Callable[[str], bool]) -> Self | None:
        peers = list(filter(wanted, self.peers))
        kept = super().restrict_to_stacks(wanted)
        return kept.model_copy(update={"peers": peers}) if kept and bool(peers) == bool(self.peers) else None

    @field_validator("settings", mode="before")
    @classmethod
    def list_settings(cls, given: object) -> object:
        """One table may stand without a list."""
        tables = [given] if isinstance(given, dict) else given
        if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
            raise ValueError(
                'must be a table such as { pattern = ["waves"], waves = ["20"] }, or a list of such tables'
            )
        return list(map(list_texts, tables))

    @model_validator(mode="after")
    def check_scenario(self) -> Self:
        for settings in self.settings:
            check_settings(self.scenario, settings)
        given = (self.roles, self.windows, self.data)
        if self.scenario not in LIKE_MEMORY and given != (["together"], ["all"], "short"):
            raise ValueError(f"roles, windows and data are of the scenarios memory and churn, not of {self.scenario}")
        if self.scenario != "memory" and (self.peers or self.envs != ["lab"]):
            raise ValueError(f"peers and envs are of the scenario memory, not of {self.scenario}")
        if self.scenario == "churn" and any(roles.startswith("keep-") for roles in self.roles):
            raise ValueError("roles: the scenario churn keeps both roles: together or split")
        return self

    @model_validator(mode="after")
    def check_peers(self) -> Self:
        if self.peers and self.roles != ["split"]:
            raise ValueError('roles must be ["split"]; peers need it')
        return self


TimedScenario = Literal["throughput", "handshake"]


class TimedCampaign(AnyCampaign):
    """Of time: each run alone on the machine, repeats interleaved over stacks."""

    scenario: TimedScenario
    sizes: list[Annotated[int, Field(ge=1, le=2**30)]] = []  # bytes of a write
    threads: list[Annotated[int, Field(ge=1, le=256)]] | Literal["cpus"] = Field(default=[1], min_length=1)
    instructions: list[str] = []  # suites at which they are counted too, once for each stack

    @property
    def is_timed(self) -> bool:
        return True

    @model_validator(mode="after")
    def check_sizes(self) -> Self:
        if (self.scenario == "throughput") != bool(self.sizes):
            raise ValueError("the scenario throughput needs sizes, and no other scenario takes them")
        return self


def parse_campaign(entry: object) -> Campaign | TimedCampaign:
    """A table of campaigns.toml."""
    timed = isinstance(entry, dict) and entry.get("scenario") in TIMED_SCENARIOS
    return (TimedCampaign if timed else Campaign).model_validate(entry)
