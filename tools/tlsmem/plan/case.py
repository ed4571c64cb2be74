"""A stack of a plan: its memory model, its prices at rest and in use, and the sentences that every answer has."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from tlsmem.config.choices import PLAN_SUITE
from tlsmem.config.libraries import stack_title
from tlsmem.config.recording_command import advise_recording
from tlsmem.config.servers import servers
from tlsmem.config.suite_title import suite_title
from tlsmem.config.suite_variants import LIBRARY, LOW_MEMORY
from tlsmem.plan.assumptions import assumed_kernel_bytes
from tlsmem.plan.capacity import ContextCost, Demand, Price
from tlsmem.plan.configuration import describe_recording_of_handshakes
from tlsmem.plan.configuration_costs import ConfigurationCosts
from tlsmem.plan.connection_model import BY_RATIO, LIVE, MEASURED, SYSTEM, ConnectionModel, MachineIdentity
from tlsmem.plan.live_check import LiveCheck
from tlsmem.plan.live_model import LiveFit, advise_handshakes, identify_machine
from tlsmem.plan.server_memory import WINDOW, ServerMemory, has_garbage
from tlsmem.schema.live_records import FOLDER
from tlsmem.schema.recording_files import PLAIN, locate
from tlsmem.stats.missing import Missing
from tlsmem.store.recordings import display_name, find_live_recordings
from tlsmem.tables.table import Cell

ESTIMATE = "≈"
EXACT = 0.05  # a plan that was farther off at a recorded run is an estimate
QUIET = Demand()  # none in the handshake, nothing in flight
ALL_HANDSHAKING, ALL_IN_FLIGHT = Demand(handshaking=Fraction(1)), Demand(in_flight=Fraction(1))
ROLES = {"both": "proxy with TLS on both sides", "server": "server", "client": "client"}


class Case(NamedTuple):
    """A stack, what its connections cost, and where a full record in flight is an assumption."""

    model: ConnectionModel
    price: Price  # in the state of the plan
    record_note: str | None
    idle: Price | None = None  # at rest; None: not recorded
    active: Price | None = None  # in use; None: not recorded
    other_build: ConnectionModel | None = (
        None  # of the library, with its defaults; None: no such build, or not recorded
    )
    release_with_handshake: str | None = None  # the nearest stack with H, where the model has none; None: no such stack
    measured: ServerMemory | None = None  # of the server of the plan; None: without a server, or not recorded
    handshake_excess: int | None = (
        None  # bytes of RSS that the server keeps for a concurrent handshake beyond the model; None: not known
    )
    configured: ConfigurationCosts = ConfigurationCosts()  # of --certificates, --reloads and --workers
    live: LiveFit | None = None  # the live runs that everything is from; None: the harness
    checks: Sequence[LiveCheck] = ()  # of such plans with live runs of the server

    @property
    def name(self) -> Cell:
        """The stack's cell, with how its model was made unless it was measured."""
        model = self.model
        return Cell(model.stack, model.stack, None if model.how == MEASURED else f"{model.stack}: {model.how}")

    @property
    def title(self) -> str:
        """The stack as people write it."""
        return self.live.title if self.live and not self.live.run.stack else stack_title(self.model.stack)

    @property
    def machine(self) -> MachineIdentity:
        """The machine whose figures a connection has: where the server ran on the library of the plan, that of its live
        runs, whose slope it then is."""
        measured = self.measured
        if measured and measured.is_built and measured.stack == self.model.stack:
            return identify_machine(measured.run)
        return self.model.machine

    @property
    def mark(self) -> str:
        """What stands before an estimate."""
        is_rough = any(abs(one.error) > EXACT for one in self.checks)
        return ESTIMATE if is_rough or self.is_of_another else estimate_mark(self.model)

    @property
    def is_of_another(self) -> bool:
        """Whether the server of the plan was measured on another library, or on another release of it, alone."""
        return bool(self.measured and self.measured.stack != self.model.stack)

    @property
    def is_at_rest(self) -> bool:
        return self.model.configuration.is_at_rest

    @property
    def state(self) -> str:
        """The word for the connections of the plan."""
        return "idle" if self.is_at_rest else "active"

    @property
    def busiest(self) -> Demand | None:
        """What needs most memory when all connections do it at once; None where H is not recorded."""
        price = self.active
        if not price or self.model.handshake is None:
            return None
        if self.live and not self.live.is_handshake_measured and not self.live.handshake["in-use"]:
            return None
        return ALL_IN_FLIGHT if price.record > price.handshake else ALL_HANDSHAKING

    @property
    def setting(self) -> str:
        """Stack, role, suite, and how the library runs."""
        return self.describe_setting(self.role)

    def describe_setting(self, role: str) -> str:
        """The same of another role."""
        if self.live:
            known = self.model.configuration.server
            server = f" in {known.what}" if known and self.live.run.stack else ""
            return f"{self.title}{server}, {suite_title(self.model.suite)}, as its live runs were made"
        options = self.model.configuration.describe_options()
        return f"{self.title} {role}, {suite_title(self.model.suite)}, {options}"

    @property
    def cost_command(self) -> str:
        """The command that shows what a session of this stack in this suite costs."""
        if self.live:
            return f"tools/tls-memtest measure live {display_name(self.live.recording)} --server {self.live.name}"
        suite = "" if self.model.suite == PLAN_SUITE else f" --suite {self.model.suite}"
        low_memory = " --low-memory" * (self.model.configuration.options == LOW_MEMORY)
        return f"tools/tls-memtest cost {self.model.stack}{suite}{low_memory}"

    @property
    def role(self) -> str:
        """What the process is."""
        return ROLES["both" if self.price.backends else self.model.role]


