"""The campaign runner with real processes: what misbehaves is recorded, what is recorded is not run again."""

import fcntl
import json
import os
import re
import subprocess

import pytest
from matplotlib import image

from tests.support import forked_command
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.plots.picture import PIXELS
from tlsmem.schema import recording_files, records

MISBEHAVIOUR = dict.fromkeys(
    ("crash", "realtime", "hang", "flood", "torrent", "garbage", "foreign", "silent", "short", "fail", "weak"), "failed"
)
MISBEHAVIOUR |= {"refuse": "unsupported", "obey": "measured", "orphan": "measured"}


@pytest.mark.slow
def test_what_misbehaves_is_recorded_with_its_reason_and_the_campaign_goes_on(project, snapshot):
    stacks = project.install(*MISBEHAVIOUR)
    done = project.measure("--heap=0", "--timeout=3", stacks=stacks, n=2)
    runs = {run.stack.partition("@")[0]: run for run in project.recorded()}
    assert {behaviour: run.status for behaviour, run in runs.items()} == MISBEHAVIOUR
    assert {behaviour: run.reason for behaviour, run in runs.items()} == snapshot(name="reasons")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == snapshot(name="last line")
    assert "Traceback" not in done.stderr
    assert project.processes() == []


@pytest.mark.thorough
def test_what_a_measured_run_says_on_stderr_is_a_note_and_a_warning(project):
    done = project.measure("--heap=0", stacks=project.install("mutter"), n=4)
    said = [f"stderr: Invalid conf pair: {number}" for number in range(5)]
    assert [run.environment.notes for run in project.recorded()] == 2 * [[*said, "stderr: and 2 lines more"]]
    assert done.returncode == 0
    assert done.stderr.count("rss: stderr: Invalid conf pair: 0 (kept in the record's notes)") == 1


@pytest.mark.thorough
def test_a_second_campaign_on_a_recording_is_refused(project, snapshot):
    stacks = project.install("obey")
    (project.root / "out").mkdir()
    first = os.open(project.root / "out", os.O_RDONLY)
    fcntl.flock(first, fcntl.LOCK_EX)
    refused = project.measure(stacks=stacks)
    listed = project.measure("--list", stacks=stacks)
    os.close(first)
    assert (refused.returncode, listed.returncode) == (1, 0), listed.stderr
    assert refused.stderr == snapshot
    assert project.measure("--heap=0", stacks=stacks, n=2).returncode == 0


@pytest.mark.thorough
def test_a_torn_last_line_is_told_once_and_its_run_made_again(project):
    stacks = project.install("obey")
    project.measure("--heap=0", stacks=stacks, n=4)
    file = project.root / "out/obey@1.jsonl"
    torn = file.read_bytes()[:-100]
    file.write_bytes(torn)
    done = project.measure("--heap=0", stacks=stacks, n=4)
    assert done.returncode == 0
    assert done.stderr.count("line 2 was cut off") == 1
    assert file.read_bytes().startswith(torn + b"\n" + recording_files.TORN_MARK + b"\n")
    assert len(project.recorded()) == 2


@pytest.mark.thorough
def test_a_stack_that_can_do_nothing_is_a_sentence(project, snapshot):
    done = project.measure("--heap=0", stacks=project.install("refuse"), n=2)
    assert [run.status for run in project.recorded()] == ["unsupported"]
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == snapshot


@pytest.mark.thorough
def test_a_mixed_pair_is_one_record_of_the_server_with_its_client_as_peer(project):
    server, client = project.install("obey", "obey2")
    done = project.measure("--heap=0", f"--client={client}", f"--server={server}", stacks=(), n=2)
    assert done.returncode == 0, done.stderr
    (run,) = project.recorded()
    assert (run.stack, run.peer.stack, run.peer.reported, run.roles) == (server, client, "pretender 1", "split")
    assert {phase.process for phase in run.phases} == {"client", "server"}
    assert "role=server" in run.argv and run.key == records.run_key(run.model_dump())
    again = project.measure("--heap=0", f"--client={client}", f"--server={server}", stacks=(), n=2)
    assert "1 runs, 1 already recorded" in again.stderr
    assert "1 to go" in project.measure("--heap=0", f"--client={server}", f"--server={client}", stacks=(), n=2).stderr


@pytest.mark.thorough
def test_a_peer_of_another_build_is_another_run(project):
    server, client = project.install("obey", "obey2")
    words = ["--heap=0", f"--client={client}", f"--server={server}"]
    project.measure(*words, stacks=(), n=2)
    defined = (project.root / "memtest/stacks.toml").read_text()
    project.add(client, project.pretender() + b"# another\n")
    (project.root / "memtest/stacks.toml").write_text(defined)
    assert "1 to go" in project.measure(*words, stacks=(), n=2).stderr


@pytest.mark.thorough
def test_kept_sessions_are_measured_by_windows(project):
    project.measure("--heap=0", "--keep=server", stacks=project.install("obey"), n=2_000)
    runs = project.recorded()
    assert {(run.roles, run.window, run.status) for run in runs} == {("keep-server", 100, "measured")}
    assert all("payload" not in (phase.phase for phase in run.phases) for run in runs)


