"""The null harnesses in C, Rust and Go do, print and refuse the same under any argv.

Those in C and Rust link the core; harness-go/ copies it. What one of them does otherwise is a fault of one of them."""

import json
import re
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_core import NONE, PHASES, run
from test_two_processes import both, built

from tlsmem.config.scenarios import PHASES as PHASES_OF
from tlsmem.config.stall_points import stall_points

NULLS = "null@c", "null@rust", "null@go"
GO_NOTES = re.compile(r"GOGC=|clock: CLOCK_MONOTONIC|the runtime places its heap at random")
GO_THREADS = "threads={}: Go's scheduler places goroutines, so no thread has a share of the sessions"
SESSION_BYTES, SESSION_BLOCKS = 4072, 3
# Of a session in Go: size classes, its place, and the runtime's record of its goroutine; test_go.py tells them apart.
GO_LEAST_BYTES, GO_MOST_BYTES = 4300, 5100
GO_FREED_BYTES = 700  # the record of a goroutine that has ended, kept for the next
GO_ONCE_BYTES = 40_000  # a thread more or less of the runtime's, and its tables

MOST = 10**9
MOST_OF = {
    "threads": 256,
    "waves": 1_000_000,
    "names": 100_000,
    "seconds": 24 * 60 * 60,
    "size": 1 << 30,
}  # of other numbers it is MOST
LEAST_WORDS = {
    "memory": ["sessions=4"],
    "stall": ["sessions=4", "point=silent"],
    "churn": ["sessions=20", "pattern=lifetimes", "waves=2"],
    "contexts": ["sessions=4"],
    "handshake": ["rounds=2"],
    "throughput": ["rounds=2"],
}
PATTERNS = ["waves", "sawtooth", "lifetimes"]
SHARING = ["shared", "each-client", "each-server"]
CONTEXT_PHASES = ["library", "opened", "established", "closed", "freed", "trimmed"]
TEXTS = {
    "protocol": ["none", "NONE", "TLSv1.3", "", "nöne", "none\t", "p" * 600],
    "cipher": ["none", "None", "TLS_AES_128_GCM_SHA256", ""],
    "group": ["none", "NONE", "X25519", ""],
    "client_groups": [
        "none",
        "NONE",
        "library",
        "Library",
        "P-192:none",
        "none:P-192",
        ":none",
        "P-192",
        "g" * 600,
        "",
    ],
    "certs": ["none", ".", ""],
    "auth": ["none", "server", "mutual", "None", ""],
    "store": ["off", "on", "ON", ""],
    "resume": ["off", "on", "yes"],
    "options": ["default", "low-memory", "worst", ""],
    "aslr": ["off", "on", "0"],
    "data": ["short", "full", "none", ""],
    "thp": ["off", "host", "on"],
    "role": ["both", "client", "server", "none", ""],
    "keep": ["both", "client", "server", "all", ""],
    "until": [*PHASES, *PHASES_OF["stall"], "client 3", "payloads", ""],
    "point": [*stall_points(), "Silent", "silent ", "announced-helo", ""],
    "pattern": [*PATTERNS, "Waves", "tides", ""],
    "trim": ["off", "on", "1"],
    "sharing": [*SHARING, "all", ""],
    "marks": ["0", "1", "2"],
    "cpus": ["0", "0,0", "1023", "1024", "0,1023", "", "0,", ",0", "0,x", "0-1", "0," * 256 + "0", f"{MOST + 1}"],
}
NUMBERS = {
    "tickets": ["0", "1", "library", f"{MOST}"],
    "threads": ["1", "2", "3"],
    "sessions": ["2", "3", "4", "30"],
    "wires": ["0", "1", "1000"],
    "barrier": ["0", "1", "1000"],
    "window": ["1", "2", "7", "all", f"{MOST}", "ALL"],
    "cpu": ["0", "1023", "1024", f"{MOST}"],
    "rounds": ["1", "5", "17"],
    "waves": ["1", "3"],
    "seed": ["0", "7", f"{MOST}"],
    "cas": ["1", "2", f"{MOST}"],
    "names": ["1", "2", "100000"],
    "warmup": ["1", "3"],
    "seconds": ["3600", f"{MOST_OF['seconds']}"],
    "size": ["1", "1000", "70000", "300000", "1048576"],
}
OF_CHURN = ["pattern", "waves", "seed", "trim"]
OF_CONTEXTS = ["cas", "names", "sharing"]
OF_SPLIT = ["role", "wires", "barrier", "data", "window"]
OF_TIME = ["rounds", "warmup", "seconds", "cpus", "size"]
NOT_OF = {  # keys that a scenario does not have
    "memory": ["point", *OF_CHURN, *OF_CONTEXTS, *OF_TIME],
    "stall": ["keep", *OF_SPLIT, *OF_CHURN, *OF_CONTEXTS, *OF_TIME],
    "churn": ["keep", "point", *OF_CONTEXTS, *OF_TIME],
    "contexts": ["keep", "point", "threads", *OF_SPLIT, *OF_CHURN, *OF_TIME],
    "handshake": ["size", "data", "point", *OF_CHURN, *OF_CONTEXTS],
    "throughput": ["data", "point", *OF_CHURN, *OF_CONTEXTS],
}
NO_PAIRS = ["", "=", "=2", "sessions", "size", "--help"]
NO_KEYS = ["sesions=2", "Sessions=2", "sessions =2", "k" * 31 + "=1", "k" * 32 + "=1"]