def estimate_mark(model: ConnectionModel) -> str:
    """Return what stands before a figure of the model that is an estimate."""
    return ESTIMATE if model.how == BY_RATIO else ""


def extrapolation_note(model: ConnectionModel, connections: int) -> str | None:
    """Say that a plan lies beyond what was measured; None where it does not."""
    if connections <= model.widest:
        return None
    return f"extrapolated: {model.stack} was measured up to {model.widest:,} connections"


def describe_allocator(model: ConnectionModel) -> str:
    return "glibc malloc" if model.allocator == "system" else model.allocator


def describe_origin(cases: Sequence[Case]) -> str:
    """Return which recordings the figures are from, and how their runs were made."""
    live, others = ([case for case in cases if bool(case.live) is is_live] for is_live in (True, False))
    mixed = "; the recordings are of different machines" if len({case.machine for case in cases}) > 1 else ""
    measured = [case for case in others if case.model.how != BY_RATIO]
    allocator = f", {describe_allocator(measured[0].model)}" if measured else ""
    how = "".join(dict.fromkeys(map(describe_how, others)))
    sentences = [f"From {name_origins(others)}: a process per role{allocator}{mixed}.{how}"] if others else []
    if live:
        mixed = mixed * (not others)
        sentences.append(f"From live runs in {name_origins(live)}: RSS of all processes of the server{mixed}.")
    return " ".join(sentences)


def name_origins(cases: Sequence[Case]) -> str:
    """Return the recordings of the cases' models."""
    return ", ".join(dict.fromkeys(display_name(case.model.origin) for case in cases if case.model.origin))


def describe_how(case: Case) -> str:
    """Return a sentence that says how a model was made, after a space; nothing if it was measured."""
    model = case.model
    if model.how in (MEASURED, LIVE):
        return ""
    if model.how != BY_RATIO:
        return f" {case.title}: {model.how}."
    return (
        f" For {case.title}, the figures for {describe_allocator(model)} are estimates. For connections and "
        "handshakes: those measured under glibc malloc, times the ratio of peak RSS under the two allocators. For the "
        "process: glibc malloc's, plus the difference between the intercepts of peak RSS. Kernel memory is measured."
    )


def describe_tables(cases: Sequence[Case], role: str = "") -> str:
    """Return the caption that the tables of an answer begin with: origin, role, suite, configuration and state.

    The role is that of the cases, unless the process has another."""
    model = cases[0].model
    state = model.configuration.describe_state()
    if live := cases[0].live:
        used = "no data yet" if cases[0].is_at_rest else "idle after their requests"
        return f"{describe_origin(cases)} {live.title}, suite {model.suite}. Connections: {used}."
    options = dict.fromkeys(case.model.configuration.describe_options() for case in cases)
    tickets = "; the library's default number of tickets" if model.configuration.tickets == LIBRARY else ""
    of_server = "".join(f" {sentence}" for sentence in describe_server(cases))
    return (
        f"{describe_origin(cases)} A {role or cases[0].role}, suite {model.suite}, {'; '.join(options)}{tickets}. "
        f"Connections {state}.{describe_own(cases)}{of_server}"
    )


