"""Call stacks by size: known blocks of known callers, what is not shown in one row, and sums that are the pair's."""

import pytest

from tests.support import synthetic
from tlsmem.profile.frames import ALLOCATOR
from tlsmem.schema.records import RecordLine
from tlsmem.stats.selection import select
from tlsmem.tables import catalogue
from tlsmem.tables.call_sites import ROWS

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"


def frame(function: str | None, line: int | None = None) -> dict:
    file = f"src/ssl/{function}.c" if line else None
    return {"function": function, "file": file, "line": line, "module": "libssl.so", "offset": 4096}


FRAMES = [frame("CRYPTO_malloc", 1), frame("CRYPTO_zalloc", 2), frame("SSL_new", 3), frame("main", 4), frame(None)]
STACKS = [[0, 1, 2, 3], [0, 2, 3], [4, 3, 3, 3], [0, 1]]


def run(live: list[tuple[str, int, int]], **kind) -> RecordLine:
    """A sites run with blocks of (role, stack, bytes) live in every phase."""
    made = synthetic.record(STACK, SUITE, 100, "sites", **kind).model_dump(by_alias=True)
    blocks = [{"role": r, "since": "sessions", "stack": s, "blocks": 1, "bytes": size} for r, s, size in live]
    for phase in made["phases"]:
        phase["sites"]["live"] = blocks
    return RecordLine.model_validate(made | {"sites": {"frames": FRAMES, "stacks": STACKS}})


def rows(record: RecordLine) -> list[dict]:
    (table,) = catalogue.build(select([record]), ["call-sites"])
    keys = [column.key for column in table.columns]
    return [dict(zip(keys, (cell.text for cell in row), strict=True)) for row in table.rows]


def test_a_block_is_its_caller_s_and_not_its_allocator_s():
    found = rows(run([("server", 0, 100), ("server", 1, 10), ("server", 2, 50), ("server", 3, 7), ("client", 2, 9)]))
    shown = [(row["role"], row["bytes"], row["blocks"], row["since"], row["callers"]) for row in found]
    unnamed = "? (libssl.so+0x1000) < main (main.c:4) < main (main.c:4)"
    assert shown == [
        ("client", "9", "1", "sessions", unnamed),
        ("server", "110", "2", "sessions", "SSL_new (SSL_new.c:3) < main (main.c:4)"),
        ("server", "50", "1", "sessions", unnamed),
        ("server", "7", "1", "sessions", "CRYPTO_malloc (CRYPTO_malloc.c:1) < CRYPTO_zalloc (CRYPTO_zalloc.c:2)"),
    ]


def test_what_is_not_shown_is_in_one_row_and_all_rows_are_the_pair():
    one = run([("client", 0, 1)])
    many = [frame(f"caller_{number}", 1 + number) for number in range(ROWS + 3)]
    made = one.model_dump(by_alias=True) | {"sites": {"frames": many, "stacks": [[n] for n in range(len(many))]}}
    for phase in made["phases"]:
        phase["sites"]["live"] = [
            {"role": "client", "since": "sessions", "stack": number, "blocks": 2, "bytes": 1000 + number}
            for number in range(len(many))
        ]
    found = rows(RecordLine.model_validate(made))
    assert len(found) == ROWS + 1 and found[-1]["callers"] == "3 others"
    assert (found[-1]["bytes"], found[-1]["blocks"]) == ("3,003", "6")
    assert sum(int(row["bytes"].replace(",", "")) for row in found) == sum(1000 + n for n in range(ROWS + 3))


def test_processes_of_their_own_have_their_role_each():
    found = rows(run([("server", 0, 5)], roles="keep-server"))
    assert [(row["role"], row["bytes"]) for row in found] == [("server", "5")]


def test_allocators_are_known_by_name():
    inside = ["malloc", "CRYPTO_secure_zalloc", "aws_lc_0_47_0_OPENSSL_malloc", "<alloc::alloc::Global>::alloc_impl"]
    assert all(map(ALLOCATOR.fullmatch, [*inside, "<[u8]>::to_vec_in::<alloc::alloc::Global>"]))
    assert not any(map(ALLOCATOR.fullmatch, ["BUF_MEM_new", "allocate_buffers", "buffer_new", ""]))


def test_it_is_for_who_asks():
    assert "call-sites" not in [table.name for table in catalogue.build(select([run([("client", 0, 1)])]))]


def test_a_library_as_shipped_is_said_to_have_no_call_sites():
    shipped = synthetic.record(STACK, SUITE, 100, "heap").model_copy(update={"stack": "openssl+debian@3.5.9"})
    (table,) = catalogue.build(select([run([("client", 0, 1)]), shipped]), ["call-sites"])
    (reason,) = table.without
    assert reason.startswith("openssl+debian@3.5.9 has no call sites") and len(table.rows) == 1
    with pytest.raises(ValueError, match=r"table call-sites has no rows: openssl\+debian@3\.5\.9 has no call sites"):
        catalogue.build(select([shipped]), ["call-sites"])
