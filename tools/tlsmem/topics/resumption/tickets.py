"""What tickets cost, and what resumed sessions hold beside full ones: live heap of one session, from heap runs of the
scenario memory at two numbers of sessions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from tlsmem.schema.recorded_arguments import harness_arguments
from tlsmem.schema.roles import Role
from tlsmem.stats import session_cost
from tlsmem.stats.comparability import sort_by_start
from tlsmem.stats.missing import NOT_RECORDED, Missing, map_present
from tlsmem.stats.selection import Selection
from tlsmem.store.record import Record

REST, IN_USE, CLOSED = "established", "blocked", "closed"  # phases
ROLES: tuple[Role, ...] = ("server", "client")
LIBRARY = "library"
Amount = Fraction | Missing


class Case(NamedTuple):
    """What sessions of a stack are alike in, but for their tickets and whether they are resumed."""

    stack: str
    protocol: str
    cipher: str
    group: str
    certs: str
    auth: str


class Resumption(NamedTuple):
    """What a suite asks of resumption."""

    tickets: str = "0"
    store: str = "off"
    resume: str = "off"


@dataclass(frozen=True)
class Sessions:
    """The heap runs of one case under one resumption, by number of sessions, and its sites run."""

    runs: dict[int, Record] = field(hash=False, compare=False, default_factory=dict)
    sites: list[Record] = field(hash=False, compare=False, default_factory=list)

    @property
    def refusal(self) -> str | None:
        """Why there are no figures; None where there are."""
        runs = [*self.runs.values(), *self.sites]
        return None if any(run.status == "measured" for run in runs) else runs[0].reason if runs else NOT_RECORDED

    @property
    def pair(self) -> tuple[Record, Record] | Missing:
        """Return the runs with fewest and with most sessions."""
        measured = [self.runs[sessions] for sessions in sorted(self.runs) if self.runs[sessions].status == "measured"]
        if len(measured) < 2:
            other = [run.reason for run in self.runs.values() if run.status != "measured" and run.reason]
            return Missing(self.refusal or next(iter(other), "heap runs of two numbers of sessions are needed"))
        return measured[0], measured[-1]

    def live(self, owner: str, phase: str) -> Amount:
        """Return what one more session has live of an owner's at the end of a phase."""
        return map_present(lambda pair: exact(session_cost.live_cost(pair[0], pair[1], owner, phase)), self.pair)

    def peak(self, role: Role) -> Amount:
        """Return what one more session adds to the role's peak, once all sessions exist."""

        def highest(pair: tuple[Record, Record]) -> Fraction:
            phases = [phase.phase for phase in session_cost.phases_of(pair[1])]
            later = [phase for phase in phases if phase not in ("contexts", "sessions")]
            return max(exact(session_cost.phase_peak_cost(*pair, role, phase)) for phase in later)

        return map_present(highest, self.pair)

    def sent(self, role: Role) -> Amount:
        """Return the bytes that a session of a role writes to the wire until all have answered a first payload."""
        return map_present(lambda pair: bytes_sent(pair, role), self.pair)

    @property
    def tickets(self) -> Amount:
        """Tickets that a client received."""
        return map_present(lambda pair: received_tickets(pair[1]), self.pair)


@dataclass(frozen=True)
class TicketRow:
    """One role's sessions of a case, with none, one and more tickets."""

    case: Case
    role: Role
    by: dict[Resumption, Sessions] = field(hash=False, compare=False)

    def sessions(self, tickets: str) -> Sessions:
        """Return the full sessions with so many tickets."""
        return self.by.get(Resumption(tickets), Sessions())

    @property
    def refusal(self) -> str | None:
        """Why the stack has no tickets in this case; None where it has."""
        return self.sessions("1").refusal

    def live(self, tickets: str, phase: str = REST) -> Amount:
        """Return the live heap of a session with so many tickets."""
        return self.sessions(tickets).live(self.role, phase)

    def first(self, phase: str = REST) -> Amount:
        """Return what the first ticket adds."""
        return self.live("1", phase) - self.live("0", phase)

    def further(self, phase: str = REST) -> Amount:
        """Return what each further ticket adds: the slope from one to as many as there are."""
        counts = [
            int(asked.tickets) for asked in self.by if asked == Resumption(asked.tickets) and asked.tickets.isdecimal()
        ]
        able = [count for count in counts if count > 1 and not self.sessions(str(count)).refusal]
        if not able or self.case.protocol == "TLSv1.2":
            return Missing("there is one ticket")
        return (self.live(str(max(able)), phase) - self.live("1", phase)) / (max(able) - 1)

    @property
    def wire(self) -> Amount:
        """Bytes of the first ticket on the wire, with its message and record, and in TLS 1.2 the extension."""
        if self.role != "server":
            return Missing("servers send them")
        return self.sessions("1").sent("server") - self.sessions("0").sent("server")

    @property
    def by_library(self) -> Amount:
        """Tickets that a server sends of itself."""
        return self.sessions(LIBRARY).tickets

    @property
    def resumption(self) -> Sessions:
        """The sessions with one ticket."""
        return self.sessions("1")