def describe_own(cases: Sequence[Case]) -> str:
    """Say what of the server's own memory is not in it, because nobody measured that."""
    server, measured = cases[0].model.configuration.server, cases[0].measured
    if not server or cases[0].live:
        return ""
    if not measured:
        name = find_measured_name(server.what)
        where = " on this library" if name else ""
        other = f"`--as {name}` without --stack has it on another library, or " if name else ""
        return (
            f" What {server.what} itself holds, in its process and for a connection, is not recorded{where} and not "
            f"included: {other}compare its RSS with and without connections."
        )
    has_backends = cases[0].price.backends or cases[0].model.role != "server"
    return f" What {server.what} holds for a backend connection beside TLS is not recorded." if has_backends else ""


def find_measured_name(what: str) -> str | None:
    """Return the name of a server that live runs measured, on whatever library; None where there are none of it."""
    names = (name for name, server in servers().items() if server.what == what)
    files = ((name, path / FOLDER / f"{name}{PLAIN}") for name in names for path in find_live_recordings())
    return next((name for name, file in files if locate(file).exists()), None)


def describe_server(cases: Sequence[Case]) -> list[str]:
    """Say where the server's own memory was measured, and that another allocator does not change it."""
    model = cases[0].model
    by_source = {case.measured.source: case.measured for case in cases if case.measured}
    lines = []
    for source, measured in by_source.items():
        table = f"; server's own includes {measured.table:,} B for its connection table" if measured.table else ""
        lines.append(f"Process and server's own: RSS of {source}{table}.")
    if lines and model.allocator != SYSTEM:
        lines[-1] += f" They are as measured with glibc malloc, not with {model.allocator}."
    lines += [line for measured in by_source.values() for line in describe_order(measured)]
    return [*lines, *dict.fromkeys(case.configured.source for case in cases if case.configured.source)]


def describe_order(measured: ServerMemory) -> Iterator[str]:
    """Say what the order of handshakes adds to a connection, where that is notable."""
    if measured.one_by_one:
        sizes = " and ".join(
            f"{size:,} B {'at rest' if state == 'at-rest' else 'in use'}" for state, size in measured.one_by_one.items()
        )
        yield (
            f"Server's own includes what one handshake at a time leaves for each connection beyond {WINDOW} at a time: "
            f"{sizes}."
        )


def describe_live(case: Case, several: bool) -> list[str]:
    """Say what a connection takes without TLS; nothing of a case of the harness, or where that was not measured."""
    fit = case.live
    if not fit:
        return []
    state = "at-rest" if case.is_at_rest else "in-use"
    plain, lines = fit.plain[state], []
    if not isinstance(plain, Missing):
        added = fit.growth[state].slope - plain
        name = f"{case.title}: w" if several else "W"
        hidden = (
            "garbage hides what TLS adds" if has_garbage(fit.series.runs) else "TLS adds nothing that can be measured"
        )
        what = f"TLS adds {added:,.0f} B" if added > 0 else hidden
        lines.append(f"{name}ithout TLS, a connection takes {plain:,.0f} B of RSS: {what}.")
    if not fit.is_handshake_measured and not fit.handshake[state]:
        lines.append(
            "The memory that concurrent handshakes leave is not recorded, so there is no worst case. To record it: "
            f"{advise_handshakes(fit.name)}"
        )
    elif not fit.is_handshake_measured:
        lines.append(
            f"A concurrent handshake: estimated from what {fit.series.window:,} at a time left in the process."
        )
    return lines


def describe_backends(cases: Sequence[Case]) -> list[str]:
    """Say how many backend connections a proxy has, and where the size of a context for them is from."""
    if cases[0].model.role == "both":
        return ["Assumed: one backend connection for each client connection; --backends N sets how many."]
    return [describe_context(case, case.price.backends.context) for case in cases if case.price.backends]


