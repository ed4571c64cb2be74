"""One command from a run to a profile that is whole, or a sentence and nothing kept."""

import asyncio
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import pytest

from tests.conftest import Project
from tests.support import built_harness, forked_command
from tlsmem.base.paths import ROOT
from tlsmem.cli import profile_stack
from tlsmem.profile import open_profile, profile_metadata
from tlsmem.profile.capture import profilers
from tlsmem.profile.capture.heaptrack_interpreter import run_interpreter
from tlsmem.profile.capture.profile_store import ProfilePlace
from tlsmem.profile.capture.profilers import PROFILERS
from tlsmem.profile.compressed_file import read_chunks
from tlsmem.profile.heap_profile import is_phase_end

BUILT = [ROOT / "build/harness/null@c", ROOT / profilers.MARKS_LIBRARY, ROOT / "build/core/libheapmeter.so"]
PHASES = ["contexts", "sessions", "client 1", "server 1", "client 2", "server 2", "established", "payload", "reply"]
PHASES += ["idle", "closed", "trimmed", "freed"]
NAMES = {"heaptrack": "heaptrack.zst", "massif": "massif.zst", "dhat": "dhat.zip", "sites": "sites.json"}
HELD_BYTES = 4072  # by a session of the null stack

RUST = "rustls+aws-lc@0.23.46"

needs_all = pytest.mark.skipif(
    not (shutil.which("valgrind") and shutil.which("heaptrack") and all(file.exists() for file in BUILT)),
    reason="needs valgrind, heaptrack, null@c and build/core/libmarks.so: make selfcheck brings them",
)


def command(root: Path, *words: str) -> list[str]:
    return [sys.executable, str(root / "tools/tls-memtest"), "heap", "record", *words]


