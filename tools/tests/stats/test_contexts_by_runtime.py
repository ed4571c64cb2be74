"""What contexts hold in a stack whose runtime tells what is live: of the whole process, so by slopes over pairs."""

import pytest

from tests.support import synthetic
from tlsmem.config.scenarios import PHASES
from tlsmem.schema.records import RecordLine
from tlsmem.stats.contexts import Contexts, find_contexts
from tlsmem.stats.missing import Missing

CLIENT_BYTES, NAME_BYTES, SESSION_BYTES = 2_600, 10_000, 30_000
SHARED_BYTES = 12_000  # of the one context of the other role


def run(sessions: int, names: int = 1, sharing: str = "shared") -> RecordLine:
    """A run in which each pair adds its sessions, and a client's context if clients have one each."""
    pairs = sessions // 2
    contexts = pairs * CLIENT_BYTES if sharing == "each-client" else CLIENT_BYTES
    opened = SHARED_BYTES + contexts + (names - 1) * NAME_BYTES
    live = {"opened": opened, "established": opened + pairs * SESSION_BYTES, "closed": opened + pairs * 1_000}
    made = []
    for name in PHASES["contexts"]:
        phase = synthetic.phase("contexts", synthetic.SHAPES["null@c"], 2, "rss", 0) | {"phase": name}
        books = {"live_bytes": 100_000 + live.get(name, 0), "stack_inuse_bytes": 300_000}
        made.append(phase | {"allocator": {"go": books}})
    argv = ["build/harness/go@1.26.8", "contexts", f"sessions={sessions}", "cas=1", f"names={names}"]
    argv.append(f"sharing={sharing}")
    suite = "tls13-rsa-aes128-many"
    return synthetic.record("go@1.26.8", suite, sessions, scenario="contexts", argv=argv, schema=8, phases=made)


@pytest.fixture
def of_go() -> Contexts:
    runs = [run(sessions, sharing="each-client") for sessions in (100, 400)]
    (one,) = find_contexts([*runs, run(20, names=100), run(20, names=10_000)])
    return one


def test_a_context_is_the_slope_over_pairs_and_a_name_over_names(of_go):
    assert of_go.by_runtime
    assert of_go.context("client").opened == CLIENT_BYTES
    assert of_go.name().opened == NAME_BYTES


def test_what_a_runtime_cannot_tell_apart_is_missing(of_go):
    client = of_go.context("client")
    assert isinstance(client.used, Missing) and isinstance(client.kept, Missing)
    assert "goroutines" in client.used.reason
    session = of_go.session("client", "each-client")
    assert isinstance(session.opened, Missing) and "both roles" in session.opened.reason
