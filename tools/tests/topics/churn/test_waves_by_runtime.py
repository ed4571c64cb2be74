"""What waves leave in a stack whose runtime tells what is live."""

from tests.support import synthetic
from tlsmem.schema.records import RecordLine
from tlsmem.topics.churn.waves import Churn, find_churn

PAIRS, WAVES = 200, 12
SESSION_BYTES, GOROUTINE_BYTES = 40_000, 500


def churned(leak: int) -> RecordLine:
    """A run of waves, a process for each role; a server leaks so many bytes in each wave."""
    phases = []
    named = [("contexts", None), *((name, wave) for wave in range(1, WAVES + 1) for name in ("open", "closed"))]
    for name, wave in [*named, ("drained", None), ("trimmed", None), ("freed", None)]:
        for role in ("client", "server"):
            phase = synthetic.phase("contexts", synthetic.SHAPES["null@c"], 2, "rss", 0, (role,))
            live = 150_000 + leak * (wave or 0) + (PAIRS * GOROUTINE_BYTES if wave else 0)
            live += PAIRS * (SESSION_BYTES - GOROUTINE_BYTES) if name == "open" else 0
            stacks = 300_000 + 32_768 * ((wave or 0) % 3)
            phase |= {"phase": name, "allocator": {"go": {"live_bytes": live, "stack_inuse_bytes": stacks}}}
            phases.append(phase | ({"wave": wave} if wave else {}))
    argv = ["build/harness/go@1.26.8", "churn", f"sessions={2 * PAIRS}", "pattern=waves", f"waves={WAVES}"]
    argv += ["trim=off", "seed=1", "threads=1", "role=server"]
    return synthetic.record("go@1.26.8", "tls13-rsa-aes128", 2 * PAIRS, scenario="churn", argv=argv, roles="split",
                            schema=8, phases=phases)  # fmt: skip


def server(leak: int) -> Churn:
    """The figures of the servers' process."""
    return next(one for one in find_churn([churned(leak)]) if one.role == "server")


def test_waves_that_leave_records_of_goroutines_are_flat():
    one = server(0)
    assert one.by_runtime
    assert one.session_bytes == SESSION_BYTES
    assert one.left_bytes(0) == one.left_bytes(-1) == PAIRS * GOROUTINE_BYTES
    assert one.heap_trend.verdict == "flat"


def test_a_leak_beyond_what_a_runtime_fills_of_its_own_grows():
    assert (server(65).heap_trend.verdict, server(65).heap_trend.slope) == ("growing", 65)
    assert server(64).heap_trend.verdict == "flat"
