"""What a library keeps of sessions that are gone, so that later ones can be resumed: a server's store, or a client's
cache, over waves of sessions. How many bytes an entry takes, and where the store stops to grow.

Bytes of a table that doubles are the context's, and blocks of entries are counted apart from it: so the number of
entries is exact."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from statistics import mode

from tlsmem.config.scenarios import settings_in_argv
from tlsmem.schema.recorded_arguments import harness_arguments
from tlsmem.schema.roles import Role
from tlsmem.stats.comparability import sort_by_start
from tlsmem.stats.missing import Missing, map_present
from tlsmem.stats.remainders import keeps_sessions
from tlsmem.stats.session_cost import heap_of
from tlsmem.store.record import Phase, Record

CHURN = "churn"  # the scenario of waves
STEADY_WAVES = 3  # without another entry, and the store is full


@dataclass(frozen=True)
class SessionStore:
    """What one role keeps in a run of waves, all sessions of which end with their wave."""

    stack: str
    suite: str
    role: Role
    run: Record = field(hash=False, compare=False)
    finer: "SessionStore | None" = field(
        default=None, hash=False, compare=False
    )  # in smaller waves, which tell entries

    @property
    def refusal(self) -> str | None:
        """Why there are no figures; None where there are."""
        return None if self.run.status == "measured" else self.run.reason

    @property
    def protocol(self) -> str:
        """The version of TLS."""
        return harness_arguments(self.run)["protocol"]

    @property
    def auth(self) -> str:
        """Who is authenticated: the server, or both."""
        return harness_arguments(self.run).get("auth", "server")

    @cached_property
    def phases(self) -> list[Phase]:
        """`contexts`, and the end of each wave."""
        return [phase for phase in self.run.phases if phase.phase in ("contexts", "closed")]

    @property
    def sessions(self) -> list[int]:
        """Sessions of the role that were served by then."""
        return [number * (self.run.sessions // 2) for number in range(len(self.phases))]

    @property
    def asked_sessions(self) -> int:
        """How many sessions its waves have in all."""
        return self.run.sessions * int(dict(settings_in_argv(CHURN, self.run.argv))["waves"])

    @property
    def blocks(self) -> list[int]:
        """Live blocks of the role, beyond those at `contexts`."""
        found = [heap_of(phase, self.role).live_blocks for phase in self.phases]
        return [one - found[0] for one in found]

    @property
    def entry_growth(self) -> list[int]:
        """Live bytes of the role, beyond those at `contexts`: of entries alone."""
        found = [heap_of(phase, self.role).live_bytes for phase in self.phases]
        return [one - found[0] for one in found]

    @property
    def live_bytes(self) -> list[int]:
        """Live bytes of the role and of its context, with the store's table, beyond those at `contexts`."""
        owners = (self.role, f"{self.role}_context")
        found = [sum(heap_of(phase, owner).live_bytes for owner in owners) for phase in self.phases]
        return [one - found[0] for one in found]

    @property
    def entries_each_session(self) -> int:
        """How many a session puts in: with TLS 1.3 one for each ticket, else its own."""
        first = self.phases[1].tickets or 0
        return max(1, first // (self.run.sessions // 2)) if self.protocol == "TLSv1.3" else 1

    @cached_property
    def wave_of_growth(self) -> tuple[int, int] | None:
        """Bytes and blocks that a wave adds while the store grows: what most waves that add something do. None where no
        wave adds anything."""
        both = zip(self.entry_growth, self.blocks, strict=True)
        steps = [(after[0] - before[0], after[1] - before[1]) for before, after in pairwise(both)]
        growing = [step for step in steps if step[1] > 0]
        return mode(growing) if growing else None

    @property
    def taken_each_wave(self) -> int:
        """How many entries sessions take out: where they are resumed, each and its earlier one take one."""
        resumes = harness_arguments(self.run).get("resume") == "on"
        return self.run.sessions if resumes and self.role == "client" else 0

    @property
    def entries_each_wave(self) -> int:
        """How many entries a wave adds while the store grows."""
        put = self.entries_each_session * (self.run.sessions // 2)
        return put * (2 if self.taken_each_wave else 1) - self.taken_each_wave

    @property
    def entry_bytes(self) -> Fraction | Missing:
        """Live heap of an entry."""
        return self.each(0)

    @property
    def entry_blocks(self) -> Fraction | Missing:
        """Its allocations."""
        return self.each(1)

    def each(self, index: int) -> Fraction | Missing:
        """Return what an entry has of bytes (0) or blocks (1)."""
        if self.refusal:
            return Missing(self.refusal)
        if not self.wave_of_growth:
            return Missing("nothing is left on the heap when a session is closed")
        if self.finer:
            return self.finer.each(index)
        if self.fills_at_once:
            return Missing(f"full within a wave of {self.run.sessions // 2:,} sessions; smaller waves show its entries")
        return Fraction(self.wave_of_growth[index], self.entries_each_wave)

    @property
    def fills_at_once(self) -> bool:
        """Whether no two waves add the same: the first may then have added fewer entries than it had sessions."""
        growth = self.wave_of_growth
        added = [after - before for before, after in pairwise(self.blocks)]
        return growth is not None and added.count(growth[1]) < 2

    @property
    def is_full(self) -> bool:
        """Whether the last waves added no entry."""
        return len(set(self.blocks[-STEADY_WAVES - 1 :])) == 1

    @property
    def is_unbounded(self) -> bool:
        """Whether it still grew when the run ended."""
        return bool(self.wave_of_growth) and not self.is_full

    @property
    def most_entries(self) -> int | Missing:
        """How many entries it has when it is full, with those of the warm-up; Missing where it is not."""
        return map_present(self.count_entries, self.entry_blocks)

    def count_entries(self, each: Fraction) -> int | Missing:
        """Return how many entries of so many blocks it has when it is full."""
        if not self.is_full:
            return Missing(f"still growing after {self.sessions[-1]:,} sessions")
        if self.finer:
            return self.finer.most_entries
        return self.blocks[-1] // each + self.warm_up_entries  # a block of its table is less than an entry

    @property
    def warm_up_entries(self) -> int:
        """What was there before the first wave: of the warm-up's pair, and of the one before it, which it resumes."""
        each = self.entries_each_session
        return 2 * each - 2 if self.taken_each_wave else each

    @property
    def sessions_until_full(self) -> int | Missing:
        """Sessions that were served when the last entry was added, by wave."""
        if self.finer:
            return self.finer.sessions_until_full
        return map_present(lambda _: self.sessions[self.blocks.index(self.blocks[-1])], self.most_entries)

    @property
    def last_bytes(self) -> int | Missing:
        """Live heap that the store has gained with the last wave, its table included."""
        return Missing(self.refusal) if self.refusal else self.live_bytes[-1]


def find_stores(records: Iterable[Record]) -> list[SessionStore]:
    """Return the stores and caches of a recording: of each stack and suite the run with most sessions. Where its waves
    are too large to tell entries, they are those of the next run whose waves are not."""
    found: dict[tuple[str, str], list[SessionStore]] = {}
    for run in sort_by_start(one for one in records if one.scenario == CHURN and one.status != "failed"):
        pattern = dict(settings_in_argv(CHURN, run.argv))["pattern"]
        if run.meter == "heap" and pattern == "waves" and (role := keeps_sessions(run)):
            found.setdefault((run.stack, run.suite), []).append(SessionStore(run.stack, run.suite, role, run))
    return sorted(map(choose_store, found.values()), key=lambda one: one.role == "client")


def choose_store(runs: Sequence[SessionStore]) -> SessionStore:
    """Return the one with most sessions, the last of equal ones; with a finer one where its waves are too large."""
    largest = max(reversed(runs), key=lambda one: one.asked_sessions)
    if largest.refusal or not largest.fills_at_once:
        return largest
    told = [one for one in runs if not one.refusal and not one.fills_at_once and one.wave_of_growth]
    return replace(largest, finer=max(told, key=lambda one: one.asked_sessions)) if told else largest


def rank_stores(stores: Sequence[SessionStore]) -> list[SessionStore]:
    """Return the servers' stores that grow: the most live heap at the end first."""
    growing = [one for one in stores if one.role == "server" and not one.refusal and one.wave_of_growth]
    return sorted(growing, key=lambda one: -one.live_bytes[-1])
