"""Why the live heap that sessions add is not a whole number of bytes a session."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import isqrt
from typing import Literal

from tlsmem.schema.recorded_arguments import harness_arguments
from tlsmem.schema.roles import Role
from tlsmem.stats import session_cost
from tlsmem.stats.session_cost import HeapCost
from tlsmem.store.record import Record

SIGNATURE_BYTES = 16  # a session: DER signatures differ by less; as the heap meter has it for pairs
BLINDING_BYTES = 16  # a process: what blinds an RSA key is random; BoringSSL of API 21 keeps it in 264 or in 280 bytes
# How far the bytes that a session of unchanged code allocates, freed or not, may lie apart in two measurements, times
# the square root of the pairs that these differ by. A random number generator is reseeded, a signature is made again,
# extensions are written in another order, and a buffer grows in other steps: in some sessions, independently. The
# repeats of the recordings in data/ lie apart by 391 B in all stacks and suites but one, and by 1,367 B in that one
# (clients of rustls with aws-lc and X25519MLKEM768, 5 repeats of 450 pairs): this is three times as much.
ALLOCATED_NOISE_BYTES = 4096
# Resumption state: tickets, or a store that grows. Signature: DER signatures of ECDSA vary in length. Blinding: what
# blinds an RSA key, of a server or an authenticated client, is as long as random numbers make it, once a process.
Cause = Literal["resumption", "signature", "blinding", "unknown"]
HeapPair = tuple[Record, Record]  # heap runs, the smaller first
Figure = Callable[[Record, str, str], int]  # of a run, a role and a phase


def keeps_state(record: Record) -> bool:
    """Return whether the suite asks for resumption: tickets, or a store of sessions."""
    options = harness_arguments(record)
    return options["tickets"] != "0" or options["store"] != "off"


def keeps_sessions(run: Record) -> Role | None:
    """Return who keeps sessions in a run of waves: the server with a store, else the client that resumes; else None."""
    asked = harness_arguments(run)
    if asked["store"] == "on":
        return "server"
    return "client" if asked.get("resume") == "on" else None


def repeats_exactly(options: Mapping[str, object]) -> bool:
    """Return whether live bytes repeat exactly with a suite's options (certs, tickets, store).

    They do not where a DER signature of ECDSA varies in length, or a ticket in padding."""
    certs = str(options["certs"]).rsplit("/", 1)[-1]
    return certs.startswith(("rsa", "none")) and str(options["tickets"]) == "0" and options["store"] == "off"


def allocated_noise(runs: Sequence[Record], role: str) -> Fraction:
    """Return how far the bytes that a session allocates may lie apart in measurements of unchanged code.

    `runs`: two of which this is the slope, or one of which it is the quotient."""
    pairs = (runs[-1].sessions - (runs[0].sessions if len(runs) > 1 else 0)) // 2
    return Fraction(ALLOCATED_NOISE_BYTES * (2 if role == "total" else 1), isqrt(pairs))


def find_cause(pair: HeapPair, role: str, cost: HeapCost) -> Cause | None:
    """Return why sessions are not all alike at the end of the phase; None when the cost is a whole number.

    `cost` is the role's cost from the two runs."""
    return find_cause_by_figure(pair, role, cost, 0)


def find_peak_cause(pair: HeapPair, role: str, cost: HeapCost) -> Cause | None:
    """Return why sessions are not all alike at the peak of the phase; None when the cost is a whole number.

    At the peak the temporary memory of one session adds to the live heap of all."""
    small = pair[0]
    names = [phase.phase for phase in session_cost.phases_of(small)]
    at = names.index(cost.phase)
    ends = [live_bytes(small, role, name) for name in names[max(at - 1, 0) : at + 1]]
    return find_cause_by_figure(pair, role, cost, peak_bytes(small, role, cost.phase) - max(ends), peak_bytes)


def live_bytes(run: Record, role: str, phase: str) -> int:
    """Return the role's live bytes at the end of the phase. Raises ValueError when the run did not reach it."""
    return session_cost.heap_of(session_cost.phase_of(run, phase), role).live_bytes


def peak_bytes(run: Record, role: str, phase: str) -> int:
    """Return the role's peak of live bytes in the phase. Raises ValueError when the run did not reach it."""
    return session_cost.heap_of(session_cost.phase_of(run, phase), role).peak_bytes


def find_cause_by_figure(
    pair: HeapPair, role: str, cost: HeapCost, passing: int, figure: Figure = live_bytes
) -> Cause | None:
    """Return why sessions are not all alike by this figure of a phase; None when the cost is a whole number.

    `passing`: bytes of the figure that are temporary, and the same in both runs."""
    if not cost.bytes.remainder and not cost.blocks.remainder:
        return None
    if keeps_state(pair[0]):
        return "resumption"
    few, many = (
        Fraction(figure(run, role, cost.phase) - passing - live_bytes(run, role, "contexts"), run.sessions // 2)
        for run in pair
    )
    within = abs(many - few) <= SIGNATURE_BYTES * (2 if role == "total" else 1)
    options = harness_arguments(pair[0])
    certs, signs = options["certs"], role != "client" or options.get("auth") == "mutual"
    if "ecdsa" in certs and not cost.blocks.remainder and within:
        return "signature"
    if "rsa" in certs and signs and not cost.blocks.remainder and once(pair, role, many - few):
        return "blinding"
    return "unknown"


def once(pair: HeapPair, role: str, more: Fraction) -> bool:
    """Return whether the runs differ by no more than one RSA blinding, both in `contexts` and after it.

    `more`: how many more bytes a pair has in the larger run."""
    few, many = (live_bytes(run, role, "contexts") for run in pair)
    return abs(many - few) <= BLINDING_BYTES and abs(more) * (pair[1].sessions // 2) <= BLINDING_BYTES