@pytest.mark.thorough
def test_as_deployed_is_five_repeats_that_are_not_pinned(project):
    done = project.measure("--heap=0", "--env=deployed", stacks=project.install("obey"), n=2)
    assert done.returncode == 0, done.stderr
    runs = project.recorded()
    assert sorted(run.repeat for run in runs) == [1, 2, 3, 4, 5]
    assert {(run.env, run.environment.aslr, run.environment.cpu, run.status) for run in runs} == {
        ("deployed", "on", None, "measured")
    }


@pytest.mark.thorough
@pytest.mark.skipif(not (ROOT / "build/core/libheapmeter.so").exists(), reason="the core is not built")
def test_a_sites_run_is_recorded_with_its_stacks(project):
    done = project.measure(stacks=project.install("obey"), n=20)
    assert done.returncode == 0, done.stderr
    (run,) = (run for run in project.recorded() if run.meter == "sites")
    assert (run.status, run.sessions, len(run.sites.stacks)) == ("measured", 2, 1)
    assert run.meter_sha256 and all(phase.sites for phase in run.phases)


@pytest.mark.thorough
def test_a_measured_run_is_not_run_again_and_a_failed_one_is(project):
    stacks = project.install("obey", "fail")
    project.measure("--heap=0", stacks=stacks)
    again = project.measure("--heap=0", stacks=stacks)
    assert "6 runs, 3 already recorded in out, 3 to go" in again.stderr
    counts = [run.stack for run in project.recorded()]
    assert (counts.count("obey@1"), counts.count("fail@1")) == (3, 6)


@pytest.mark.thorough
def test_the_key_can_be_made_again_from_the_record(project):
    project.measure("--heap=0", stacks=project.install("obey"), n=4)
    runs = project.recorded()
    assert [records.run_key(run.model_dump()) for run in runs] == [run.key for run in runs]
    assert len({run.key for run in runs}) == 2


@pytest.mark.thorough
def test_fresh_measures_again_and_repeats_are_runs_of_their_own(project):
    stacks = project.install("obey")
    project.measure("--heap=0", stacks=stacks, n=2)
    project.measure("--heap=0", "--repeats=2", stacks=stacks, n=2)
    assert [run.repeat for run in project.recorded()] == [1, 2]
    project.measure("--heap=0", "--fresh", stacks=stacks, n=2)
    assert [run.repeat for run in project.recorded()] == [1, 2, 1]


@pytest.mark.thorough
def test_another_binary_is_another_run(project):
    stacks = project.install("obey")
    project.measure("--heap=0", stacks=stacks, n=2)
    defined = (project.root / "memtest/stacks.toml").read_text()
    project.add("obey@1", project.pretender() + b"# another\n")
    (project.root / "memtest/stacks.toml").write_text(defined)
    assert "1 to go" in project.measure("--heap=0", stacks=stacks, n=2).stderr


def rewrite_machine(file, **changes):
    """As if another machine had made these runs."""
    found = [json.loads(line) for line in file.read_text().splitlines()]
    for fields in found:
        fields["machine"] |= changes
        fields["path"] = records.run_path(fields)
        fields["key"] = records.run_key(fields)
    file.write_bytes(b"".join(records.RecordLine.model_validate_json(json.dumps(one)).to_json_line() for one in found))


@pytest.mark.thorough
def test_runs_of_another_path_are_made_again_and_those_under_another_kernel_are_not(project):
    stacks = project.install("obey")
    project.measure("--heap=0", stacks=stacks, n=2)
    (run,) = project.recorded()
    file = project.root / "out/obey@1.jsonl"
    rewrite_machine(file, kernel="another", os="another")
    assert "1 already recorded" in project.measure("--heap=0", "--list", stacks=stacks, n=2).stdout
    there = run.machine.path.model_dump()
    for change in ({"flags": there["flags"] + " another"}, {"libc_build_id": "ab"}, {"xcr0": "0x1"}):
        rewrite_machine(file, path=there | change)
        assert "0 already recorded" in project.measure("--heap=0", "--list", stacks=stacks, n=2).stdout
    rewrite_machine(file, path=there)
    assert "1 already recorded" in project.measure("--heap=0", "--list", stacks=stacks, n=2).stdout


@pytest.mark.thorough
def test_a_path_that_is_not_the_machines_is_refused(project):
    stacks = project.install("obey")
    project.measure("--heap=0", stacks=stacks, n=2)
    (run,) = project.recorded()
    other = run.model_copy(update={"path": "0123abcd"})
    (project.root / "out/obey@1.jsonl").write_bytes(other.to_json_line())
    with pytest.raises(UserError, match=f"line 1: its path is 0123abcd, but its machine's is {run.path}; restore"):
        project.recorded()


@pytest.mark.thorough
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


