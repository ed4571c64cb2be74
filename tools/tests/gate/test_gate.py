"""The gate: verdicts that are known, from recordings that nobody measured; and what a CI is told of them."""

import json
import re
import shutil
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.gate.test_budget import ONE, text_of
from tests.support import commands, in_process, synthetic, synthetic_timed
from tests.support import planted as planted_sites
from tlsmem.base import stdout, termination
from tlsmem.base.paths import ROOT
from tlsmem.build.commands import BuildFailed
from tlsmem.gate import budget_meters, builds, verdicts
from tlsmem.gate.budget import BudgetError
from tlsmem.gate.judge import load_judged, load_recording, run, run_gate
from tlsmem.schema.records import RecordLine

SUITE, OPENSSL, RUSTLS = "tls13-rsa-aes256", "openssl@3.5.5", "rustls+aws-lc@0.23.46"
COUNTS = (100, 1000)
RSS = ONE | {"meter": "rss", "role": "pair", "limit": "+1%"}
RATE = {"stack": OPENSSL, "suite": SUITE, "role": "client", "meter": "handshakes", "limit": "-3%"}


def runs(client_bytes: int = 0, factors=(1.0, 1.001, 0.999), **changes) -> list[RecordLine]:
    """Of OpenSSL: two heap runs, with so many bytes more a client session; RSS with repeats by these factors."""
    rss = [synthetic.record(OPENSSL, SUITE, count, **changes) for count in COUNTS]
    repeats = [synthetic.scaled(one, factor, at) for at, factor in enumerate(factors, start=1) for one in rss]
    heap = [planted(synthetic.record(OPENSSL, SUITE, count, "heap", **changes), client_bytes) for count in COUNTS]
    return [*repeats, *heap]


