"""The campaign runner with real processes: what misbehaves is recorded, what is recorded is not run again."""

import json
import subprocess

import pytest

import records

MISBEHAVIOUR = {
    "crash": ("failed", "killed by SIGSEGV: no word on stderr"),
    "hang": ("failed", "killed at the time limit of 5 s"),
    "flood": ("failed", "killed after more than 16,777,216 bytes of output"),
    "garbage": ("failed", "line 12 of its output is not as in docs/records.md: Invalid JSON"),
    "foreign": ("failed", "line 1 of its output is not as in docs/records.md: run.schema: Input should be 1"),
    "silent": ("failed", "no end line, so no measurement"),
    "short": ("failed", "its phases are not those of docs/records.md"),
    "fail": ("failed", "exit 1: memtest: pretender: handshakes incomplete after 10 steps"),
    "weak": ("failed", "cipher: asked for TLS_AES_256_GCM_SHA384, but the harness says NULL"),
    "refuse": ("unsupported", "pretender: no TLS at all"),
    "obey": ("measured", ""),
}


def test_what_misbehaves_is_recorded_with_its_reason_and_the_campaign_goes_on(project):
    stacks = project.install(*MISBEHAVIOUR)
    done = project.measure("--heap=0", "--timeout=5", stacks=stacks, n=2)
    runs = {run.stack.partition("@")[0]: run for run in project.recorded()}
    for behaviour, (status, reason) in MISBEHAVIOUR.items():
        assert runs[behaviour].status == status
        assert (runs[behaviour].reason or "").startswith(reason)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "memtest: 9 of 11 runs failed; each says why in out"
    assert "Traceback" not in done.stderr
    assert project.processes() == []


def test_a_stack_that_can_do_nothing_is_a_sentence(project):
    done = project.measure("--heap=0", stacks=project.install("refuse"), n=2)
    assert [run.status for run in project.recorded()] == ["unsupported"]
    assert done.returncode == 1
    assert "no run was measured" in done.stderr.splitlines()[-1]


def test_a_measured_run_is_not_run_again_and_a_failed_one_is(project):
    stacks = project.install("obey", "fail")
    project.measure("--heap=0", stacks=stacks)
    again = project.measure("--heap=0", stacks=stacks)
    assert "6 runs, 3 already recorded in out, 3 to go" in again.stderr
    counts = [run.stack for run in project.recorded()]
    assert (counts.count("obey@1"), counts.count("fail@1")) == (3, 6)


def test_the_key_can_be_made_again_from_the_record(project):
    project.measure("--heap=0", stacks=project.install("obey"), n=4)
    runs = project.recorded()
    assert [records.key(run.model_dump()) for run in runs] == [run.key for run in runs]
    assert len({run.key for run in runs}) == 2


def test_fresh_measures_again_and_repeats_are_runs_of_their_own(project):
    stacks = project.install("obey")
    project.measure("--heap=0", stacks=stacks, n=2)
    project.measure("--heap=0", "--repeats=2", stacks=stacks, n=2)
    assert [run.repeat for run in project.recorded()] == [1, 2]
    project.measure("--heap=0", "--fresh", stacks=stacks, n=2)
    assert [run.repeat for run in project.recorded()] == [1, 2, 1]


def test_another_binary_is_another_run(project):
    stacks = project.install("obey")
    project.measure("--heap=0", stacks=stacks, n=2)
    project.add("obey@1", project.pretender() + b"# another\n")
    (project.root / "memtest/stacks.toml").write_text('["obey@1"]\nharness = "c"\nlicence = "MIT"\n')
    assert "1 to go" in project.measure("--heap=0", stacks=stacks, n=2).stderr


def test_list_shows_what_is_there_and_what_would_run(project):
    stacks = project.install("obey")
    project.measure("--heap=0", stacks=stacks, n=2)
    listed = project.measure("--heap=0", "--list", stacks=stacks, n=4)
    assert listed.stdout.splitlines() == [
        "to go                 obey@1 tls13-rsa-aes256 4 sessions rss",
        "measured              obey@1 tls13-rsa-aes256 2 sessions rss",
        "2 runs, 1 already recorded in out, 1 to go",
    ]
    assert len(project.recorded()) == 1


def test_verify_runs_every_built_stack_and_suite_and_records_nothing(project):
    project.install("obey", "refuse", "fail")
    done = subprocess.run(project.command("--verify"), cwd=project.root, capture_output=True, text=True, check=False)
    verdicts = [line.split()[:2] for line in done.stdout.splitlines()]
    assert {tuple(verdict) for verdict in verdicts} >= {
        ("ok", "obey@1"),
        ("unsupported", "refuse@1"),
        ("FAILED", "fail@1"),
    }
    assert done.returncode == 1
    assert not (project.root / "data").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--n=7"], "N=7: sessions come in pairs"),
        (["--out=/proc/nowhere"], "/proc/nowhere: cannot record here"),
        (["--out=tools/measure.py"], "it must be a directory"),
        (["--suites=tls13-rsa-aes255"], "did you mean tls13-rsa-aes256"),
        (["--timeout=soon"], "argument --timeout"),
        (["--n=100000000000"], "is more than memory holds: obey@1 tls13-rsa-aes256 needs"),
    ],
)
def test_what_cannot_be_is_one_sentence(project, words, sentence):
    stacks = project.install("obey")
    done = project.measure(*words, stacks=stacks)
    assert done.returncode in (1, 2)
    assert sentence in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    assert not list(project.root.glob("out/*"))


def test_a_stack_that_is_not_built_is_named(project):
    project.install("obey")
    (project.root / "build/harness/obey@1").unlink()
    assert "obey@1 is not built" in project.measure(stacks=["obey@1"]).stderr


def test_a_foreign_recording_stops_before_anything_is_run(project):
    stacks = project.install("obey")
    (project.root / "out").mkdir()
    foreign = project.root / "out/obey@1.jsonl"
    foreign.write_text(json.dumps({"schema": 2}) + "\n")
    done = project.measure(stacks=stacks)
    assert done.returncode == 1
    assert "out/obey@1.jsonl: line 1 is not a record of schema 1" in done.stderr
    assert foreign.read_text() == json.dumps({"schema": 2}) + "\n"
