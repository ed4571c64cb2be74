"""What sessions hold of their peers' certificates: mutual authentication beside servers alone, and chains of several
lengths. Sizes are bytes per session, from runs with a process for each role."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal, NamedTuple

from tlsmem.config import definitions
from tlsmem.config.certificates import KINDS, chain_sizes, has_many_clients, key_kind
from tlsmem.config.suite_variants import DROP_PEER_CHAIN
from tlsmem.schema.harness_output import Window
from tlsmem.schema.roles import Role
from tlsmem.stats import session_cost
from tlsmem.stats.missing import NOT_RECORDED, Missing, find_missing, keep_present, map_present, without_suite
from tlsmem.stats.rss_line import fit_rss
from tlsmem.stats.runtime_heap import LiveFigure, RuntimeFigure, heap_of_role
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting, is_same_stack_pair
from tlsmem.store.record import Record

ESTABLISHED, USED, CLOSED = "established", "reply", "closed"  # phases
MAIN_KEY = KINDS["rsa-2048"]
LONGEST = 4  # intermediates
RSS_WINDOW = 100  # pairs in the handshake at a time: all at once leave so much free memory that chains fit into it
Amount = Fraction | Missing
Clients = Literal["same", "each"]  # have one certificate, or one each


class Configuration(NamedTuple):
    """What is equal for the suites that a row compares."""

    protocol: str
    cipher: str
    group: str
    key: str  # its kind
    options: str


class Suite(NamedTuple):
    """What these suites differ in."""

    auth: str
    intermediates: int  # that each end sends
    clients: Clients | None = None  # None: of certificates that are not made for many clients


Suites = dict[Configuration, dict[Suite, Setting]]


@dataclass(frozen=True)
class ChainRow:
    """A stack in one configuration."""

    stack: str
    configuration: Configuration
    selection: Selection = field(compare=False)
    suites: Suites = field(compare=False)

    def series(self, role: Role, suite: Suite, window: Window = "all") -> Series | Missing:
        """Return the runs of a suite as the process of a role saw them; Missing where none is measured."""
        asked = self.configuration
        if suite.auth == "server" and asked.options == DROP_PEER_CHAIN:  # which is of client certificates alone
            asked = asked._replace(options="default")
        setting = self.suites.get(asked, {}).get(suite)
        series = setting and self.selection.series(self.stack, replace(setting, window=window), role)
        if not series or not series.records:
            return Missing(NOT_RECORDED)
        measured = any(one.status == "measured" for one in series.records)
        return series if measured else Missing(series.reason(series.records[0].meter))

    def live(self, role: Role, suite: Suite, phase: str = ESTABLISHED) -> Amount:
        """Return the live heap of a session at the end of a phase."""
        figure = map_present(lambda series: heap_of_role(series, role).live(phase), self.series(role, suite))
        return map_present(exact, figure)

    def peak(self, role: Role, suite: Suite) -> Amount:
        """Return the live heap of a session at its peak."""
        figure = map_present(lambda series: heap_of_role(series, role).peak, self.series(role, suite))
        return map_present(exact, figure)

    def rss(self, suite: Suite) -> Amount:
        """Return the slope of a server's RSS whose sessions have sent and received, with few handshakes at a time."""
        line = map_present(lambda series: fit_rss(series, USED), self.series("server", suite, RSS_WINDOW))
        return map_present(lambda line: Fraction(line.slope), line)

    @property
    def server_only(self) -> Amount:
        """The live heap of an established server session whose client does not authenticate."""
        return self.live("server", ALONE)

    def added(self, phase: str = ESTABLISHED) -> Amount:
        """Return what a client's certificate adds to the live heap of a server session."""
        return self.live("server", MUTUAL, phase) - self.live("server", ALONE, phase)

    @property
    def peak_added(self) -> Amount:
        """The same at the peak."""
        return self.peak("server", MUTUAL) - self.peak("server", ALONE)

    @property
    def rss_added(self) -> Amount:
        """What it adds to the RSS of a server whose sessions have sent and received, per session."""
        return self.rss(MUTUAL) - self.rss(ALONE)

    @property
    def kept(self) -> Amount:
        """What a server keeps of a session that is closed, beyond what it keeps of one whose client had no certificate.

        Go's runtime keeps the record of each goroutine that has ended."""
        return self.live("server", MUTUAL, CLOSED) - self.live("server", ALONE, CLOSED)

    @property
    def per_client_intermediate(self) -> Amount:
        """What a server session holds for each intermediate of its client's, from none to four of them."""
        return self.per_intermediate("server", "mutual")

    @property
    def per_server_intermediate(self) -> Amount:
        """What a client session holds for each intermediate of its server's."""
        return self.per_intermediate("client", "server")

    def per_intermediate(self, role: Role, auth: str) -> Amount:
        """Return the slope of a role's live heap over intermediates."""
        return (self.live(role, Suite(auth, LONGEST)) - self.live(role, Suite(auth, 0))) / LONGEST

    @property
    def chain_bytes(self) -> int:
        """The length of what a client sends: its certificate and an intermediate, in DER."""
        return sum(chain_sizes(self.certs(MUTUAL), "client"))

    @property
    def intermediate_bytes(self) -> Amount:
        """The mean length of the intermediates of the longest chain of a client."""
        suite = Suite("mutual", LONGEST)
        if suite not in self.suites[self.configuration]:
            return Missing(NOT_RECORDED)
        sizes = chain_sizes(self.certs(suite), "client")[1:]
        return Fraction(sum(sizes), len(sizes))

    def certs(self, suite: Suite) -> str:
        """Return the name of a suite's directory of certificates."""
        certs: str = definitions.suites()[self.suites[self.configuration][suite].suite].certs
        return certs

    @property
    def unshared(self) -> Amount:
        """What a server session holds more where each client has a certificate of its own: what equal ones share."""
        return self.live("server", EACH) - self.live("server", SAME)

    @property
    def remembered(self) -> Amount:
        """What a server process has live, for each client with its own certificate that has come and gone, before any
        session counts: nothing, or it grows with its clients."""
        found = [self.series("server", suite) for suite in (EACH, SAME)]
        if (why := find_missing(*found)) is not None:
            return why
        pairs = [one.heap_pair() for one in keep_present(found)]
        if not all(pairs):
            return Missing("the heap meter does not see it")
        costs = [session_cost.live_cost(*pair, "server", "contexts").bytes for pair in pairs if pair]
        each, same = (Fraction(cost.amount, cost.sessions) for cost in costs)
        return each - same

    def run(self, meter: Literal["sites"], suite: Suite) -> Record | Missing:
        """Return a run of a suite under a meter."""
        return map_present(
            lambda series: next(reversed(series.runs(meter)), Missing(f"no {meter} run")), self.series("server", suite)
        )


