"""Instructions of one handshake, or of a MiB of application data, as callgrind counted them."""

from tlsmem.config import timed_matrix
from tlsmem.stats.harness_overhead import WIRE_OF_PART
from tlsmem.stats.session_cost import MIB
from tlsmem.store.record import Record


def instructions_per_unit(record: Record, part: str) -> float | None:
    """Return the instructions of a part per handshake, or per MiB without the wire's copying; None where not counted.

    The run must be one under callgrind."""
    assert record.instructions
    counted: dict[str, float] = dict(record.instructions.parts.items())
    if part not in counted or record.scenario == "handshake":
        return counted.get(part)
    assert record.size_bytes
    own = counted[part] - (counted.get(WIRE_OF_PART[part], 0) if part in WIRE_OF_PART else 0)
    return own * MIB / (timed_matrix.writes_per_round(record.size_bytes) * record.size_bytes)


def cipher_share(record: Record) -> float | None:
    """Return the share of the instructions of sending that the library's own AEAD takes for as many bytes."""
    seal, sending = instructions_per_unit(record, "seal"), instructions_per_unit(record, "send")
    return None if seal is None or sending is None else seal / sending
