"""What is left over when sessions do not divide what they add to the live heap, and why."""

from costs import HeapCost
from records import Record


def given(record: Record) -> dict[str, str]:
    """What the harness was told, by key; the defaults of what has one."""
    defaults = {"tickets": "0", "store": "off", "certs": "none"}
    return defaults | dict(word.split("=", 1) for word in record.argv if "=" in word)


def keeps_state(record: Record) -> bool:
    """Whether the suite asks for resumption: tickets, or a store of sessions."""
    options = given(record)
    return options["tickets"] != "0" or options["store"] != "off"


def remainder_of(record: Record, cost: HeapCost) -> str | None:
    """Why sessions are not all alike, as far as it is known; None when nothing is left over."""
    if not cost.bytes.remainder and not cost.blocks.remainder:
        return None
    if keeps_state(record):
        return "resumption state: tickets, or a store that grows"
    if "ecdsa" in given(record)["certs"] and not cost.blocks.remainder:
        return "DER signature length: ECDSA"
    return "not known"