def planted(run: RecordLine, client_bytes: int) -> RecordLine:
    """With so many bytes more live of each client session, as long as there are any."""
    phases = [one.model_dump() for one in run.phases]
    for one in phases:
        for role in ("client", "total"):
            for name in ("live_bytes", "peak_bytes"):
                one["heap"][role][name] += client_bytes * (run.sessions // 2) * (one["phase"] in synthetic.MADE)
    return RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": phases})


def rates(*factors: float, **changes) -> list[RecordLine]:
    return [
        synthetic_timed.record(OPENSSL, SUITE, repeat=at, factor=one, **changes) for at, one in enumerate(factors, 1)
    ]


def uneven(run: RecordLine) -> RecordLine:
    """One client session of its 500 has 200 bytes more."""
    phases = [one.model_dump() for one in run.phases]
    for one in (phase for phase in phases if phase["phase"] in synthetic.MADE):
        for role in ("client", "total"):
            for name in ("live_bytes", "peak_bytes"):
                one["heap"][role][name] += 200
    return RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": phases})


def machine(**changes) -> dict:
    return {"machine": runs()[0].machine.model_dump() | changes}


@pytest.fixture
def judged(tmp_path, capsys):
    """The gate on these budgets, of a recording with these runs, against a baseline; its status and what it said."""

    def judge(new, *entries, old=None, words=(), **head):
        for name in ("new", "old"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        synthetic.write(tmp_path / "new", new)
        if old is not None:
            synthetic.write(tmp_path / "old", old)
            head["baseline"] = "old"
        (tmp_path / "BUDGET.toml").write_text(text_of(*entries, **head))
        where = ["--recording", str(tmp_path / "new")]
        status = run(
            commands.parser("gate").parse_args([str(tmp_path / "BUDGET.toml"), *where, *map(str, words)]),
            commands.parser("gate"),
        )
        return status, *capsys.readouterr()

    return judge


def read_figures(out: str) -> list[tuple]:
    """Value, what is allowed and verdict of each budget, of the table as JSON."""
    return [(row["value"], row["allowed"], row["verdict"]) for row in json.loads(out)["tables"][0]["rows"]]


def verdict(out: str) -> str:
    """What stands above the tables."""
    return out.partition("**Budgets**")[0]


AS_JSON = ("--format", "json")


def test_what_is_as_before_is_held(judged, snapshot):
    budgets = [ONE | {"limit": "+0B"}, ONE | {"meter": "blocks", "limit": "+0 blocks"}, RSS, RATE]
    status, out, err = judged([*runs(), *rates(1, 1, 1)], *budgets, old=[*runs(), *rates(1, 1, 1)])
    assert (status, out.count("| held ")) == (0, 4)
    assert out.startswith("### 4 of 4 budgets are held\n") and not err
    assert out == snapshot(name="table")


def test_one_byte_more_of_a_client_session_exceeds_and_is_named(judged, snapshot):
    budgets = [ONE | {"role": "server", "limit": "+0B"}, ONE | {"limit": "+0B"}]
    status, out, err = judged(runs(client_bytes=1), *budgets, old=runs(), words=AS_JSON)
    assert status == 3
    assert read_figures(out) == [(52_000, 52_000, "held"), (64_001, 64_000, "exceeded")]
    assert err == snapshot


ALLOCATIONS = {"stack": OPENSSL, "suite": SUITE, "role": "server", "phase": "established", "meter": "allocations"}


@pytest.mark.parametrize("limit", ["+1 blocks", "40 blocks"])
def test_allocations_that_exceed_have_call_sites(judged, limit, snapshot):
    """Since the baseline those that allocate more; without one those that allocate most."""
    sign = planted_sites.TEMPORARY | {"server": {"tls_sign": (1_024, 8)}}
    old, new = (planted_sites.counted(temporary=one) for one in (planted_sites.TEMPORARY, sign))
    status, out, _ = judged(new, ALLOCATIONS | {"limit": limit}, old=old if limit.startswith("+") else None)
    assert status == 3
    assert out == snapshot


HELD_BY_SERVER = ALLOCATIONS | {"meter": "heap", "limit": "14,120 B"}
GROWN = "tls_construct_server_hello"


def call_sites(out: str) -> tuple[str, list[tuple]]:
    """The title, and more bytes by innermost caller."""
    (table,) = json.loads(out)["tables"][1:]
    return table["title"], [(row["bytes"], row["by"].partition(" ")[0]) for row in table["rows"]]


@pytest.mark.parametrize("limit", ["14,120 B", "+4 B"])
def test_call_sites_that_grew_are_named_whether_the_limit_is_absolute_or_not(judged, limit):
    new = planted_sites.counted(planted_sites.with_sites("server", **{GROWN: (4_132, 20)}))
    status, out, _ = judged(new, HELD_BY_SERVER | {"limit": limit}, old=planted_sites.counted(), words=AS_JSON)
    assert status == 3
    title, rows = call_sites(out)
    assert title.endswith("call sites that grew") and rows == [(16, GROWN)]


@pytest.mark.parametrize("old", [{}, {"stack": "openssl@4.0.3"}, {"argv": ["x", "memory", "certs=rsa-4096"]}])
def test_without_growth_or_a_comparable_baseline_the_largest_sites_are_named(judged, old):
    """Nothing grew, the baseline has another stack, or other settings."""
    budget, before = HELD_BY_SERVER | {"limit": "14,000 B"}, planted_sites.counted(**old)
    status, out, _ = judged(planted_sites.counted(), budget, old=before, words=AS_JSON)
    title, rows = call_sites(out)
    assert status == 3 and title.endswith("call sites that hold most")
    assert rows == [(10_000, "SSL_new"), (4_116, GROWN)]


def test_a_baseline_that_is_not_there_is_no_obstacle_to_an_absolute_limit(judged, tmp_path):
    status, _, err = judged(runs(), ONE | {"limit": "64,000 B"}, baseline="nowhere")
    assert status == 0
    assert "there is no recording at" in err and "no limit is relative to it" in err


@pytest.mark.parametrize("limit, status", [("64,000 B", 0), ("62.5 KiB", 0), ("63,999 B", 3), ("62.4 KiB", 3)])
def test_amounts_need_no_baseline(judged, limit, status):
    assert judged(runs(), ONE | {"limit": limit})[0] == status


@pytest.mark.parametrize("factor, status", [(1.009, 0), (1.0195, 0), (1.0225, 3)])
def test_rss_exceeds_beyond_the_limit_and_the_spread_of_repeats(judged, factor, status):
    """Repeats lie 1 % apart."""
    noisy = [factor * one for one in (1, 1.005, 0.995)]
    found, out, _ = judged(runs(factors=noisy), RSS, old=runs(factors=(1, 1.005, 0.995)))
    assert found == status
    assert (verdicts.INSIDE in out) == (factor == 1.0195)


def test_rss_measured_once_is_given_the_largest_known_spread(judged, snapshot):
    found, out, _ = judged(runs(factors=[1.03]), RSS, old=runs(factors=[1]))
    assert found == 0
    assert out == snapshot
    assert judged(runs(factors=[1.05]), RSS, old=runs(factors=[1]))[0] == 3


@pytest.mark.parametrize("slower, status", [(1.02, 0), (1.03, 0), (1.06, 3)])
def test_a_rate_is_at_least_and_may_vary_as_its_repeats_do(judged, slower, status, snapshot):
    noisy = [slower * one for one in (1, 1.01, 0.99)]
    found, out, _ = judged(rates(*noisy), RATE, old=rates(1, 1.01, 0.99))
    assert found == status
    assert verdict(out) == snapshot


def test_sessions_that_are_not_alike_may_differ_by_less_than_a_byte(judged, snapshot):
    new = [*runs()[:-1], uneven(runs()[-1])]
    found, out, _ = judged(new, ONE | {"limit": "64,000 B"})
    assert found == 0
    assert out == snapshot
    ((value, *_),) = read_figures(judged(new, ONE | {"limit": "64,000 B"}, words=AS_JSON)[1])
    assert value == pytest.approx(64_000 + 200 / 450)


def test_the_heap_of_another_machine_is_a_baseline_and_its_rss_and_rates_are_none(judged, snapshot):
    old = [*runs(**machine(kernel="5.10.0")), *rates(1, 1, 1, **machine(kernel="5.10.0"))]
    found, out, err = judged([*runs(), *rates(1, 1, 1)], ONE | {"limit": "+0B"}, RSS, RATE, old=old)
    assert (found, out.count("| held "), out.count("cannot be judged ")) == (3, 1, 3)
    assert out.startswith("### 1 of 3 budgets is held; 2 cannot be judged\n") and not err
    assert out == snapshot(name="table")


def test_a_baseline_with_other_settings_is_none(judged, snapshot):
    argv = [word.replace("rsa-2048", "rsa-4096") for word in runs()[0].argv]
    found, out, _ = judged(runs(), ONE | {"limit": "+0B"}, old=runs(argv=argv))
    assert found == 3
    assert verdict(out) == snapshot


def test_rss_is_held_against_a_line_through_the_same_sessions(judged, snapshot):
    old = [*runs(), *(synthetic.record(OPENSSL, SUITE, count) for count in (5000, 10_000))]
    bent = [one for one in old if one.sessions < 5000]
    bent += [synthetic.scaled(synthetic.record(OPENSSL, SUITE, 10_000), 0.5, at) for at in (1, 2, 3)]
    assert judged(runs(), RSS, old=bent)[0] == 0
    other = [one for one in old if one.sessions not in COUNTS]
    found, out, _ = judged(runs(), RSS, old=other)
    assert found == 3
    assert verdict(out) == snapshot


def test_what_the_runs_do_not_have_cannot_be_judged_and_says_why(judged, snapshot):
    late, peak = ONE | {"phase": "client 9"}, ONE | {"meter": "peak-rss", "role": "process", "phase": "peak"}
    suite = ONE | {"suite": "tls12-rsa-aes256"}
    found, out, _ = judged(runs(), late, peak, suite, sessions=500)
    assert found == 3
    assert verdict(out) == snapshot


def test_what_a_stack_cannot_do_cannot_be_judged_and_what_failed_is_exit_1(judged, snapshot):
    cannot = synthetic.failed(OPENSSL, SUITE, 100, "no TLS 1.3", "unsupported", "heap")
    found, out, _ = judged([cannot], ONE)
    assert found == 3
    assert verdict(out) == snapshot(name="unsupported")
    found, out, err = judged([synthetic.failed(OPENSSL, SUITE, 100, "killed by SIGSEGV", meter="heap")], ONE)
    assert found == 1
    assert verdict(out) == snapshot(name="failed")
    assert "killed by SIGSEGV" in err


def test_of_one_number_of_sessions_there_is_a_quotient_and_it_is_said(judged, snapshot):
    found, out, _ = judged([one for one in runs() if one.sessions == 100], ONE | {"limit": "63 KiB"})
    assert found == 0
    assert out == snapshot(name="table")
    found, out, _ = judged(runs(), ONE | {"limit": "+0B"}, old=[one for one in runs() if one.sessions == 100])
    assert found == 3
    assert verdict(out) == snapshot(name="verdict")


UNUSABLE = [
    ({"limit": "+1%"}, {}),
    ({"limit": "+1%"}, {"baseline": "none"}),
    ({"limit": "+1%"}, {"baseline": "empty"}),
    ({"limit": "+1%"}, {"baseline": "BUDGET.toml"}),
    ({"stack": "opnssl@3.5.5"}, {}),
    ({"stack": "go@1.26.8"}, {}),
    ({"stack": "null@c"}, {}),
    ({"suite": "none"}, {}),
]


@pytest.mark.parametrize("changes, head", UNUSABLE, ids=json.dumps)
def test_budgets_that_cannot_be_used_are_a_sentence(judged, tmp_path, changes, head, snapshot):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BudgetError) as error:
        judged(runs(), ONE | changes, **head)
    assert str(error.value) == snapshot


@pytest.mark.parametrize("option", ["--junit", "--summary"])
@pytest.mark.parametrize("file", ["new/openssl@3.5.5.jsonl", "BUDGET.toml", ".", "none/gate", "BUDGET.toml/gate"])
def test_what_cannot_or_must_not_be_written_is_a_sentence_before_anything_is_judged(
    judged, tmp_path, option, file, snapshot
):
    with pytest.raises(BudgetError) as error:
        judged(runs(), ONE, words=[option, tmp_path / file])
    assert str(error.value) == snapshot


@pytest.mark.parametrize("option", ["--junit", "--summary"])
def test_of_a_full_disk_the_file_is_named_and_the_verdict_was_told(judged, capsys, option):
    with pytest.raises(OSError, match="No space left on device") as error:
        judged(runs(), ONE | {"limit": "1 B"}, words=[option, "/dev/full"])
    assert error.value.filename == "/dev/full"
    assert capsys.readouterr().out.startswith("### 0 of 1 budget is held; 1 exceeded\n")


def test_a_hostile_reason_is_shown_as_it_is_and_moves_nothing(judged, tmp_path):
    reason = "</td><img src=x onerror=y> ]]> \x1b[31m & \0"
    hostile = [synthetic.failed(OPENSSL, SUITE, 100, reason, "unsupported", "heap")]
    files = ["--junit", tmp_path / "gate.xml", "--summary", tmp_path / "gate.md"]
    _, out, _ = judged(hostile, ONE, words=files)
    err = judged(hostile, ONE, words=AS_JSON)[2]
    (fault,) = ElementTree.parse(tmp_path / "gate.xml").iter("error")
    page = (tmp_path / "gate.md").read_text()
    for text in (out, err, page, fault.text):
        assert "\x1b" not in text and "\0" not in text and "?[31m & ?" in text
    assert "&lt;img src=x onerror=y>" in page and not re.search("<[a-z/]", page)


def test_a_baseline_that_is_judged_is_read_once_and_is_never_added_to(judged, tmp_path):
    folder = synthetic.write(tmp_path / "old", runs())
    baseline = load_recording(folder, "baseline")
    assert load_judged(folder / "../old", baseline, folder) is baseline
    again = load_judged(folder, None, folder)
    assert [run.digest for run in again.records] == [run.digest for run in baseline.records]
    (tmp_path / "BUDGET.toml").write_text(text_of(ONE | {"limit": "+0B"}, baseline="old"))
    for option, way, why in (
        ("--new-baseline", folder, "a recording is there; a newer one stands beside it"),
        ("--out", folder / "../old", "is the baseline; --new-baseline with another directory"),
    ):
        with pytest.raises(BudgetError, match=f"{option}={way}:? {why}"):
            run(
                commands.parser("gate").parse_args([str(tmp_path / "BUDGET.toml"), option, str(way)]),
                commands.parser("gate"),
            )


def test_a_recording_that_is_not_there_is_named_once(tmp_path):
    with pytest.raises(BudgetError, match=r"^--recording: there is no recording at ") as error:
        load_judged(tmp_path / "nosuch", None, tmp_path)
    assert str(error.value).count("nosuch") == 1


def test_what_would_be_measured_is_listed(tmp_path, capsys):
    rss = {"stack": "null@c", "suite": "none", "phase": "established", "meter": "rss", "limit": "9 KiB"}
    heap = rss | {"role": ["client", "server"], "meter": "heap", "limit": "4,072 B"}
    budgets = text_of(rss | {"role": ["pair", "server"]}, heap, RATE | {"limit": "1/s"}, repeats=1)
    (tmp_path / "BUDGET.toml").write_text(budgets)
    assert (
        run(commands.parser("gate").parse_args([str(tmp_path / "BUDGET.toml"), "--list"]), commands.parser("gate")) == 0
    )
    assert capsys.readouterr().out.splitlines() == [
        "null@c none 2,000 sessions rss",
        "null@c none 2,000 sessions rss split",
        "null@c none 1,000 sessions rss",
        "null@c none 1,000 sessions rss split",
        "null@c none 200 sessions rss",
        "null@c none 200 sessions rss split",
        "null@c none 200 sessions heap",
        "null@c none 200 sessions sites",
        "null@c none 20 sessions heap",
        "openssl@3.5.5 tls13-rsa-aes256 handshake",
    ]


def test_a_stack_that_the_baseline_calls_otherwise_is_named_by_against(judged, snapshot):
    other = [one.model_copy(update={"stack": "openssl@4.0.3"}) for one in runs()]
    with pytest.raises(BudgetError) as error:
        judged(
            other,
            ONE | {"limit": "+0B", "against": OPENSSL},
            ONE | {"limit": "+0B", "stack": "openssl@4.0.3"},
            old=runs(),
        )
    assert str(error.value) == snapshot


def test_against_names_what_is_compared(judged):
    other = [one.model_copy(update={"stack": "openssl@4.0.3"}) for one in runs(client_bytes=16)]
    budget = ONE | {"stack": "openssl@4.0.3", "limit": "+0B", "against": OPENSSL}
    found, out, _ = judged(other, budget, old=runs(), words=AS_JSON)
    assert (found, read_figures(out)) == (3, [(64_016, 64_000, "exceeded")])


def test_junit_has_a_case_for_each_budget(judged, tmp_path, snapshot):
    budgets = [ONE | {"limit": "+0B", "role": ["client", "server"]}, ONE | {"phase": "client 9"}]
    judged(runs(client_bytes=16), *budgets, old=runs(), words=["--junit", tmp_path / "gate.xml"])
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot().find("testsuite")
    assert {name: suite.get(name) for name in ("tests", "failures", "errors")} == {
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    kinds = [[child.tag for child in case] for case in suite]
    assert kinds == [["failure"], [], ["error"]]
    assert suite[0].get("classname") == OPENSSL
    assert all(float(case.get("time")) > 0 for case in suite)
    assert float(suite.get("time")) >= float(suite[0].get("time"))
    assert suite.get("timestamp") == min(run.started_at for run in runs()).rstrip("Z")
    assert [[case.get("name"), *(child.get("message") for child in case)] for case in suite] == snapshot


def test_junit_names_a_budget_alike_from_one_commit_to_the_next(judged, tmp_path, monkeypatch, snapshot):
    """By its own name, or by its stack as the file has it, whatever the tree's hash."""
    seen, ends = [], []
    for tree in ("a" * 12, "b" * 12):
        name = f"openssl@path-{tree}"
        monkeypatch.setattr(builds, "stack", lambda *_, name=name: name)
        monkeypatch.setattr(budget_meters, "check_stack", lambda *_: None)
        monkeypatch.setattr(builds.definitions, "stacks", lambda name=name: {name: None})
        measured = [one.model_copy(update={"stack": name}) for one in runs()]
        named = [ONE | {"stack": "openssl@path:."}, ONE | {"stack": "openssl@path:.", "name": "client at rest"}]
        named[1] |= {"limit": "1 KiB"}
        _, out, _ = judged(measured, *named, words=["--junit", tmp_path / "gate.xml"])
        suite = ElementTree.parse(tmp_path / "gate.xml").getroot().find("testsuite")
        seen.append([(case.get("classname"), case.get("name")) for case in suite])
        ends.append(verdict(out).replace(tree, "TREE"))
    assert seen[0] == seen[1]
    assert [one for one, _ in seen[0]] == ["openssl@path:.", "client at rest"]
    assert ends[0] == ends[1] == snapshot


def test_a_build_that_fails_is_skipped_by_bisect(tmp_path, monkeypatch, capsys):
    def fail(*_):
        raise BuildFailed("openssl@3.5.5: step 2 of 2, make failed")

    monkeypatch.setattr(builds, "build_needed", fail)
    monkeypatch.setattr(termination, "end_on_signals", lambda: None)  # of this process they are pytest's
    (tmp_path / "BUDGET.toml").write_text(text_of(ONE | {"limit": "1 MiB"}))
    given = commands.parser("gate").parse_args([str(tmp_path / "BUDGET.toml")])
    assert in_process.exit_status(lambda: run_gate(given, commands.parser("gate"))) == 125
    assert capsys.readouterr().err == "memtest: openssl@3.5.5: step 2 of 2, make failed\n"


def test_summaries_are_appended_and_say_what_is_wrong(judged, tmp_path, monkeypatch, snapshot):
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step.md"))
    (tmp_path / "step.md").write_text("before\n")
    judged(runs(client_bytes=16), ONE | {"limit": "+0B"}, old=runs(), words=["--summary", tmp_path / "mine.md"])
    said = (tmp_path / "step.md").read_text()
    assert said == "before\n" + (tmp_path / "mine.md").read_text()
    assert said == snapshot
    assert "| exceeded |" in said


@pytest.mark.parametrize("form, begins", [("csv", "stack,suite,role"), ("json", '{\n  "tables"'), ("markdown", "### ")])
def test_the_forms_of_a_table(judged, form, begins):
    assert judged(runs(), ONE, words=["--format", form])[1].startswith(begins)


@pytest.mark.thorough
def test_as_a_command_what_cannot_be_used_is_exit_2_without_a_traceback(tmp_path, snapshot):
    (tmp_path / "B.toml").write_text(text_of(ONE | {"meter": "heep"}))
    done = subprocess.run(
        [sys.executable, ROOT / "tools/tls-memtest", "gate", "B.toml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == snapshot


def without_phase(run: RecordLine, *names: str) -> RecordLine:
    phases = [one.model_dump() for one in run.phases if one.phase not in names]
    return RecordLine.model_validate(run.model_dump(by_alias=True) | {"phases": phases})


@pytest.mark.parametrize("missing", ["established", "idle", "contexts", "closed"])
@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("meter", ["heap", "rss"])
def test_a_recording_that_lacks_a_phase_is_judged_or_a_sentence(judged, missing, every, meter):
    """Of all runs, or of those at one N; the phase that the budget is of, or another."""
    entry = ONE | {"meter": meter, "role": "client" if meter == "heap" else "pair", "limit": "+1%"}
    lacking = [without_phase(run, missing) if every or run.sessions == COUNTS[0] else run for run in runs()]
    for new, old in ((lacking, runs()), (runs(), lacking)):
        status, out, _ = judged(new, entry, old=old)
        assert status == 3 or (status == 0 and missing != "established")
        assert status == 0 or re.search(f"no phase `{missing}` in|runs have no such phase|the baseline has RSS", out)


@pytest.mark.parametrize(
    "limit, verdict_line",
    [
        ("+1 KiB", "\x1b[1;32m1 of 1 budget is held\x1b[0m"),
        ("+0 B", "\x1b[1;31m0 of 1 budget is held; 1 exceeded\x1b[0m"),
    ],
    ids=["held in green", "exceeded in red"],
)
def test_on_a_terminal_the_verdict_is_the_first_line(monkeypatch, judged, limit, verdict_line):
    monkeypatch.setattr(stdout, "is_terminal", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    _, out, err = judged(runs(client_bytes=16), ONE | {"limit": limit}, old=runs())
    assert out.splitlines()[0] == verdict_line and not err


def test_the_largest_excess_is_the_first_sentence(judged):
    budgets = [ONE | {"limit": "+0 B"}, ONE | {"role": "server", "limit": "10 B"}]
    _, out, _ = judged(runs(client_bytes=16), *budgets, old=runs())
    assert [line[:15] for line in out.splitlines()[2:4]] == ["- [[budget]] 2:", "- [[budget]] 1:"]