@pytest.mark.slow
def test_verify_runs_every_built_stack_and_suite_and_records_nothing(project):
    project.install("obey", "refuse", "fail")
    done = forked_command.run(project.command("--verify", campaign=""), cwd=project.root)
    verdicts = [line.split()[:2] for line in done.stdout.splitlines()]
    assert {tuple(verdict) for verdict in verdicts} >= {
        ("ok", "obey@1"),
        ("unsupported", "refuse@1"),
        ("FAILED", "fail@1"),
    }
    assert done.returncode == 1
    assert not (project.root / "data").exists()


@pytest.mark.slow
def test_verify_takes_stacks_shows_what_is_missing_and_counts(project, snapshot):
    project.install("obey", "refuse", "fail")
    for stack in ("refuse@1", "fail@1"):
        (project.root / "build/harness" / stack).unlink()
    (project.root / "build/harness/fail@1.unavailable").write_text("the version is gone\n")
    command = project.command("--verify", "--stacks=obey@1 refuse@1 fail@1", campaign="")
    done = forked_command.run(command, cwd=project.root)
    first, second, *runs, last = done.stdout.splitlines()
    assert [first, second] == snapshot
    assert {line.split()[1] for line in runs} == {"obey@1"}
    assert re.findall(r"\d+", last) == ["1", "3", str(len(runs)), "0", "0"]


@pytest.mark.thorough
def test_all_stacks_are_those_that_are_built_and_the_others_are_said(project):
    project.install("obey")
    done = project.measure("--heap=0", stacks=["all"], n=2)
    assert done.returncode == 0, done.stderr
    assert {run.stack for run in project.recorded()} == {"obey@1"}
    assert (
        "memtest: left out: openssl@3.5.5 is not built: make it with `tools/tls-memtest build openssl@3.5.5`"
        in done.stderr
    )
    assert "openssl@path" not in done.stderr


def test_a_stack_that_is_not_built_is_named(project):
    project.install("obey")
    (project.root / "build/harness/obey@1").unlink()
    assert "obey@1 is not built" in project.measure(stacks=["obey@1"]).stderr


def test_a_foreign_recording_stops_before_anything_is_run(project, snapshot):
    stacks = project.install("obey")
    (project.root / "out").mkdir()
    foreign = project.root / "out/obey@1.jsonl"
    foreign.write_text(json.dumps({"schema": 5}) + "\n")
    done = project.measure(stacks=stacks)
    assert done.returncode == 2
    assert done.stderr == snapshot
    assert foreign.read_text() == json.dumps({"schema": 5}) + "\n"


@pytest.mark.thorough
def test_a_campaign_of_what_is_built_leaves_out_the_others_with_a_sentence_each(project, snapshot):
    project.install("obey")
    table = '[{}]\nscenario = "memory"\nstacks = ["obey@1", "openssl@1.1.1w"]\nsuites = ["tls13-rsa-aes256"]\n'
    table += 'allocators = ["system"]\nn = 2\nsessions = ["1"]\nheap = 0\nwindows = ["all"]\n'
    with (project.root / "memtest/campaigns.toml").open("a") as campaigns:
        campaigns.write(table.format("some") + "built_only = true\n" + table.format("all"))
        mixed = 'built_only = true\nroles = ["split"]\npeers = ["openssl@1.1.1w"]\n'
        campaigns.write(table.format("mixed") + mixed)

    def measure(campaign: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = project.command("--out=out", *words, campaign=campaign)
        return forked_command.run(command, cwd=project.root, drawn=False)

    done = measure("some")
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == snapshot(name="left out")
    assert [run.stack for run in project.recorded()] == ["obey@1"]
    assert "openssl@1.1.1w" in measure("some", "--list").stdout
    refused = [measure("all"), measure("some", "--stacks=obey@1 openssl@1.1.1w")]
    assert [one.returncode for one in refused] == [1, 1]
    assert [one.stderr for one in refused] == snapshot(name="refused")
    assert measure("mixed").returncode == 1  # and not a stack with itself
    (project.root / "build/harness/obey@1").unlink()
    assert measure("some").stderr == snapshot(name="nothing built")


@pytest.mark.thorough
def test_stacks_whose_suites_do_not_overlap_are_holes_in_tables_and_pictures(project):
    stacks = project.install("obey", "obey2")
    defined = (project.root / "memtest/stacks.toml").read_text()
    (project.root / "memtest/stacks.toml").write_text(defined.replace('["obey2@1"]\n', '["obey2@1"]\ntls = false\n'))
    done = project.measure("--heap=0", stacks=stacks, n=2, drawn=True)  # one N: a pretender has not null's pages
    assert done.returncode == 0, done.stderr
    assert {(run.stack, run.suite) for run in project.recorded()} == {
        ("obey@1", "tls13-rsa-aes256"),
        ("obey2@1", "none"),
    }
    assert "obey@1" in done.stdout and "obey2@1" in done.stdout
    assert image.imread(project.root / "out/mem.png").shape[1] == PIXELS
