"""What certificates and key exchange cost a session of each role: suites of one stack that differ in nothing else.

Sizes are bytes per session, from runs with a process for each role and full records; those of a stack are its depth."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from tlsmem.config import definitions
from tlsmem.schema.roles import ROLES, Role
from tlsmem.stats.chains import Amount, exact
from tlsmem.stats.missing import NOT_RECORDED, Missing, map_present
from tlsmem.stats.rss_line import fit_rss
from tlsmem.stats.runtime_heap import heap_of_role
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Series, Setting, is_same_stack_pair
from tlsmem.store.record import Record

CREATED, ESTABLISHED, IN_USE = "sessions", "established", "blocked"  # phases
RSA, ECDSA = "rsa-2048", "ecdsa-p256"
CERTIFICATES = (RSA, ECDSA, "mldsa-44", "mldsa-65", "mldsa-87")
X25519 = "X25519"
CIPHERS = ("TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256")  # a row has the first of them that the stack does


class Choice(NamedTuple):
    """What suites differ in: certificates, who is authenticated, and key exchange."""

    certs: str
    auth: str
    group: str
    client_groups: str | None  # None: the group alone


@dataclass(frozen=True)
class CostRow:
    """One role of a stack with one choice; `settings` are all that the stack was run with, by choice."""

    stack: str
    role: Role
    choice: Choice
    selection: Selection = field(compare=False)
    settings: dict[Choice, Setting] = field(compare=False)

    def series(self, choice: Choice) -> Series | Missing:
        """Return the runs with a choice as the process of the role saw them; Missing where none is measured."""
        setting = self.settings.get(choice)
        series = setting and self.selection.series(self.stack, setting, self.role)
        if not series or not series.records:
            return Missing(NOT_RECORDED)
        measured = any(one.status == "measured" for one in series.records)
        return series if measured else Missing(series.reason(series.records[0].meter))

    @cached_property
    def runs(self) -> Series | Missing:
        """Those of the row's own choice."""
        return self.series(self.choice)

    def live(self, phase: str, choice: Choice | None = None) -> Amount:
        """Return the live heap of a session at the end of a phase."""
        series = self.series(choice or self.choice)
        return map_present(exact, map_present(lambda series: heap_of_role(series, self.role).live(phase), series))

    def peak(self, choice: Choice | None = None) -> Amount:
        """Return the live heap of a session at its peak, while all handshakes are concurrent."""
        series = self.series(choice or self.choice)
        return map_present(exact, map_present(lambda series: heap_of_role(series, self.role).peak, series))

    def stack_depth(self, choice: Choice | None = None) -> Amount:
        """Return the most bytes of thread stack that a call of the library used."""

        def find_depth(series: Series) -> Amount:
            runs = series.runs("sites")
            return deepest(runs[-1], self.role) if runs else Missing("no sites run")

        return map_present(find_depth, self.series(choice or self.choice))

    def beyond(self, figure: Callable[[Choice | None], Amount], reference: Choice) -> Amount:
        """Return by how much a figure of this row is above that of the same stack with another choice."""
        return figure(None) - figure(reference)

    @property
    def rss_in_use(self) -> Amount:
        """The slope of the RSS of sessions in use."""
        line = map_present(lambda series: fit_rss(series, IN_USE), self.runs)
        return map_present(lambda line: Fraction(line.slope), line)

    @property
    def retried(self) -> bool | Missing:
        """Whether handshakes began with a HelloRetryRequest, as the wire had it."""

        def agree(series: Series) -> bool | Missing:
            found = {one.negotiated.retried for one in series.records if one.negotiated}
            return found.pop() is True if len(found) == 1 else Missing(NOT_RECORDED)

        return map_present(agree, self.runs)


def deepest(run: Record, role: Role) -> Amount:
    """Return the deepest byte of the stack over all phases."""
    depths = [getattr(phase.sites.stack_bytes, role) for phase in run.phases if phase.sites]
    found = max((depth for depth in depths if depth), default=0)
    return Fraction(found) if found else Missing("no other pair was measured")


def choice_of(suite: str) -> tuple[str, Choice] | None:
    """Return the cipher and the choice of a suite; None for a suite that differs in more."""
    known = definitions.suites()
    if suite not in known:
        return None
    found = known[suite]
    if (found.protocol, found.tickets, found.store, found.options) != ("TLSv1.3", 0, "off", "default"):
        return None
    return found.cipher, Choice(found.certs, found.auth, found.group, found.client_groups)


def find_settings(selection: Selection, stack: str) -> dict[Choice, Setting]:
    """Return the settings of a stack by choice, with the first of the ciphers in which it is measured."""
    by_cipher: dict[str, dict[Choice, Setting]] = {}
    for setting in selection.settings:
        if described := choice_of(setting.suite):
            by_cipher.setdefault(described[0], {})[described[1]] = setting
    for cipher in CIPHERS:
        there = by_cipher.get(cipher, {})
        if any(is_measured(selection, stack, setting) for setting in there.values()):
            return there
    return next((by_cipher[cipher] for cipher in CIPHERS if cipher in by_cipher), {})


def is_measured(selection: Selection, stack: str, setting: Setting) -> bool:
    """Return whether the stack has a measured run in the setting."""
    return any(one.status == "measured" for one in selection.series(stack, setting, "server").records)


def is_comparable(setting: Setting) -> bool:
    """Return whether runs in this setting stand in a row: each role in a process, all handshakes at once, short data or
    full records."""
    found = (setting.allocator, setting.roles, setting.env, setting.cpu, setting.window)
    return found == ("system", "split", "lab", "all", "all") and is_same_stack_pair(setting)


def find_rows(selection: Selection, wanted: Callable[[Choice], bool]) -> list[CostRow]:
    """Return a row for each stack, role and choice that was run, measured or not."""
    selection = selection.where(is_comparable)
    found = []
    for stack in selection.stacks:
        settings = find_settings(selection, stack)
        for choice in filter(wanted, settings):
            for role in ROLES:
                row = CostRow(stack, role, choice, selection, settings)
                if selection.series(stack, settings[choice], role).records:
                    found.append(row)
    return found


def is_of_certificates(choice: Choice) -> bool:
    """Return whether the table of certificates has the choice."""
    return choice.certs in CERTIFICATES and choice.client_groups is None and choice.group in (X25519, "X25519MLKEM768")


def is_of_key_exchange(choice: Choice) -> bool:
    """Return whether the table of key exchange has the choice."""
    return (choice.certs, choice.auth) == (RSA, "server")


def find_certificate_rows(selection: Selection) -> list[CostRow]:
    """Return the rows of post-quantum certificates; none where there are no such runs."""
    rows = find_rows(selection, is_of_certificates)
    return [row for row in rows if row.choice.certs.startswith("mldsa")]


def find_exchange_rows(selection: Selection) -> list[CostRow]:
    """Return the rows of key exchange, where a selection has several."""
    rows = find_rows(selection, is_of_key_exchange)
    return rows if len({row.choice for row in rows}) > 2 else []


def select_measured(rows: Iterable[CostRow]) -> list[CostRow]:
    """Return the rows that have figures."""
    return [row for row in rows if not isinstance(row.runs, Missing)]
