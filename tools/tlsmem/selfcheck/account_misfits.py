"""What does not hold of closed accounts: pairs that are not alike, rests that nothing explains, slopes that differ."""

from collections.abc import Iterator, Sequence

from tlsmem.schema.records import Record
from tlsmem.stats.remainders import given, repeats
from tlsmem.tables.reconciliation import Closed, close, in_blocks, is_tables

SHARE = 0.01  # of live heap; a larger rest is an error, and in a suite that repeats exactly any but a library's tables


def findings(run: Record, heap: tuple[Record, Record] | None = None, where: str | None = None) -> Iterator[str]:
    """What does not hold of a sites run, each said of the first phase where it does not."""
    exact = repeats(given(run))
    accounts = close(run, heap)
    for judge in (unlike, unexplained, off_slope):
        found = ((one, judge(one, accounts, exact)) for one in accounts)
        if first := next(((one, said) for one, said in found if said), None):
            yield f"sites: {where or f'{run.stack}, {run.suite}'}: `{first[0].phase}`: {first[1]}"


def unlike(one: Closed, accounts: Sequence[Closed], exact: bool) -> str | None:
    """The pair stands for all others: they have as many blocks from the same places, and about as many bytes. But a
    pair may have enlarged a table, which counts for it."""
    off = one.pairs - one.alike
    if off <= one.rest_blocks and is_tables(accounts, exact):
        return None
    return f"{off:,} of {one.pairs:,} pairs are not like the chosen one" if off else None


def unexplained(one: Closed, accounts: Sequence[Closed], exact: bool) -> str | None:
    """A rest: any where runs repeat exactly, else above a share of what is live."""
    most = share(accounts, one, "bytes"), share(accounts, one, "blocks")
    allowed = (0, 0) if exact else most
    if exact and is_tables(accounts, exact):
        return None
    if abs(one.rest_bytes) <= allowed[0] and abs(one.rest_blocks) <= allowed[1]:
        return None
    pair, rest = in_blocks(one.pair_bytes, one.pair_blocks), in_blocks(one.rest_bytes, one.rest_blocks)
    return f"{one.pairs:,} pairs of {pair} leave a rest of {rest}"


def off_slope(one: Closed, accounts: Sequence[Closed], exact: bool) -> str | None:
    if one.off_slope is None or abs(one.off_slope) * one.pairs <= share(accounts, one, "bytes"):
        return None
    return f"the pair holds {one.pair_bytes:,} B, one more pair costs {one.slope} B in heap runs"


def share(accounts: Sequence[Closed], one: Closed, unit: str) -> float:
    """What may be left over. Where a pair has nothing, nothing is a share of it, and the fullest phase counts."""
    whole = [one] if one.pair_bytes else accounts
    return SHARE * max(getattr(account, f"live_{unit}") for account in whole)