derandomised = settings(derandomize=True, database=None, deadline=None)


@dataclass(frozen=True)
class Outcome:
    status: int
    said: str
    lines: list[dict[str, Any]]

    @property
    def threads(self) -> int:
        return self.lines[0]["threads"] if self.lines else 1

    @property
    def phases(self) -> dict[str, dict[str, Any]]:
        """By name; those of churn with their wave."""
        lines = [line for line in self.lines if line["record"] == "phase"]
        return {f"{line['phase']} {line['wave']}" if "wave" in line else line["phase"]: line for line in lines}


def read_outcome(done: subprocess.CompletedProcess[str]) -> Outcome:
    """Without the program's path, and with system errors in small letters, as Go writes them."""
    said = re.sub(r"\S*build/harness/\S+", "HARNESS", done.stderr)
    said = re.sub(r"(?<=: )[A-Z][a-z]+( [\w/-]+)+$", lambda error: error[0].lower(), said, flags=re.MULTILINE)
    return Outcome(done.returncode, said, [json.loads(line) for line in done.stdout.splitlines()])


def select_comparable(line: dict[str, Any], every_round: bool) -> Any:
    """Select a line's keys, in their order, and its values that are neither measured nor the runtime's own.

    Without `every_round` the thread may have made fewer rounds than asked: the first thread that is done stops all."""
    match line["record"]:
        case "run":
            values = line | {"notes": [note for note in line["notes"] if not GO_NOTES.match(note)]}
        case "phase":
            values = {key: line.get(key) for key in ("process", "phase", "wave", "wire_bytes", "received_bytes")}
        case "thread":
            values = {key: line[key] for key in ("thread", "cpu", "resumed")}
            values["parts"] = [select_of_part(part, every_round) for part in line["parts"]]
        case "end":
            values = line | {"elapsed_ns": None}
    return list(line), values


def select_of_part(part: dict[str, Any], every_round: bool) -> Any:
    of_rounds = "histogram" in part
    whole = sum(count for _, count in part["histogram"]) == part["count"] if of_rounds else None
    counts = [part["count"], part.get("bytes")] if every_round or not of_rounds else None
    return list(part), part["part"], part.get("faults_count"), whole, counts


def assert_alike(one: Outcome, other: Outcome) -> None:
    several = one.threads > 1
    said = [re.sub(r"\d+", "N", it.said) if several else it.said for it in (one, other)]  # any of them may fail first
    assert (one.status, said[0]) == (other.status, said[1])
    assert len(one.lines) == len(other.lines)
    for line, of_other in zip(one.lines, other.lines, strict=True):
        assert select_comparable(line, not several) == select_comparable(of_other, not several)
    rounds = [
        max((line["rounds"] for line in it.lines if line["record"] == "thread"), default=0) for it in (one, other)
    ]
    assert rounds[0] == rounds[1]


def assert_go_alike(in_c: Outcome, in_go: Outcome) -> None:
    """As assert_alike, but for the one thing that Go's harness refuses: several threads where it meters."""
    if in_c.threads == 1 or in_c.lines[0]["meter"] == "time":
        assert_alike(in_c, in_go)
        return
    assert in_go.status == 77 and in_go.said == f"memtest: null: {GO_THREADS.format(in_c.threads)}\n"
    assert select_comparable(in_go.lines[0], True) == select_comparable(in_c.lines[0], True)
    assert [line["record"] for line in in_go.lines] == ["run", "end"]


def check(words: list[str]) -> tuple[Outcome, Outcome]:
    """Run all three and compare; return what the harnesses in C and in Go did."""
    in_c, in_rust, in_go = (read_outcome(run(built(stack), *words)) for stack in NULLS)
    assert_alike(in_c, in_rust)
    assert_go_alike(in_c, in_go)
    return in_c, in_go


def list_numbers_out_of_range(key: str) -> list[str]:
    """Also what is no number at all."""
    most = MOST_OF.get(key, MOST)
    return ["", "0", "-2", "+2", " 2", "2 ", "2x", "0x2", "2e1", "1_0", "02", "２", f"{most + 1}", f"{2**64 + 2}"]


