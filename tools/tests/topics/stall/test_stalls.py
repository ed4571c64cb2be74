"""What a session holds whose peer stopped: of the heap meter, and of a runtime of the stack's own."""

from fractions import Fraction

import pytest

from tests.support import synthetic
from tlsmem.config.scenarios import PHASES
from tlsmem.schema.records import RecordLine
from tlsmem.stats.missing import Missing
from tlsmem.topics.stall.stalls import Stall, find_stalls, newest_of_each_stack
from tlsmem.topics.stall.table import stall_table

PAIRS = 1000
GO = {  # by phase: live objects, goroutine stacks, RSS
    "contexts": (200_000, 300_000, 5_000_000),
    "connected": (200_000 + PAIRS * 2_400, 300_000 + PAIRS * 4_096, 12_000_000),
    "stalled": (200_000 + PAIRS * 6_600, 300_000 + PAIRS * 8_192, 30_000_000),
    "closed": (200_000 + PAIRS * 500, 300_000, 30_000_000),
}


def stalled(stack: str, point: str = "unread-flight", suite: str = "tls13-rsa-aes128", **changes) -> RecordLine:
    """A run of the scenario."""
    sessions = 2 * PAIRS
    argv = [f"build/harness/{stack}", "stall", f"sessions={sessions}", f"point={point}"]
    return synthetic.record(stack, suite, sessions, scenario="stall", argv=argv, schema=8, **changes)


def phases(statistics: dict[str, dict[str, int]], received: int = 0) -> list[dict]:
    """The phases of a run; `statistics` has a runtime's, with RSS beside them."""
    made = []
    for name in PHASES["stall"]:
        figures = dict(statistics.get(name, statistics["closed"]))
        rss = figures.pop("rss_bytes")
        phase = synthetic.phase("contexts", synthetic.SHAPES["null@c"], 2, "rss", 0)
        phase |= {"phase": name, "rss_bytes": rss, "rss_anon_bytes": rss - 3 * synthetic.MIB, "peak_rss_bytes": rss}
        sent = received if name == "stalled" else 0
        made.append(phase | {"allocator": {"go": figures}, "received_bytes": sent})
    return made


def go_run(**kind) -> RecordLine:
    """A run whose runtime was made to collect at the end of each phase."""
    books = {
        name: {"live_bytes": live, "stack_inuse_bytes": stacks, "rss_bytes": rss}
        for name, (live, stacks, rss) in GO.items()
    }
    return stalled("go@1.26.8", phases=phases(books, received=PAIRS * 240), **kind)


@pytest.fixture
def of_go() -> Stall:
    (one,) = find_stalls([go_run()])
    return one


def test_of_a_runtime_live_bytes_are_objects_and_stacks(of_go):
    assert of_go.silent_bytes == 2_400 + 4_096
    assert of_go.pinned_bytes == 4_200 + 4_096
    assert of_go.total_bytes == of_go.silent_bytes + of_go.pinned_bytes
    assert of_go.stack_bytes == 8_192
    assert of_go.kept_bytes == 500
    assert of_go.pinned_rss_bytes == 18_000
    assert of_go.amplification == Fraction(4_200 + 4_096, 240)


def test_a_runtime_that_was_left_alone_tells_rss_only():
    books = {name: {"heap_alloc_bytes": 1, "rss_bytes": rss} for name, (_, _, rss) in GO.items()}
    (one,) = find_stalls([stalled("go+left-alone@1.27.4", phases=phases(books))])
    assert isinstance(one.pinned_bytes, Missing) and isinstance(one.stack_bytes, Missing)
    assert one.pinned_bytes.reason == "the heap meter does not see what go allocates"
    assert one.pinned_rss_bytes == 18_000


@pytest.mark.parametrize(("point", "role"), [("silent", "server"), ("silent-server", "client")])
def test_who_waits_follows_from_the_point(point, role):
    (one,) = find_stalls([go_run(point=point)])
    assert one.role == role


def test_the_table_says_whose_figures_they_are(of_go):
    table = stall_table([go_run()])
    row = dict(zip([column.key for column in table.columns], table.rows[0], strict=True))
    assert (row["pinned_bytes"].text, row["stack_bytes"].text, row["kept_bytes"].text) == ("8,296", "8,192", "500")
    for column, word in ("pinned_bytes", "size classes"), ("pinned_rss_bytes", "garbage"), ("kept_bytes", "goroutines"):
        assert word in row[column].note


def test_each_stack_is_of_the_first_recording_that_has_it():
    old, new = go_run(started_at="2026-01-01T00:00:00Z"), go_run(started_at="2026-02-01T00:00:00Z")
    other = stalled("rustls+ring@0.23.46", status="unsupported", reason="why", phases=[], negotiated=None)
    assert newest_of_each_stack([[], [new], [old, other]]) == [new, other]


def test_a_recording_of_advisories_alone_takes_no_other_ones_place():
    """Which may be of another machine, and has fewer sessions: it has no silent peers."""
    machine = go_run().machine.model_dump() | {"kernel": "5.10.0"}
    advisories = [go_run(point="announced-hello", machine=machine, started_at="2026-02-01T00:00:00Z")]
    whole = [go_run(point="silent"), go_run(point="announced-hello")]
    assert newest_of_each_stack([advisories, whole]) == whole
    assert newest_of_each_stack([advisories]) == advisories


def test_runs_of_two_machines_are_never_combined():
    machine = go_run().machine.model_dump() | {"kernel": "5.10.0"}
    elsewhere = stalled("rustls+ring@0.23.46", machine=machine, status="unsupported", reason="why", phases=[],
                        negotiated=None)  # fmt: skip
    assert newest_of_each_stack([[go_run()], [elsewhere]]) == [go_run()]
