"""Runs go to the user's own directory; recordings of the repository take them by name and from a clean tree only."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support import forked_command
from tests.support.commands import command_line
from tlsmem.base import repository
from tlsmem.base.errors import UserError
from tlsmem.base.paths import ROOT
from tlsmem.schema import append_records, recording_files
from tlsmem.schema.recording_name import default_recording
from tlsmem.store import recordings
from tlsmem.tables import documented_queries

COMMITTED, NEW, LOCAL = "data/2026-01-31-a-cpu", "data/2026-02-01-a-cpu", "data/local/2026-02-01-a-cpu"
RUNS = ROOT / "data/2026-11-22-amd-epyc/s2n+awslc@0.3.47.jsonl"
ELSEWHERE = "; OUT=data/local/NAME records elsewhere\n"
IDENTITY = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=root, env=os.environ | IDENTITY, check=True, capture_output=True)


@pytest.fixture
def clone(project):
    """A project whose tree is clean, with a stack that is built and a committed recording."""
    project.install("obey")
    recording = project.root / COMMITTED / "obey@1.jsonl"
    recording.parent.mkdir(parents=True)
    recording.touch()
    commit(project)
    return project


def commit(project) -> None:
    shutil.copy(ROOT / ".gitignore", project.root)
    git(project.root, "init", "-q")
    git(project.root, "add", "-A")
    git(project.root, "commit", "-q", "-m", "one")


def measure(project, *words: str) -> subprocess.CompletedProcess[str]:
    given = ("--stacks=obey@1", "--suites=tls13-rsa-aes256", "--heap=0", "--n=2", *words)
    return forked_command.run(project.command(*given), cwd=project.root, drawn=False)


def recorded(project) -> set[str]:
    """Recordings that have runs."""
    return {
        str(file.parent.relative_to(project.root))
        for file in (project.root / "data").rglob("*.jsonl")
        if file.stat().st_size
    }


def refused(done: subprocess.CompletedProcess[str], said: str) -> bool:
    return (done.returncode, done.stdout, done.stderr) == (2, "", f"memtest: {said}{ELSEWHERE}")


def checked(project, place: str) -> subprocess.CompletedProcess[str]:
    """What make does first."""
    words = [*command_line("build --check mem", project.root), f"OUT={place}"]
    return subprocess.run(words, cwd=project.root, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_runs_go_to_an_ignored_directory_of_the_day_by_default(clone):
    local = str(default_recording().relative_to(ROOT))
    assert measure(clone, "--list").stdout.endswith(f"0 already recorded in {local}, 1 to go\n")
    git(clone.root, "check-ignore", f"{local}/obey@1.jsonl")


@pytest.mark.slow
def test_outside_a_clone_and_from_a_changed_tree_runs_go_there_too(project):
    project.install("obey")
    local = str(default_recording().relative_to(ROOT))
    for out in ((), (f"--out={LOCAL}",)):
        assert measure(project, *out).returncode == 0
    assert recorded(project) == {local, LOCAL}
    commit(project)
    (project.root / "README.md").touch()
    assert measure(project, "--fresh").returncode == 0


@pytest.mark.thorough
def test_outside_a_clone_no_recording_of_the_repository_takes_runs(project):
    assert refused(checked(project, NEW), f"{NEW} takes runs from a git clone only, and this is none")
    assert checked(project, LOCAL).returncode == 0


@pytest.mark.thorough
@pytest.mark.parametrize("place", [COMMITTED, NEW])
def test_a_recording_of_the_repository_takes_runs_from_a_clean_tree_only(clone, place):
    assert checked(clone, place).returncode == 0
    (clone.root / "data/notes").touch()
    assert checked(clone, place).returncode == 0  # recording does not make the tree dirty
    (clone.root / "memtest/new.toml").touch()
    (clone.root / "tools/moved.py").write_text("")
    clean = f"{place} takes runs from a clean tree only: commit or stash tools/moved.py and 1 more"
    assert refused(checked(clone, place), clean) and refused(measure(clone, f"--out={place}"), clean)
    assert recorded(clone) == set() and checked(clone, LOCAL).returncode == 0
    assert measure(clone, "--list", f"--out={place}").returncode == 0


@pytest.mark.slow
def test_a_recording_of_the_repository_takes_runs_by_name(clone):
    assert measure(clone, f"--out={COMMITTED}").returncode == 0
    assert measure(clone, "--fresh", f"--out={COMMITTED}").returncode == 0
    assert recorded(clone) == {COMMITTED}


@pytest.mark.thorough
def test_a_committed_recording_is_not_written_into_unless_it_is_named(clone):
    local = default_recording().relative_to(ROOT)
    (clone.root / local).mkdir(parents=True)
    (clone.root / local / "obey@1.jsonl").touch()
    git(clone.root, "add", "-f", str(local))
    git(clone.root, "commit", "-q", "-m", "two")
    said = f"{clone.root / local} is committed, so only OUT= by this name adds runs to it"
    assert refused(measure(clone), said)
    profile = [*command_line("heap record", clone.root), "--stack=obey@1", "--n=2"]
    assert refused(subprocess.run(profile, cwd=clone.root, capture_output=True, text=True, check=False), said)
    assert recorded(clone) == set() and checked(clone, local).returncode == 0


@pytest.mark.parametrize("place", ["data", "data/local", "data/../data/local/", f"{COMMITTED}/../local"])
def test_the_directories_of_recordings_are_none_themselves(place):
    with pytest.raises(ValueError, match="is where recordings are, not one of them"):
        repository.check_recording(ROOT / place)


def test_whatever_records_is_held_to_it():
    with pytest.raises(UserError, match="is where recordings are") as refused:
        append_records.prepare(ROOT / "data/local")
    assert refused.value.status == 2


@pytest.mark.parametrize(
    "command",
    [
        "diff builds --a=openssl@3.4.1 --b=openssl@3.5.5 --out=data",
        "diff releases --library=openssl --out=data",
    ],
)
def test_commands_that_build_refuse_before_they_build(command):
    done = subprocess.run(command_line(command), cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"memtest: data is where recordings are, not one of them{ELSEWHERE}"


@pytest.mark.parametrize("option", ["--out", "--new-baseline"])
@pytest.mark.parametrize(
    ("place", "what"),
    [
        ("data", "data is where recordings are, not one of them"),
        ("README.md", "{}=README.md: README.md is a file, and a recording is a directory"),
        ("README.md/new", "{}=README.md/new: README.md is a file, and a recording is a directory"),
    ],
)
def test_the_gate_refuses_a_place_with_its_own_option_as_the_way_out(option, place, what):
    words = [*command_line("gate docs/BUDGET.toml"), f"{option}={place}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"memtest: {what.format(option)}; {option}=data/local/NAME records elsewhere\n"


def test_a_file_is_no_recording_whatever_else_is_changed(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="file is a file, and a recording is a directory; OUT=data/local/NAME"):
        repository.check_recording(tmp_path / "file/below")


@pytest.mark.parametrize("command", ["show timing data/2026-11-22-amd-epyc --out", "show slides data --output"])
def test_pictures_are_not_drawn_into_a_file(command):
    done = subprocess.run(command_line(f"{command} Makefile"), cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Makefile is a file; name a directory that is there, or a new one" in done.stderr


def test_a_report_may_be_written_anywhere(clone):
    (clone.root / "README.md").touch()
    words = command_line("build --check report OUT=data/report", clone.root)
    assert subprocess.run(words, cwd=clone.root, check=False).returncode == 0


@pytest.mark.thorough
def test_what_the_docs_are_made_from_does_not_change_with_the_users_own_recordings(tmp_path, monkeypatch):
    for place in (COMMITTED, LOCAL, "data/local/20-mine", "data/local/window"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "some.jsonl").write_bytes(recording_files.read_content(recording_files.locate(RUNS)))
    monkeypatch.setattr(recordings, "ROOT", tmp_path)
    assert recordings.find_recordings(None) == [tmp_path / COMMITTED]
    assert recordings.find_recordings([tmp_path / LOCAL]) == [tmp_path / LOCAL]
    [load, *_] = documented_queries.QUERY.finditer((ROOT / "docs/reference/records.md").read_text())
    with documented_queries.open_database(tmp_path) as database:
        database.sql(load["text"])
        found = database.sql("SELECT DISTINCT recording FROM lines").fetchall()
    assert found == [(Path(COMMITTED).name,)]
