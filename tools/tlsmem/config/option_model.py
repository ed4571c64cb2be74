"""What an option is, and the targets of make and the commands that take options. Standard library only."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tlsmem.config.option_kinds import Kind

TIME_MULTIPLIER = "BENCH_MULTIPLIER"  # beside MEMTEST_CACHE all that may come from the environment


class Words(str):
    """A default that is described: who takes the option works it out."""


@dataclass(frozen=True)
class CampaignDefault:
    """The default is what a table of memtest/campaigns.toml has under a key, or else `otherwise`."""

    campaign: str
    key: str
    otherwise: str = ""


Default = str | CampaignDefault | None  # None: there is none, and nothing to say; a str may be Words
REQUIRED = Words("none: it is required")


@dataclass(frozen=True)
class Option:
    """One option. Its `name` is a variable of make (N), or of commands only a flag (--list) or an argument (recording).

    The same name may stand in several entries, whose meanings differ, but only once for any target or command."""

    name: str
    help: str
    kind: Kind = field(default_factory=Kind)
    goals: Mapping[str, Default] = field(default_factory=dict)  # targets of make, each with its default
    commands: Mapping[str, Default] = field(default_factory=dict)  # beside those that such a target calls: see GOALS
    example: str = ""
    # Of parsers
    flags: tuple[str, ...] = ()  # where they are not made of the name
    metavar: str | tuple[str, ...] | None = None
    repeat: bool = False  # may be given several times
    required: bool = False
    nargs: str | int | None = None
    const: object = None  # the value where only the flag stands
    dest: str | None = None
    group: str = ""  # heading in --help
    exclusive: str = ""  # options of a command with the same word here exclude each other

    @property
    def is_variable(self) -> bool:
        return self.name.isupper()

    @property
    def is_positional(self) -> bool:
        return not self.is_variable and not self.name.startswith("-")

    @property
    def option_strings(self) -> tuple[str, ...]:
        """As on the command line of a command; none where only make and the environment say it."""
        if self.name == TIME_MULTIPLIER:
            return ()
        return self.flags or (f"--{self.name.lower()}" if self.is_variable else self.name,)


# Targets of make with options, and the command that takes these as flags; of several commands none.
GOALS: dict[str, str | None] = {
    "mem": "measure",
    "throughput": "measure",
    "handshake": "measure",
    "threads": "measure",
    "measure": "measure",
    "compare": "compare_builds",
    "compare-versions": "compare_versions",
    "report": "report",
    "stacks": "list_stacks",
    "check": None,
    "check-stacks": None,
    "bench": "dev/bench_meter",
    "bench-attribution": "dev/bench_attribution",
    "bench-loop": "dev/bench_loop",
    "selfcheck": "dev/selfcheck",
    "profile": "profile_heap",
    "prove": None,
    "axes": "measure",
    "c1m": "c1m",
    "live": "live",
}
ALL_GOALS = "all"
TIMED = ("throughput", "handshake", "threads", "measure")
BENCHES = ("bench", "bench-attribution")
CHECKS = ("check", "check-stacks")  # campaigns of the same names have their stacks
PLANS = tuple(f"plan {answer}" for answer in ("memory", "fit", "storm", "fleet", "haproxy", "check"))
LOADED, CROWDED = PLANS[:2], PLANS[2:4]
# These draw one picture of one recording, and share its options: the recording, -o, --campaign, --stack and --roles.
PLOTS = ("plot_mem", "plot_releases", "plot_stacks")


def each(*names: str, default: Default = None) -> dict[str, Default]:
    """The same default for all of them."""
    return dict.fromkeys(names, default)


def mem_default(key: str, otherwise: str = "") -> CampaignDefault:
    return CampaignDefault("mem", key, otherwise)