def pick(values: dict[str, list[str]]) -> st.SearchStrategy[str]:
    """A key, and one of its values."""
    return st.sampled_from(sorted(values)).flatmap(
        lambda key: st.sampled_from(values[key]).map(lambda it: f"{key}={it}")
    )


OUT_OF_RANGE = {key: list_numbers_out_of_range(key) for key in NUMBERS}
VALUES = {key: TEXTS.get(key, []) + NUMBERS.get(key, []) + OUT_OF_RANGE.get(key, []) for key in TEXTS | NUMBERS}
any_word = st.one_of(pick(TEXTS), pick(NUMBERS), pick(OUT_OF_RANGE), st.sampled_from(NO_PAIRS + NO_KEYS))


@st.composite
def any_argv(draw: st.DrawFn) -> list[str]:
    """What a scenario needs, or all of it but one word, and up to four words that repeat, contradict or break it."""
    scenario = draw(st.sampled_from([*LEAST_WORDS, *LEAST_WORDS, "Memory", ""]))
    needed = [*NONE, *LEAST_WORDS.get(scenario, ["sessions=4"])]
    missing = draw(st.sampled_from([None, None, None, *needed]))
    more = draw(st.lists(any_word, min_size=missing is None, max_size=4))
    return [scenario, *(word for word in needed if word != missing), *more]


def one_of_each(**values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[str]]:
    """Any of these keys, each once and in any order."""
    return (
        st.fixed_dictionaries({}, optional=values)
        .flatmap(lambda it: st.permutations(list(it.items())))
        .map(lambda items: [f"{key}={value}" for key, value in items])
    )


switch = st.sampled_from(["off", "on"])
IGNORED = {
    "tickets": st.sampled_from([0, 1, 2, "library"]),
    "store": switch,
    "options": st.sampled_from(["default", "low-memory"]),
}
PLACE = {"aslr": switch, "thp": st.sampled_from(["off", "host"])}
METERED = {"marks": st.sampled_from("01"), "cpu": st.just(0), **PLACE, **IGNORED}
memory_words = one_of_each(
    window=st.sampled_from(["all", *range(1, 50)]),
    keep=st.sampled_from(["both", "client", "server"]),
    until=st.sampled_from(PHASES),
    data=st.sampled_from(["short", "full"]),
    **METERED,
)
churn_words = one_of_each(
    pattern=st.sampled_from(PATTERNS),
    waves=st.integers(1, 6),
    seed=st.integers(0, MOST),
    trim=switch,
    window=st.sampled_from(["all", *range(1, 50)]),
    data=st.sampled_from(["short", "full"]),
    **METERED,
)
context_words = one_of_each(
    sharing=st.sampled_from(SHARING),
    names=st.sampled_from([1, 1, 1, 2]),
    cas=st.sampled_from([1, 1, 1, 2]),
    auth=st.sampled_from(["none", "server", "mutual"]),
    until=st.sampled_from(CONTEXT_PHASES),
    **METERED,
)
stall_words = one_of_each(until=st.sampled_from(PHASES_OF["stall"]), **METERED)
timed_words = one_of_each(
    warmup=st.integers(1, 5),
    seconds=st.just(3600),
    threads=st.integers(1, 3),
    cpus=st.sampled_from(["0", "0,0"]),
    **PLACE,
    **IGNORED,
)


@pytest.mark.thorough
@example([])
@example(["memory"])
@settings(derandomised, max_examples=100)
@given(any_argv())
def test_any_argv_has_the_same_status_sentence_and_lines(argv):
    check(argv)


@pytest.mark.slow
@pytest.mark.parametrize("key", sorted(VALUES))
def test_each_value_alone_has_the_same_status_sentence_and_lines(key):
    scenario = next(scenario for scenario, others in NOT_OF.items() if key not in others)
    for value in VALUES[key]:
        check([scenario, *NONE, *LEAST_WORDS[scenario], f"{key}={value}"])


@pytest.mark.thorough
@settings(derandomised, max_examples=30)
@given(st.integers(1, 45), memory_words)
def test_a_memory_run_has_the_same_phases_and_holds_the_same_sessions(pairs, words):
    assert_holds_the_same(["memory", f"sessions={2 * pairs}", *NONE, *words])


@pytest.mark.thorough
@settings(derandomised, max_examples=20)
@given(st.integers(1, 45), st.sampled_from(["silent", "silent-server"]), stall_words)
def test_a_stalled_run_has_the_same_phases_and_holds_the_same_sessions(pairs, point, words):
    assert_holds_the_same(["stall", f"sessions={2 * pairs}", f"point={point}", *NONE, *words])


@pytest.mark.thorough
@settings(derandomised, max_examples=20)
@given(st.integers(4, 250), churn_words)
def test_a_churned_run_has_the_same_waves_and_holds_the_same_sessions(pairs, words):
    assert_holds_the_same(["churn", f"sessions={2 * pairs}", "pattern=waves", "waves=1", *NONE, *words])