def describe_context(case: Case, context: ContextCost | None) -> str:
    """Say where the size of a backend context is from, or how it is recorded."""
    if context:
        allocator = "" if case.model.allocator == SYSTEM else f", with glibc malloc, not {case.model.allocator}"
        return f"A backend context of {case.title}: RSS of one more {context.source}{allocator}."
    advice = advise_recording("contexts", case.model.stack)
    return f"A backend context of {case.title}: not recorded and not included; {advice.sentence}"


def describe_limits(cases: Sequence[Case], connections: int) -> list[str]:
    """Return what the figures leave out, and how far they were measured."""
    left_out = "Not included: application memory, filled socket buffers (list: --details)."
    widest = min(case.model.widest for case in cases)
    beyond = f"Measured up to {widest:,} connections; beyond that, extrapolated."
    narrowest = max(case.model.narrowest for case in cases)
    below = f"Measured from {narrowest:,} connections on; with fewer, idle may come out above active."
    kernel = ["Kernel memory: measured on Linux 6.18; yours may differ (--kernel-bytes)."]
    is_ours = any(case.price.kernel == assumed_kernel_bytes(case.model.role) for case in cases)
    backends = describe_backends(cases)
    builds = [
        f"With another build of the library, {stack_title(other.stack)}, a connection takes "
        f"{estimate_mark(other)}{other.connection:,.0f} B of RSS ({other.stack}, library defaults)."
        for case in cases
        if (other := case.other_build)
    ]
    return [
        *builds,
        left_out + describe_own(cases),
        *backends,
        *(kernel if is_ours else []),
        *([beyond] if connections > widest else []),
        *([below] if connections < narrowest else []),
    ]


def describe_checks(case: Case) -> list[str]:
    """Say how far such plans were off at the live runs of the server, in the state of the plan; nothing where it has
    none on this library, or they had other options."""
    measured, server = case.measured, case.model.configuration.server
    if case.is_of_another and measured and server:
        return [f"Not checked: {server.what} was not measured on {case.title}; what it holds is from {measured.title}."]
    errors = sorted(one.error for one in case.checks)
    if not errors:
        return []
    count = len({(one.recording, one.connections, one.window) for one in case.checks})
    source = case.live.title if case.live else measured.title if measured else ""
    table = " and its connection table" if measured and measured.entries else ""
    state = "at rest" if case.is_at_rest else "in use"
    lines = [
        f"How exact: for {count} recorded run{'s' * (count > 1)} of {source}, a plan made without the run, with its "
        f"concurrent handshakes{table}, was {describe_range(errors[0], errors[-1])} the measured RSS {state}."
    ]
    if measured and measured.one_by_one.get("at-rest" if case.is_at_rest else "in-use"):
        lines.append("Where 100 handshakes came at a time, that is without what one at a time leaves.")
    runs = case.live.series.runs if case.live else measured.runs if measured else ()
    if max(map(abs, errors)) > EXACT and has_garbage(runs):
        lines.append("Its runtime collects garbage: RSS can depend on when it last did.")
    return [" ".join(lines)]


def describe_range(least: float, most: float) -> str:
    """Return how far off plans are: `1.5 % below to 2.0 % above`."""
    least, most = round(least, 3), round(most, 3)
    low, high = abs(least), abs(most)
    if low == high == 0:
        return "less than 0.1 % off"
    if least < 0 < most:
        return f"{low:.1%} below to {high:.1%} above".replace("%", " %")
    side = "below" if most <= 0 else "above"
    ends = dict.fromkeys(f"{one:.1%}".rstrip("%") for one in sorted((low, high)))
    return f"{' to '.join(ends)} % {side}"


def describe_missing(cases: Sequence[Case]) -> list[str]:
    """Return how what a plan lacks is recorded."""
    return [
        *dict.fromkeys(sentence for case in cases for sentence in case.configured.missing),
        *describe_missing_handshakes(cases),
    ]


def describe_missing_handshakes(cases: Sequence[Case]) -> list[str]:
    """Return how H is recorded, where a plan lacks it; of live runs, describe_live() says it."""
    return [
        f"What a handshake of {stack_title(one.stack)} adds: not recorded; "
        f"{describe_recording_of_handshakes(one.stack, one.configuration.full_variant(one.suite), one.allocator)}"
        + (f"\nRecorded with it: --stack {case.release_with_handshake}" if case.release_with_handshake else "")
        for case in cases
        if (one := case.model).handshake is None and not case.live
    ]