ALONE, MUTUAL = Suite("server", 1), Suite("mutual", 1)
SAME, EACH = Suite("mutual", 1, "same"), Suite("mutual", 1, "each")


def exact(figure: LiveFigure) -> Fraction:
    """Return the bytes of a figure as a fraction."""
    if isinstance(figure, RuntimeFigure):
        return figure.slope
    return Fraction(figure.bytes.amount, figure.bytes.sessions)


def is_comparable(setting: Setting) -> bool:
    """Return whether runs in this setting stand in a row: each role in a process, as far as one line can fit them."""
    usual = ("system", "split", "lab", "all", "short")
    found = (setting.allocator, setting.roles, setting.env, setting.cpu, setting.data)
    return found == usual and setting.window in ("all", RSS_WINDOW) and is_same_stack_pair(setting)


def describe_suite(name: str) -> tuple[Configuration, Suite] | None:
    """Return the configuration and the suite of this name; None with tickets, with several groups, with keys of
    several kinds, and for a suite that memtest/suites.toml has no more."""
    suites = definitions.suites()
    if name not in suites:
        return None
    found = suites[name]
    key = key_kind(found.certs)
    if not key or (found.tickets, found.store, found.client_groups) != (0, "off", None):
        return None
    intermediates = len(chain_sizes(found.certs, "server")) - 1
    clients = found.client_certs if has_many_clients(found.certs) else None
    configuration = Configuration(found.protocol, found.cipher, found.group, key, found.options)
    return configuration, Suite(found.auth, intermediates, clients)


def find_suites(selection: Selection) -> Suites:
    """Return the settings that can be compared, by configuration and suite."""
    found: Suites = {}
    for setting in selection.settings:
        if setting.window == "all" and (described := describe_suite(setting.suite)):
            found.setdefault(described[0], {})[described[1]] = setting
    return found


def find_chains(selection: Selection, suite: Suite) -> list[ChainRow]:
    """Return a row for each stack in each configuration in which this suite was run, measured or not."""
    selection = selection.where(is_comparable)
    suites = find_suites(selection)
    rows = (
        ChainRow(stack, one, selection, suites)
        for one, there in suites.items()
        if suite in there
        for stack in selection.stacks
    )
    return [row for row in rows if row.selection.series(row.stack, suites[row.configuration][suite], "server").records]


def describe_refusals(rows: Iterable[ChainRow], value: Callable[[ChainRow], Amount]) -> list[str]:
    """Return a sentence for each stack and reason: in which protocols and options it has no value, and why."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        figure = without_suite(value(row))
        if isinstance(figure, Missing):
            found.setdefault((row.stack, figure.reason), []).append(describe_configuration(row.configuration))
    return [f"{stack}: {', '.join(where)}: {reason}" for (stack, reason), where in found.items()]


def describe_configuration(configuration: Configuration) -> str:
    """Return protocol and kind of key, and the option where it is not the default."""
    option = "" if configuration.options == "default" else f" with {configuration.options}"
    key = "" if configuration.key == MAIN_KEY else f" {configuration.key}"
    return f"{configuration.protocol}{key}{option}"
