"""The scenario churn: exact bytes after each wave, a leak at its wave, and which sessions end."""

import json

import pytest
from test_core import FAULTY, NONE, ROOT, run
from test_stall import SERVER_ONLY, TLS13
from test_two_processes import both

from tests.support import built_harness
from tlsmem.build import c_stack, commands
from tlsmem.config import definitions
from tlsmem.topics.churn.waves import HEAP_TOLERANCE_BYTES, find_trend

SESSION_BYTES = 4072  # of the null stack, in three blocks
PAIRS = 200
SESSIONS = f"sessions={2 * PAIRS}"


def lines_of(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def churn(harness, pattern, waves, *arguments, suite=NONE, **environment):
    """What a run under the heap meter recorded: its phases, in order."""
    words = ["churn", SESSIONS, f"pattern={pattern}", f"waves={waves}", *suite, *arguments]
    lines = lines_of(run(harness, *words, heap=True, **environment))
    assert lines[-1]["status"] == "measured"
    return [line for line in lines if line["record"] == "phase"]


def live(phases, name, role="server"):
    """Bytes of a role that are live at each end of a phase, beyond those at `contexts`."""
    first = phases[0]["heap"][role]["live_bytes"]
    return [phase["heap"][role]["live_bytes"] - first for phase in phases if phase["phase"] == name]


def staying(pattern, waves):
    """How many pairs are open when each wave has ended."""
    stragglers = [2 * min(wave, 3) for wave in range(1, waves + 1)]  # of 200 pairs 1 %, through the ends of three waves
    return {"waves": [0] * waves, "sawtooth": stragglers, "lifetimes": [PAIRS * 3 // 4] * waves}[pattern]


MORE = [pytest.param(one, id=one[0], marks=pytest.mark.thorough) for one in (["window=7"], ["trim=on"])]


@pytest.mark.parametrize("arguments", [[], ["threads=3", "data=full"], *MORE], ids=" ".join)
@pytest.mark.parametrize("pattern", ["waves", "sawtooth", "lifetimes"])
def test_without_a_leak_live_heap_is_that_of_the_sessions_open(null, pattern, arguments):
    phases = churn(null, pattern, 6, *arguments)
    waves = [(name, wave) for wave in range(1, 7) for name in ("open", "closed")]
    last = [("drained", None), ("trimmed", None), ("freed", None)]
    assert [(phase["phase"], phase.get("wave")) for phase in phases] == [("contexts", None), *waves, *last]
    for role in "client", "server":
        assert live(phases, "open", role) == [PAIRS * SESSION_BYTES] * 6
        assert live(phases, "closed", role) == [pairs * SESSION_BYTES for pairs in staying(pattern, 6)]
        assert live(phases, "drained", role) == [0]


def resident_when_ended(harness, *arguments):
    """Anonymous memory when the last of two waves has ended, in pages for each pair that it closed."""
    lines = lines_of(run(harness, "churn", SESSIONS, "pattern=waves", "waves=2", *NONE, *arguments))
    phases = [line["rss_anon_bytes"] for line in lines if line.get("phase") in ("contexts", "closed")]
    return (phases[-1] - phases[0]) / 4096 / PAIRS


def test_a_trimmed_wave_gives_its_pages_back(null):
    """A session of the null stack is one page; nothing else is allocated."""
    assert resident_when_ended(null) > 1.9
    assert resident_when_ended(null, "trim=on") < 0.2


def test_the_run_line_has_the_keys_of_the_scenario(null):
    done = run(null, "churn", SESSIONS, "pattern=lifetimes", "waves=2", "seed=7", "trim=on", *NONE)
    assert lines_of(done)[0]["settings"] == {
        "pattern": "lifetimes",
        "waves": "2",
        "trim": "on",
        "seed": "7",
        "threads": "1",
    }


def build_leaky(name, folder):
    """The harness of a stack, with 64 bytes leaked at one of LEAK_EVERY sessions freed."""
    built_harness.find(name)  # its library is built, or the test skipped
    stack, harness, log = definitions.stacks()[name], folder / "leaky", folder / "log"
    library = c_stack.provide_library(name, stack, ROOT, log)
    files = [ROOT / "memtest/tests/leaky.c", *c_stack.driver_files(stack, ROOT), ROOT / "build/core/libmemtest.a"]
    command = [
        *c_stack.driver_command(stack, library.cflags, ROOT),
        *map(str, files),
        f"@{ROOT / c_stack.WRAPPED_FLAGS}",
    ]
    commands.run([*command, *library.libraries, "-ldl", "-lpthread", "-o", str(harness)], log, name, ROOT)
    return harness


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "suite", "pattern"),
    [
        *[("null@c", NONE, pattern) for pattern in ("waves", "sawtooth", "lifetimes")],
        pytest.param("openssl@3.5.5", [*TLS13, *SERVER_ONLY], "sawtooth", marks=pytest.mark.slow),
    ],
    ids=["null-waves", "null-sawtooth", "null-lifetimes", "openssl-sawtooth"],
)
def test_a_leak_of_64_bytes_a_wave_flips_the_verdict(name, suite, pattern, tmp_path):
    """It begins in the fourth wave, with the last session that the wave frees."""
    ended = [PAIRS - pairs for pairs in staying(pattern, 4)]  # those of a wave; from the third wave on as many
    freed = 2 + 2 * sum(ended[:3])  # sessions, with the two of the warm-up
    leaking = {"LEAK_EVERY": str(2 * ended[3]), "LEAK_AFTER": str(freed)}
    harness = build_leaky(name, tmp_path)
    sound, broken = (live(churn(harness, pattern, 9, suite=suite, **fault), "closed") for fault in ({}, leaking))
    assert [after - before for before, after in zip(sound, broken, strict=True)] == [0, 0, 0, *range(64, 7 * 64, 64)]
    assert sound[2:] == [sound[2]] * 7
    trends = [find_trend(values, HEAP_TOLERANCE_BYTES) for values in (sound, broken)]
    assert [(trend.slope, trend.verdict) for trend in trends] == [(0, "flat"), (64, "growing")]


def random_numbers(state):
    """SplitMix64, as memtest/churn.c has it."""
    mask = 2**64 - 1
    while True:
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        yield z ^ z >> 31


def numbers_that_end(seed, waves):
    """The numbers of the servers that each wave of lifetimes ends, added up; the warm-up's is 0."""
    numbers, next_number, here = random_numbers(seed), 1, {}
    for _ in range(waves):
        for pair in range(PAIRS):
            if pair not in here:
                here[pair], next_number = next_number, next_number + 1
        wanted, sum_ended = PAIRS // 4, 0
        for pair in range(PAIRS):
            if next(numbers) % (PAIRS - pair) < wanted:
                wanted, sum_ended = wanted - 1, sum_ended + here.pop(pair)
        yield sum_ended


@pytest.mark.parametrize("seed", [1, 2])
def test_the_seed_says_which_sessions_end(seed):
    phases = churn(FAULTY, "lifetimes", 5, f"seed={seed}", FAULT="leak its number")
    leaked = [size - PAIRS * 3 // 4 * SESSION_BYTES for size in live(phases, "closed")]
    ended = list(numbers_that_end(seed, 5))
    assert leaked == [sum(ended[: wave + 1]) for wave in range(5)]
    assert ended != list(numbers_that_end(seed + 1, 5))


def test_two_processes_have_the_same_waves(null):
    words = [SESSIONS, "pattern=lifetimes", "waves=3", "window=9", *NONE]
    client, server = (lines_of(done) for done in both((null, null), *words, scenario="churn"))
    assert [line.get("wave") for line in client] == [line.get("wave") for line in server]
    assert client[-1]["status"] == server[-1]["status"] == "measured"


def test_processes_of_other_seeds_do_not_begin(null):
    words = [SESSIONS, "pattern=lifetimes", "waves=3", *NONE]
    client, server = both((null, null), *words, scenario="churn", own=(["seed=1"], ["seed=2"]))
    assert (client.returncode, server.returncode) == (1, 1)
    theirs, mine = (f"scenario=churn pattern=lifetimes waves=3 seed={seed}" for seed in (2, 1))
    assert f"the server's process was started with {theirs}, this one with {mine}" in client.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["pattern=waves"], "waves= is missing"),
        (["waves=3"], "pattern= is missing"),
        (["pattern=wave", "waves=3"], "pattern=wave: must be waves, sawtooth or lifetimes"),
        (["pattern=waves", "waves=0"], "waves=0: must be a whole number from 1 to 1000000"),
        (["pattern=waves", "waves=3", "trim=yes"], "trim=yes: must be off or on"),
        (["pattern=waves", "waves=3", "seed=-1"], "seed=-1: must be a whole number from 0 to 1000000000"),
        (
            ["sessions=6", "pattern=sawtooth", "waves=3"],
            "pattern=sawtooth needs 8 sessions, so that the stragglers of four waves are not the same ones",
        ),
        (["pattern=waves", "waves=3", "rounds=2"], "rounds=2: is no key of the scenario churn"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_what_the_scenario_cannot_do_is_refused_with_a_sentence(null, arguments, why):
    done = run(null, "churn", SESSIONS, *arguments, *NONE)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"memtest: {why}\n")