@dataclass(frozen=True)
class ResumedRow:
    """One role's resumed sessions of a case, beside full ones with the same tickets."""

    case: Case
    role: Role
    asked: Resumption
    resumed: Sessions
    full: Sessions

    @property
    def by(self) -> str:
        """What they are resumed by."""
        return "id" if self.asked.store == "on" else "ticket"

    def live(self, phase: str) -> Amount:
        """Return what a resumed session has allocated itself."""
        return self.resumed.live(self.role, phase)

    def taken(self, phase: str) -> Amount:
        """Return what an earlier session allocated and is there still: a client's state, or a server's entry."""
        return self.resumed.live(f"{self.role}_context", phase)

    def together(self, phase: str) -> Amount:
        """Return both."""
        return self.live(phase) + self.taken(phase)

    def difference(self, phase: str) -> Amount:
        """Return how much more a resumed session holds than a full one, with what it has taken over."""
        return self.together(phase) - self.full.live(self.role, phase)


def exact(cost: session_cost.HeapCost) -> Fraction:
    """Return the bytes of one more session."""
    return Fraction(cost.bytes.amount, cost.bytes.sessions)


def bytes_sent(pair: tuple[Record, Record], role: Role) -> Amount:
    """Return what a session of a role sent in the larger run, from the end of `sessions` to that of `reply`."""
    ends = [session_cost.phase_of(run, name) for run in pair for name in ("sessions", "reply")]
    sizes = [getattr(phase, f"{role}_sent_bytes") for phase in ends]
    if None in sizes:
        return Missing("records of schemas before 8 have no bytes sent")
    return Fraction(sizes[-1] - sizes[-2], pair[-1].sessions // 2)


def received_tickets(run: Record) -> Amount:
    """Return the tickets that a client received."""
    count = session_cost.phase_of(run, "reply").tickets
    return Missing("the driver does not report it") if count is None else Fraction(count, run.sessions // 2)


def find_cases(records: Iterable[Record]) -> dict[Case, dict[Resumption, Sessions]]:
    """Return the runs by case and resumption: of pairs of one stack in one process, with all handshakes at once."""
    found: dict[Case, dict[Resumption, Sessions]] = {}
    for run in sort_by_start(one for one in records if is_comparable(one)):
        asked = harness_arguments(run)
        case = Case(run.stack, *(asked.get(key, "") for key in ("protocol", "cipher", "group", "certs", "auth")))
        case = case._replace(auth=case.auth or "server")
        resumption = Resumption(asked["tickets"], asked["store"], asked.get("resume", "off"))
        sessions = found.setdefault(case, {}).setdefault(resumption, Sessions())
        if run.meter == "sites":
            sessions.sites.append(run)
        else:
            sessions.runs[run.sessions] = run
    return found


def is_comparable(run: Record) -> bool:
    """Return whether a run may stand in a row."""
    asked = harness_arguments(run)
    usual = asked["options"] == "default" and asked["data"] == "full" and asked.get("client_certs", "same") == "same"
    place = (run.scenario, run.roles, run.peer, run.window, run.env, run.allocator.name)
    return (
        usual
        and place == ("memory", "together", None, "all", "lab", "system")
        and (run.meter == "heap" or (run.meter == "sites" and run.status != "failed"))
    )


def find_tickets(records: Iterable[Record]) -> list[TicketRow]:
    """Return a row for each case with tickets, and role."""
    cases = find_cases(records)
    return [
        TicketRow(case, role, by)
        for case, by in cases.items()
        if Resumption("1") in by and Resumption() in by
        for role in ROLES
    ]


def find_resumed(records: Iterable[Record]) -> list[ResumedRow]:
    """Return a row for each way to resume, beside full sessions with as many tickets."""
    rows = []
    for case, by in find_cases(records).items():
        for asked, sessions in by.items():
            if asked.resume == "on":
                full = by.get(Resumption(asked.tickets)) or by.get(Resumption(), Sessions())
                rows += [ResumedRow(case, role, asked, sessions, full) for role in ROLES]
    return rows


def find_refusals(rows: Sequence[TicketRow | ResumedRow]) -> dict[tuple[str, str], list[Case]]:
    """Return stacks and reasons, each with its cases, where there are no figures."""
    found: dict[tuple[str, str], list[Case]] = {}
    for row in rows:
        reason = row.refusal if isinstance(row, TicketRow) else row.resumed.refusal
        if reason and row.role == "server":
            found.setdefault((row.case.stack, reason), []).append(row.case)
    return found


def has_tickets(selection: Selection) -> bool:
    """Return whether there is a row of either kind."""
    return bool(find_tickets(selection.records) or find_resumed(selection.records))