def profile(root: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    given = command(root, *words)
    return forked_command.run(given, cwd=root, env=os.environ | variables, timeout=300)


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 1 and not done.stdout and "Traceback" not in done.stderr, done
    return done.stderr.splitlines()[-1].removeprefix("memtest: ")


def path(folder: Path, text: str, name: str = "heaptrack") -> str:
    """PATH with a program before all others, which tells its version as the script `text` does not."""
    folder.mkdir(parents=True, exist_ok=True)
    version = 'case "$1" in --version) echo "heaptrack 1.4.0"; exit;; esac\n'
    (folder / name).write_text(f"#!/bin/sh\n{version * ('--version' not in text)}{text}\n")
    (folder / name).chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def interpreted(folder: Path, text: str = "exec cat") -> None:
    """The interpreter of a heaptrack in folder/bin."""
    path(folder / "lib/heaptrack/libexec", text, "heaptrack_interpret")


def on(project: Project, behaviour: str, folder: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A stack that behaves so, under a heaptrack that is this script."""
    (stack,) = project.install(behaviour)
    if not (folder / "lib").exists():
        interpreted(folder)
    given = (f"--stack={stack}", "--n=2", "--out=out", *words)
    return profile(project.root, *given, PATH=path(folder / "bin", text), TMPDIR=str(folder))


def empty(folder: Path) -> bool:
    """Nothing is kept, and nothing is left of what was tried."""
    return not list((folder / "project/out/profiles").iterdir()) and not list(folder.glob("memtest-profile.*"))


RUNS = "shift 3; exec $*"  # the harness alone: a heaptrack that writes nothing


@pytest.mark.slow
@pytest.mark.parametrize(
    ("behaviour", "script", "words"),
    [
        ("obey", "sleep 3600", ["--timeout=1"]),
        ("obey", "kill -SEGV $$", []),
        ("obey", "echo no room >&2; exit 3", []),
        ("obey", "exit 0", []),
        ("obey", RUNS, []),
        ("fail", RUNS, []),
        ("short", RUNS, []),
        ("weak", RUNS, []),
    ],
    ids=["time limit", "killed", "exit 3", "no output", "no file", "fail", "short", "weak"],
)
def test_what_comes_to_no_profile_is_a_sentence_and_leaves_nothing(
    project, tmp_path, behaviour, script, words, snapshot
):
    done = on(project, behaviour, tmp_path, script, *words)
    assert sentence(done) == snapshot
    assert empty(tmp_path) and not project.processes()


@pytest.mark.thorough
def test_when_all_runs_of_dhat_fail_it_is_one_sentence(project, tmp_path):
    """Each gives back its CPU: there are more runs than CPUs."""
    (stack,) = project.install("obey")
    (project.root / profilers.MARKS_LIBRARY).parent.mkdir(parents=True, exist_ok=True)
    (project.root / profilers.MARKS_LIBRARY).touch()
    script = 'case "$1" in --version) echo valgrind-3.19.0; exit;; esac\nexit 3'
    given = (f"--stack={stack}", "--n=2", "--out=out", "--tool=dhat")
    done = profile(project.root, *given, PATH=path(tmp_path / "bin", script, "valgrind"), TMPDIR=str(tmp_path))
    assert sentence(done).startswith("DHAT: obey@1, tls13-rsa-aes256, 2 sessions: exit 3: ")  # and the loader's words
    assert empty(tmp_path) and not project.processes()


@pytest.mark.thorough
def test_a_suite_that_the_stack_cannot_do_is_told_with_the_reason(project, tmp_path, snapshot):
    assert sentence(on(project, "refuse", tmp_path, RUNS)) == snapshot
    assert empty(tmp_path)


@pytest.mark.thorough
def test_a_file_that_is_no_profile_is_not_kept(project, tmp_path):
    done = on(project, "obey", tmp_path, "echo no profile > $3.raw.gz; " + RUNS)
    assert "heaptrack" in sentence(done) and empty(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "interpreter", ["sleep 3600", "kill -SEGV $$", "exit 3"], ids=["time limit", "killed", "exit 3"]
)
def test_an_interpreter_that_fails_is_a_sentence(project, tmp_path, interpreter, snapshot):
    interpreted(tmp_path, interpreter)
    done = on(project, "obey", tmp_path, "seq 100000 > $3.raw.gz; " + RUNS, "--timeout=3")
    assert sentence(done) == snapshot
    assert empty(tmp_path)


def test_an_interpreter_that_is_gone_does_not_take_along_who_writes_to_it(tmp_path, monkeypatch):
    """Whether its end is seen before the next write to it is chance."""
    interpreted(tmp_path)
    monkeypatch.setenv("PATH", path(tmp_path / "bin", "exit"))

    async def gone() -> None:
        async with run_interpreter():
            assert signal.getsignal(signal.SIGPIPE) is signal.SIG_IGN

    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    asyncio.run(gone())
    assert signal.signal(signal.SIGPIPE, before) is signal.SIG_DFL


@pytest.mark.thorough
def test_a_raw_recording_that_is_cut_off_is_a_sentence(project, tmp_path, snapshot):
    done = on(project, "obey", tmp_path, "seq 100000 | gzip | head -c 9000 > $3.raw.gz; " + RUNS)
    assert sentence(done) == snapshot
    assert empty(tmp_path)


def test_a_heaptrack_without_its_interpreter_is_told_before_anything_is_run(project, tmp_path, snapshot):
    (tmp_path / "lib").mkdir()
    assert sentence(on(project, "obey", tmp_path, "exit 1")) == snapshot


def test_the_interpreter_is_where_heaptrack_itself_finds_it(tmp_path, monkeypatch):
    path(tmp_path / "lib64/libexec", "exec cat", "heaptrack_interpret")
    monkeypatch.setenv("PATH", path(tmp_path / "bin", 'LIBEXEC_REL_PATH="../lib64/libexec"'))
    assert profilers.find_interpreter().resolve() == tmp_path / "lib64/libexec/heaptrack_interpret"


@pytest.mark.thorough
def test_a_profiler_that_is_missing_is_named_with_its_package(project, tmp_path, snapshot):
    project.install("obey")
    for tool in ("heaptrack", "massif", "dhat"):
        (project.root / profilers.MARKS_LIBRARY).touch()
        done = profile(project.root, "--stack=obey@1", f"--tool={tool}", PATH=str(tmp_path / "none"))
        assert sentence(done) == snapshot(name=tool)


@pytest.mark.parametrize(
    ("name", "text"),
    [("heaptrack", "echo heaptrack 1.2.0"), ("valgrind", "echo valgrind-3.9.0"), ("heaptrack", "echo nothing")],
)
def test_a_profiler_that_is_too_old_is_refused(tmp_path, monkeypatch, name, text, snapshot):
    monkeypatch.setenv("PATH", path(tmp_path, f"{text} # --version", name))
    with pytest.raises(profilers.CaptureFailed) as refused:
        PROFILERS["heaptrack" if name == "heaptrack" else "dhat"].version()
    assert str(refused.value) == snapshot


@pytest.mark.parametrize(
    ("source", "sees"),
    [("void *malloc(unsigned long n) { return (void *)n; }", False), ("", True)],
    ids=["a malloc of its own", "the C library's"],
)
def test_a_program_with_a_malloc_of_its_own_would_hang_heaptrack(tmp_path, source, sees, snapshot):
    binary = tmp_path / "program"
    (tmp_path / "program.c").write_text(f'#include <stdio.h>\n{source}\nint main(void) {{ return puts(""); }}\n')
    subprocess.run(["gcc", "-w", "-fno-builtin", tmp_path / "program.c", "-o", binary], check=True)
    said = profilers.invisible_reason(binary)
    assert said is None if sees else said == snapshot


@pytest.mark.parametrize(
    "words",
    [
        "--n=3",
        "--stack=opensl@3.5.5",
        "--stack=null@c null@rust",
        "--suite=tls13-rsa-aes25",
        "--tool=heaptrak",
        "--out=Makefile",
    ],
)
def test_names_and_numbers_are_checked_first(words, snapshot):
    done = profile(ROOT, words)
    assert (done.returncode, done.stderr) == (2, snapshot)


def test_a_stack_that_is_not_built_or_not_seen_is_refused(project, snapshot):
    for stack in ("null@c", "rustls+aws-lc+jemalloc-rust@0.23.46"):
        assert sentence(profile(project.root, f"--stack={stack}", "--tool=sites")) == snapshot(name=stack)


@pytest.mark.parametrize("tool", ["massif", "sites"])
def test_a_library_that_is_not_there_is_named_with_what_makes_it(project, tool, snapshot):
    project.install("obey")
    shutil.rmtree(project.root / "build/core")
    assert sentence(profile(project.root, "--stack=obey@1", f"--tool={tool}")) == snapshot


def test_where_nothing_can_be_kept_nothing_is_run(project, tmp_path):
    done = on(project, "obey", tmp_path, RUNS, "--out=/proc/none")
    assert done.returncode == 2 and not done.stdout
    assert done.stderr.startswith("memtest: --out=/proc/none: ") and done.stderr.count("\n") == 1


@pytest.mark.thorough
def test_ctrl_c_leaves_nothing(project, tmp_path):
    project.install("obey")
    interpreted(tmp_path)
    given = command(project.root, "--stack=obey@1", "--n=2", "--out=out")
    variables = os.environ | {"PATH": path(tmp_path / "bin", "sleep 3600"), "TMPDIR": str(tmp_path)}
    running = subprocess.Popen(given, cwd=project.root, env=variables, stderr=subprocess.PIPE, text=True)
    while "..." not in running.stderr.readline():
        assert running.poll() is None
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    said = running.communicate(timeout=60)[1]
    assert running.returncode == 130 and said.endswith("memtest: stopped; nothing is kept of this profile\n")
    assert empty(tmp_path)


@pytest.fixture(scope="module")
def taken(tmp_path_factory) -> Path:
    """Where each tool has profiled the null stack, with two sessions."""
    folder = tmp_path_factory.mktemp("taken")
    for tool in NAMES:
        done = profile(ROOT, "--stack=null@c", "--n=4", f"--tool={tool}", f"--out={folder}", "--jobs=1")
        assert done.returncode == 0, done.stderr
        assert f"profile: {folder}/profiles/null@c.none.4.{NAMES[tool]}\n" in done.stdout
    return folder / "profiles"


@pytest.mark.slow
@needs_all
@pytest.mark.parametrize("tool", NAMES)
def test_a_profile_lies_beside_its_record_and_is_whole(taken, tool):
    file = taken / f"null@c.none.4.{NAMES[tool]}"
    record = profile_metadata.load(taken / f"null@c.none.4.{tool}.json")
    assert (record.file, record.run.stack, record.run.sessions) == (file.name if tool != "sites" else None, "null@c", 4)
    assert [phase.phase for phase in record.run.phases] == PHASES
    assert record.run.environment.aslr == "off" and not record.run.environment.notes
    assert not any(str(word).startswith("/") for word in record.command)
    assert tool == "sites" or (profile_metadata.load_record_beside(file) == record and "marks=1" in record.run.argv)


@pytest.mark.thorough
@needs_all
@pytest.mark.parametrize("tool", NAMES)
def test_what_a_session_holds_is_told_to_the_byte(taken, tool):
    found = open_profile.open_profile(taken / f"null@c.none.4.{NAMES[tool]}")
    for role in ("client", "server"):
        held = found.live_of_sessions("established", role)
        assert sum(one.bytes for one in held.values()) == HELD_BYTES * found.sessions_of_role
    assert [name for name in found.moments if is_phase_end(name)] == PHASES
    if tool == "sites":
        held = found.live_of_sessions("peak of closed", "server")
        assert sum(one.bytes for one in held.values()) == HELD_BYTES, "before the first block is freed"


def contents(file: Path) -> bytes:
    """As it is when unpacked."""
    if not zipfile.is_zipfile(file):
        return b"".join(read_chunks(file))
    with zipfile.ZipFile(file) as members:
        return b"".join(map(members.read, members.namelist()))


@pytest.mark.thorough
@needs_all
def test_nothing_names_a_place_of_this_machine(taken):
    """Neither the clone, nor where anything was made, nor who brought its packages."""
    files = sorted(taken.iterdir())
    assert len(files) == len(NAMES) + 4
    for file in files:
        text = contents(file)
        assert b"build/harness/null@c" in text
        for place in (ROOT, Path.home(), tempfile.gettempdir(), "registry/src"):
            assert bytes(Path(place)) not in text, (file.name, place)


@pytest.mark.slow
@needs_all
@pytest.mark.parametrize("tool", ["heaptrack", "massif"])
def test_packages_of_a_registry_are_named_from_themselves_on(tmp_path, tool):
    built_harness.find(RUST)
    done = profile(ROOT, f"--stack={RUST}", "--n=2", f"--tool={tool}", f"--out={tmp_path}", "--jobs=1")
    assert done.returncode == 0, done.stderr
    files = [file for file in (tmp_path / "profiles").iterdir() if file.suffix != ".json"]
    assert files and not any(b"registry/src" in contents(file) for file in files)
    assert any(b"rustls-0.23.46/src/" in contents(file) for file in files)


@needs_all
def test_heaptrack_print_reads_what_is_kept(taken):
    file = taken / "null@c.none.4.heaptrack.zst"
    printed = subprocess.run(["heaptrack_print", "-f", file], capture_output=True, text=True, check=True).stdout
    found = open_profile.open_profile(file)
    assert f"\ncalls to allocation functions: {found.sizes.total()} (" in printed
    assert "build/harness/null@c" in {frame.module for place in found.stacks.places for frame in place}


@needs_all
def test_massif_s_file_is_legal_and_its_trees_are_one_for_each_phase(taken, tmp_path):
    plain = tmp_path / "massif"
    plain.write_bytes(b"".join(read_chunks(taken / "null@c.none.4.massif.zst")))
    assert str(ROOT) not in plain.read_text()
    printed = subprocess.run(["ms_print", plain], capture_output=True, text=True, check=True).stdout
    assert f"Number of snapshots: {len(PHASES) + 1}\n" in printed and " (peak)" in printed
    with zipfile.ZipFile(taken / "null@c.none.4.massif.xtree.zip") as trees:
        assert trees.namelist() == [f"callgrind.out.{phase}" for phase in PHASES]
        assert trees.read("callgrind.out.established").startswith(b"# callgrind format\n")
    with zipfile.ZipFile(taken / "null@c.none.4.dhat.zip") as runs:
        assert runs.namelist() == [f"{phase}.json" for phase in PHASES]


@pytest.mark.thorough
@needs_all
def test_a_profile_that_is_there_is_taken_again_only_when_asked_or_changed(taken, tmp_path):
    folder = tmp_path / "profiles"
    shutil.copytree(taken, folder)
    file, words = folder / "null@c.none.4.heaptrack.zst", ["--stack=null@c", "--n=4", f"--out={tmp_path}"]
    begun = file.stat().st_ino

    older = [file.with_suffix(ending) for ending in (".gz", ".zip")]

    def changed(*more: str) -> bool:
        nonlocal begun
        done, before = profile(ROOT, *words, *more), begun
        begun = file.stat().st_ino
        assert done.returncode == 0 and ("is there already; --fresh (make: FRESH=1) takes it again" in done.stderr) == (
            begun == before
        )
        assert profile_metadata.load_record_beside(file)
        return begun != before

    for other in older:
        other.touch()
    assert not changed() and older[0].exists()
    assert changed("--fresh") and not any(other.exists() for other in older)
    file.write_bytes(file.read_bytes()[:-1])
    assert changed()
    assert len(list(folder.iterdir())) == len(list(taken.iterdir()))


@pytest.mark.thorough
@needs_all
def test_a_profile_of_another_run_is_taken_again(taken, tmp_path):
    """Of another machine, say, or another build of the stack: the run has another key."""
    folder = tmp_path / "profiles"
    shutil.copytree(taken, folder)
    record = folder / "null@c.none.4.sites.json"
    kept = record.read_text()
    record.write_text(re.sub(r'"key": *"\w{16}"', '"key": "0123456789abcdef"', kept))
    done = profile(ROOT, "--stack=null@c", "--n=4", "--tool=sites", f"--out={tmp_path}")
    assert done.returncode == 0 and "is there already" not in done.stderr
    assert profile_metadata.load(record).run.key in kept


def test_what_changed_is_asked_of_a_profile_that_is_there(tmp_path, capsys):
    """Of another stack, in the same suite, of as many sessions, by the same tool."""
    kept = ROOT / "data/2026-11-21-amd-epyc-2/profiles"
    new, old = (f"{stack}.tls12-rsa-aes256.1000.heaptrack" for stack in ("openssl@3.5.5", "rustls+aws-lc@0.23.46"))
    record = profile_metadata.load(kept / f"{new}.json")
    profile_stack.tell(ProfilePlace(kept, new), record)
    shown = "data/2026-11-21-amd-epyc-2/profiles"
    assert f"tools/tls-memtest heap read --diff {shown}/{old}.zst {shown}/{new}.zst\n" in capsys.readouterr().out
    for name in (f"{new}.json", f"{new}.zst", f"{old}.json", f"{old.replace('aes256.1000', 'aes256.10')}.zst"):
        shutil.copy(kept / name.replace("aes256.10.", "aes256.1000."), tmp_path / name)
    shutil.copy(kept / f"{old.replace('tls12', 'tls13')}.json", tmp_path)
    spaced = tmp_path / "a folder"
    shutil.copytree(kept, spaced)
    profile_stack.tell(ProfilePlace(spaced, new), record)
    commands = [line for line in capsys.readouterr().out.splitlines() if "tools/" in line]
    assert len(commands) == 3 and all(str(spaced / f"{new}.zst") in shlex.split(line) for line in commands)
    profile_stack.tell(ProfilePlace(tmp_path, new), record)
    assert "what changed" not in capsys.readouterr().out


@pytest.mark.thorough
@needs_all
def test_what_a_killed_run_left_is_removed_next_time(tmp_path):
    (tmp_path / "memtest-profile.1.mine").mkdir()
    (tmp_path / "memtest-profile.x.y").mkdir()
    dead = subprocess.Popen(["true"])
    dead.wait()
    (tmp_path / f"memtest-profile.{dead.pid}.left/inside").mkdir(parents=True)
    words = ["--stack=null@c", "--n=4", "--tool=sites", f"--out={tmp_path}"]
    assert profile(ROOT, *words, TMPDIR=str(tmp_path)).returncode == 0
    left = sorted(folder.name for folder in tmp_path.glob("memtest-profile.*"))
    assert left == ["memtest-profile.1.mine", "memtest-profile.x.y"]


@pytest.mark.thorough
@needs_all
def test_a_full_disk_is_a_sentence(small_disk):
    (small_disk / "others").write_bytes(bytes(36 << 10))
    done = profile(ROOT, "--stack=null@c", "--n=4", f"--out={small_disk}")
    assert sentence(done).endswith("cannot keep the profile: No space left on device")
    assert not list((small_disk / "profiles").glob("*"))


@pytest.mark.thorough
@needs_all
def test_why_a_harness_failed_is_told_though_its_profiler_speaks_last(project, tmp_path):
    done = on(project, "fail", tmp_path, f"exec {shutil.which('heaptrack')} $*")
    assert sentence(done).endswith("exit 1: memtest: pretender: handshakes incomplete after 10 steps")
    assert empty(tmp_path)