@pytest.mark.thorough
@settings(derandomised, max_examples=30)
@given(st.integers(1, 45), context_words)
def test_a_run_of_contexts_has_the_same_phases_and_holds_the_same_sessions(pairs, words):
    assert_holds_the_same(["contexts", f"sessions={2 * pairs}", *NONE, *words])


def assert_holds_the_same(words: list[str]) -> None:
    """In all three the same phases with the same number of sessions; in C and Rust the same bytes."""
    in_c, in_go = check(words)
    heaps = [read_outcome(run(built(stack), *words, heap=True)) for stack in NULLS[:2]]
    assert_alike(*heaps)
    for phase, line in heaps[0].phases.items():
        for role in "client", "server":
            assert line["heap"][role] == heaps[1].phases[phase]["heap"][role], (phase, role)
    assert_go_holds_as_many(heaps[0], in_go)
    assert list(in_c.phases) == list(heaps[0].phases)


def assert_go_holds_as_many(in_c: Outcome, in_go: Outcome) -> None:
    """Each phase holds as many sessions in Go as in C: C's bytes count them exactly, Go's lie within bounds."""
    live = {phase: line["allocator"]["go"]["live_bytes"] for phase, line in in_go.phases.items() if "allocator" in line}
    for phase in live:  # none with marks=1
        more = live[phase] - live[next(iter(live))]
        heap = [in_c.phases[phase]["heap"][role] for role in ("client", "server")]
        held = sum(role["live_blocks"] for role in heap) // SESSION_BLOCKS
        freed = sum(role["cumulative_blocks"] for role in heap) // SESSION_BLOCKS - held
        assert sum(role["live_bytes"] for role in heap) == held * SESSION_BYTES, phase
        assert held * GO_LEAST_BYTES <= more + GO_ONCE_BYTES, phase
        assert more <= held * GO_MOST_BYTES + freed * GO_FREED_BYTES + GO_ONCE_BYTES, phase


@pytest.mark.thorough
@settings(derandomised, max_examples=30)
@given(st.sampled_from(["handshake", "throughput"]), st.integers(1, 12), st.integers(200, 1 << 21), timed_words)
def test_a_timed_run_has_the_same_parts(scenario, rounds, size, words):
    sized = [f"size={size}"] if scenario == "throughput" else []
    in_c, _ = check([scenario, f"rounds={rounds}", *NONE, *sized, *words])
    assert in_c.status == 0, in_c.said


OF_SERVER = [
    [],
    ["client_groups=none:P-192"],
    ["sessions=6"],
    ["window=2"],
    ["window=0"],
    ["keep=client"],
    ["until=client 2"],
    ["until=idle"],
]


@pytest.mark.thorough
@pytest.mark.parametrize("stacks", [("null@c", "null@go"), ("null@go", "null@rust")], ids=" with ".join)
@settings(derandomised, max_examples=20)
@given(
    st.integers(1, 20),
    memory_words.filter(lambda words: not {"keep=client", "keep=server"} & {*words}),
    st.sampled_from(OF_SERVER),
)
def test_two_languages_in_two_processes_do_what_two_in_c_do(stacks, pairs, words, of_server):
    """Also where the server's process was started with a word of its own."""
    words, own = [f"sessions={2 * pairs}", *NONE, *words], ([], of_server)
    expected = both([built("null@c")] * 2, *words, own=own)
    found = both([built(stack) for stack in stacks], *words, own=own)
    for one, other in zip(expected, found, strict=True):
        assert_alike(read_outcome(one), read_outcome(other))


@pytest.mark.thorough
@settings(derandomised, max_examples=20)
@given(st.integers(4, 250), churn_words)
def test_two_languages_in_two_processes_choose_the_same_sessions_that_end(pairs, words):
    """A pair of which one end stays and the other ends is not opened again, or meets what it does not expect."""
    words = [f"sessions={2 * pairs}", "pattern=lifetimes", "waves=4", *NONE, *words]
    expected = both([built("null@c")] * 2, *words, scenario="churn")
    found = both([built("null@go"), built("null@c")], *words, scenario="churn")
    for one, other in zip(expected, found, strict=True):
        assert_alike(read_outcome(one), read_outcome(other))


@pytest.mark.parametrize("scenario", LEAST_WORDS)
def test_a_full_stdout_has_the_same_sentence(scenario):
    with open("/dev/full", "wb") as full:
        words = [scenario, *LEAST_WORDS[scenario], *NONE]
        done = [
            subprocess.run([built(stack), *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
            for stack in NULLS
        ]
    ends = [(it.returncode, it.stderr.lower()) for it in done]
    assert ends == [(1, "memtest: null: cannot write to stdout: no space left on device\n")] * 3
