"""Where a figure stands: suite, role, phase and meter. What figures are called, and in which order they are shown."""

from typing import NamedTuple

from tlsmem.base import phase_names
from tlsmem.config.choices import COMPARED_STAGES, METERS, PEAK
from tlsmem.config.scenarios import Settings
from tlsmem.store.record import Record

EXACT_METERS = ("heap", "blocks", "allocations", "allocated", "rest")
CUMULATIVE_METERS = ("allocations", "allocated")  # up to the end of a phase, whatever was freed
TIMED_METERS = ("handshakes", "send", "receive")
WORDS = {"created": "sessions"}  # of people: as records have it
LAST_PHASES = ("closed", "trimmed", "freed")  # at whose ends a session should hold nothing
AFTER = {"reply": "after 1 KiB each way"}  # on pages


class Place(NamedTuple):
    """`role`: client, server, pair (a client and a server with all that the process holds for them), process.

    `phase`: as recorded, but "created" for `sessions`, and "peak" for the run's. Of timed runs: "handshake" and
    "transfer", with threads and bytes of a write where these are not 1 and 1 MiB.
    `sessions`: of "peak-rss" its N; None of all else. `settings`: of a scenario with keys of its own."""

    suite: str
    role: str
    phase: str
    meter: str
    sessions: int | None = None
    settings: Settings = ()

    def __str__(self) -> str:
        """`tls13-rsa-aes256: server session, established, heap`."""
        at = f", N = {self.sessions:,}" if self.sessions else ""
        own = f", {words}" if (words := describe_settings(self.settings)) else ""
        return f"{self.suite}: {describe_owner(self.role)}, {readable_phase(self.phase)}, {self.meter}{at}{own}"


def describe_settings(settings: Settings) -> str:
    """`point announced-hello`."""
    return ", ".join(f"{key} {value}" for key, value in settings)


def describe_owner(role: str) -> str:
    return f"{role} session" if role in ("client", "server") else role


def readable_phase(phase: str) -> str:
    """As pages have it."""
    return AFTER.get(phase) or phase_names.READABLE_NAMES.get(phase, phase)


def recorded_phase(phase: str) -> str:
    """As records have it, of what people say."""
    said_so = {said: name for name, said in AFTER.items()}
    return (WORDS | said_so).get(phase) or phase_names.recorded_name(phase)


def parse_phase(phase: str) -> str:
    return next((word for word, name in WORDS.items() if name == phase), phase)


def place_order(place: Place) -> tuple[str, int, int, int, tuple[int | str, ...], int]:
    """Of rows: as a run goes."""
    timed = place.meter in TIMED_METERS
    at = (0, place.phase) if timed or place.phase == PEAK else phase_names.order_key(recorded_phase(place.phase))
    late = COMPARED_STAGES.index(place.phase) if place.phase in COMPARED_STAGES else 2
    roles = ("client", "server", "pair", "process")
    role = roles.index(place.role) if place.role in roles else len(roles)
    return place.suite, [*METERS].index(place.meter), role, late, at, place.sessions or 0


def timed_phase_name(record: Record) -> str:
    """Of a timed run."""
    words = ["handshake" if record.scenario == "handshake" else "transfer"]
    words += [f"{record.size_bytes:,} B writes"] if record.size_bytes not in (None, 2**20) else []
    words += [f"{record.threads} threads"] if (record.threads or 1) > 1 else []
    return ", ".join(words)
