"""The tables `post-quantum` and `key-exchange`: what ML-DSA certificates, and what groups cost a session of each role.

A column is one entry of CERTIFICATE_COLUMNS or EXCHANGE_COLUMNS: what it takes of a row, and how that is written."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial

from tlsmem.stats.chains import Amount
from tlsmem.stats.missing import Missing, map_present, without_suite
from tlsmem.stats.selection import Selection
from tlsmem.tables.table import Cell, Column, Table, fraction_cell, optional, rounded_cell
from tlsmem.topics.post_quantum.costs import (
    CREATED,
    ECDSA,
    ESTABLISHED,
    IN_USE,
    RSA,
    X25519,
    Choice,
    CostRow,
    find_certificate_rows,
    find_exchange_rows,
    select_measured,
)

CERTIFICATE_CAPTION = (
    "Bytes for one session, with chains of one intermediate: live heap when established, in use (after a full record "
    "each way) and as one more of many at the peak, with all handshakes concurrent; and how much that is above the "
    "same stack's chains of RSA-2048 and ECDSA P-256. RSS in use is a slope. Stack depth: the most that a call of the "
    "library wrote below its caller, and how much that is above RSA-2048."
)
EXCHANGE_CAPTION = (
    "Bytes for one session, with RSA-2048 certificates. The server has one group; the client offers that one, a list, "
    "or its library's default. Retry: the handshake began with a HelloRetryRequest, seen on the wire. "
    "Peak: live heap that one more of many adds, with all handshakes concurrent. More: compared with X25519 alone."
)
NAMES = {
    RSA: "RSA-2048",
    ECDSA: "ECDSA P-256",
    "mldsa-44": "ML-DSA-44",
    "mldsa-65": "ML-DSA-65",
    "mldsa-87": "ML-DSA-87",
}


def name_certificates(choice: Choice) -> str:
    """Return `ML-DSA-65`, and what else is not usual: `ML-DSA-65, mutual`, `ML-DSA-65, X25519MLKEM768`."""
    words = [NAMES[choice.certs], *["mutual"] * (choice.auth == "mutual")]
    return ", ".join(words + [choice.group] * (choice.group != X25519))


def name_exchange(choice: Choice) -> str:
    """Return the server's group, and what its client offers where that is not just the same."""
    if choice.client_groups is None:
        return choice.group
    return f"{choice.group} (client: {choice.client_groups.replace(':', ', ')})"


def sized(
    key: str, heading: str, value: Callable[[CostRow], Amount], form: Callable[[Fraction], Cell] = fraction_cell
) -> Column:
    """Return a column of bytes."""
    return Column(key, heading, value=lambda row: without_suite(value(row)), form=form)


def more_cell(value: Fraction) -> Cell:
    """`+16,834`, `-120`."""
    cell = fraction_cell(value)
    return Cell(f"+{cell.text}" if value > 0 else cell.text, cell.value)


def beside(certs: str, row: CostRow) -> Choice:
    """Return the row's choice with other certificates."""
    return row.choice._replace(certs=certs)


def more(certs: str, phase: str, row: CostRow) -> Amount:
    """Return the live heap at a phase's end beyond that with other certificates."""
    return row.beyond(partial(row.live, phase), beside(certs, row))


def retry_word(row: CostRow) -> str | Missing:
    """Return yes or no."""
    return map_present(lambda retried: "yes" if retried else "no", row.retried)


PLAIN = Choice(RSA, "server", X25519, None)
STACK = Column("stack", "stack", left=True, value=lambda row: row.stack)
ROLE = Column("role", "role", left=True, value=lambda row: row.role)
CERTIFICATE_COLUMNS = (
    STACK,
    Column("certificates", "certificates", left=True, value=lambda row: name_certificates(row.choice)),
    ROLE,
    optional(sized("created", "created", lambda row: row.live(CREATED))),
    sized("peak", "peak", lambda row: row.peak()),
    optional(sized("peak_more_rsa", "than RSA", lambda row: row.beyond(row.peak, beside(RSA, row)), more_cell)),
    sized("established", "established", lambda row: row.live(ESTABLISHED)),
    sized("in_use", "in use", lambda row: row.live(IN_USE)),
    sized("in_use_more_rsa", "than RSA", partial(more, RSA, IN_USE), more_cell),
    sized("in_use_more_ecdsa", "than ECDSA", partial(more, ECDSA, IN_USE), more_cell),
    optional(sized("rss_in_use", "RSS in use", lambda row: row.rss_in_use, rounded_cell)),
    sized("stack_depth", "stack depth", lambda row: row.stack_depth()),
    optional(sized("stack_more_rsa", "than RSA", lambda row: row.beyond(row.stack_depth, beside(RSA, row)), more_cell)),
)
EXCHANGE_COLUMNS = (
    STACK,
    Column("exchange", "server's group", left=True, value=lambda row: name_exchange(row.choice)),
    ROLE,
    Column("retried", "retry", left=True, value=retry_word),
    optional(sized("created", "created", lambda row: row.live(CREATED))),
    sized("peak", "peak", lambda row: row.peak()),
    sized("peak_more", "more", lambda row: row.beyond(row.peak, PLAIN), more_cell),
    sized("established", "established", lambda row: row.live(ESTABLISHED)),
    sized("in_use", "in use", lambda row: row.live(IN_USE)),
    sized("in_use_more", "more", lambda row: row.beyond(partial(row.live, IN_USE), PLAIN), more_cell),
    optional(sized("rss_in_use", "RSS in use", lambda row: row.rss_in_use, rounded_cell)),
    optional(sized("stack_depth", "stack depth", lambda row: row.stack_depth())),
)


def certificate_table(selection: Selection) -> Table:
    """The table `post-quantum`: a row for each stack, kind of ML-DSA certificates and role."""
    rows = find_certificate_rows(selection)
    table = Table("post-quantum", "Post-quantum certificates", CERTIFICATE_CAPTION, list(CERTIFICATE_COLUMNS))
    table.add_rows(select_measured(rows))
    table.without = describe_refusals(rows, name_certificates)
    return table


def exchange_table(selection: Selection) -> Table:
    """The table `key-exchange`: a row for each stack, group and role."""
    rows = find_exchange_rows(selection)
    table = Table("key-exchange", "Key exchange", EXCHANGE_CAPTION, list(EXCHANGE_COLUMNS))
    table.add_rows(select_measured(rows))
    table.without = describe_refusals(rows, name_exchange)
    return table


def describe_refusals(rows: Iterable[CostRow], name: Callable[[Choice], str]) -> list[str]:
    """Return a sentence for each stack and reason: what it cannot do, and why in its own words."""
    found: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        figure = without_suite(row.runs)
        if isinstance(figure, Missing):
            reason = figure.reason.removeprefix("the client's process: ")
            for certs, _ in NAMES.items():
                reason = reason.replace(f"memtest/certs/{certs}/", "")
            found.setdefault((row.stack, reason), {})[name(row.choice)] = None
    return [f"{stack}: {', '.join(names)}: {reason}" for (stack, reason), names in found.items()]
