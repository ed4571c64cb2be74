"""A core file gives the counts of the process that it is of; what is none, or not whole, is a sentence."""

import gzip
import json
import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.census.conftest import Holder, compile_c
from tests.support import in_process
from tlsmem.base.errors import UserError
from tlsmem.census.census import take_census
from tlsmem.census.core_file import read_core
from tlsmem.cli.dispatch import run_words
from tlsmem.monitor.rss_parts import walk_heaps

PATTERN = Path("/proc/sys/kernel/core_pattern")
CREATED, HALF_OPEN, ESTABLISHED = 20, 30, 40
MACHINE_AT, CLASS_AT, TYPE_AT = 18, 4, 16  # in the header of an ELF file
ARM_64, PROGRAM = 183, 2
NOT_THERE = "the file that was mapped, with the build ID [0-9a-f]{40},"


def gcore(pid, folder):
    if not shutil.which("gcore"):
        pytest.skip("needs gcore, of gdb")
    subprocess.run(["gcore", "-o", folder / "core", str(pid)], check=True, capture_output=True)
    return folder / f"core.{pid}"


def crash(holder, folder):
    """End a process by a signal that has the kernel write its core into its directory."""
    holder.process.send_signal(signal.SIGABRT)
    holder.process.wait()
    found = [*folder.glob("core*")]
    if not found:
        pytest.skip(f"the kernel writes no core here: {PATTERN.read_text().strip()}")
    return found[0]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A function that starts a program whose core goes to a directory of its own."""
    if "/" in PATTERN.read_text() or PATTERN.read_text().startswith("|"):
        pytest.skip("the kernel gives cores to another program here")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        pytest.skip("a limit forbids cores here")
    started = []

    def start_program(*words):
        folder = tmp_path_factory.mktemp("core")
        started.append(Holder(["sh", "-c", 'cd "$0" && ulimit -c unlimited && exec "$@"', folder, *map(str, words)]))
        return started[-1], folder

    yield start_program
    for holder in started:
        holder.process.kill()
        holder.process.wait()


@pytest.fixture(scope="module")
def hold(start, holder_program, certificate):
    """A function that starts a program with sessions of each state."""

    def start_holder(core_filter="33"):
        holder, folder = start(holder_program, *certificate, CREATED, HALF_OPEN, ESTABLISHED)
        holder.read()
        for _ in range(3):
            holder.step()
        Path(f"/proc/{holder.pid}/coredump_filter").write_text(f"0x{core_filter}")
        return holder, folder

    return start_holder


@pytest.fixture(scope="module")
def censuses(hold, tmp_path_factory):
    """The census of a process, of its core by gcore where that is there, and of its core by the kernel."""
    holder, folder = hold()
    places = {"running": holder.pid}
    ((running,), _) = take_census([holder.pid])
    if shutil.which("gcore"):
        places["gcore"] = gcore(holder.pid, tmp_path_factory.mktemp("gcore"))
    places["kernel"] = crash(holder, folder)
    cores = {name: take_census([place]) for name, place in places.items() if name != "running"}
    assert not any(remarks for _, remarks in cores.values())
    return {"running": running} | {name: found[0] for name, (found, _) in cores.items()}


@pytest.mark.parametrize("kind", ["gcore", "kernel"])
def test_a_core_gives_the_counts_of_the_process(censuses, kind):
    if kind not in censuses:
        pytest.skip("needs gcore, of gdb")
    running, core = censuses["running"], censuses[kind]
    (of_running,), (of_core,) = running.libraries, core.libraries
    assert core.sessions == CREATED + HALF_OPEN + ESTABLISHED
    assert [(group.role, group.state, group.count, group.bytes) for group in of_core.groups] == [
        (group.role, group.state, group.count, group.bytes) for group in of_running.groups
    ]
    assert of_core.objects == of_running.objects
    assert (core.target.pid, core.target.program) == (running.target.pid, running.target.program)
    assert core.connections is None and core.rss.unexplained_bytes == 0


def test_the_kernels_core_says_what_was_resident(censuses):
    running, core = censuses["running"], censuses["kernel"]
    if not core.target.is_sparse:
        pytest.skip("the file system has no sparse files")
    assert core.rss.parts == running.rss.parts
    assert core.tls_bytes == running.tls_bytes


def test_in_a_core_that_is_not_sparse_pages_of_zeros_do_not_count(censuses):
    """Some were resident; of what was not, nothing counts."""
    if "gcore" not in censuses:
        pytest.skip("needs gcore, of gdb")
    running, core = censuses["running"], censuses["gcore"]
    assert not core.target.is_sparse
    parts = [(core.rss.parts[name] or 0, running.rss.parts[name] or 0) for name in running.rss.parts]
    assert all(0.7 * was <= dumped <= was for dumped, was in parts if was > 100_000)
    assert 0.6 * running.tls_bytes < core.tls_bytes <= running.tls_bytes


def test_all_of_malloc_is_divided_as_in_the_process(start, tmp_path):
    """Chunks in a thread's cache, in fastbins, free, with mappings of their own, and in an arena of a thread."""
    holder, folder = start(
        compile_c("../../../memtest/tests/holding.c", tmp_path / "holding", "-fno-builtin", "-lpthread")
    )
    for step in ("start", "blocks", "cached", "fast", "free", "mmapped", "unwritten", "thread", "zeros"):
        holder.process.stdin.write(f"{step}\n")
        holder.process.stdin.flush()
        holder.read()
    (running,) = walk_heaps([holder.pid])
    core = read_core(crash(holder, folder), "")
    with core.walk("") as walk:
        line = walk.line
    parts = ("used", "cached", "free", "mmapped", "own_bytes", "arenas", "free_sizes", "exact", "glibc")
    assert line["arenas"] == 2 and line["cached"]["chunks"] > 10 and line["mmapped"]["chunks"] > 2
    if not core.is_sparse:
        pytest.skip("the file system has no sparse files")
    assert {part: line[part] for part in parts} == {part: running[part] for part in parts}


@pytest.fixture(scope="module")
def core(hold):
    return crash(*hold())


def say(words, capsys):
    """Exit status, stdout and stderr of `heap census`."""
    status = in_process.exit_status(lambda: run_words(["heap", "census", *map(str, words)]))
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_command_says_what_a_core_does_not_have(core, capsys):
    status, out, err = say([core], capsys)
    assert status in (0, None) and not err
    assert "of anonymous memory in the core." in out and "connections are established" not in out
    assert "a core does not say which sockets were open" in out
    status, out, _ = say([core, "--json"], capsys)
    memory = json.loads(out)["tables"][1]
    assert "dumped_bytes" in json.dumps(memory)


def patch(core, folder, at, number):
    """A copy of a core with another byte in its header."""
    content = bytearray(core.read_bytes())
    content[at] = number
    (folder / "patched").write_bytes(content)
    return folder / "patched"


def write(folder, content):
    (folder / "file").write_bytes(content)
    return folder / "file"


BROKEN = {
    "truncated": (lambda core, folder: write(folder, core.read_bytes()[:-5000]), "it is truncated: it has "),
    "half": (lambda core, folder: write(folder, core.read_bytes()[: core.stat().st_size // 2]), "it is truncated: "),
    "header": (lambda core, folder: write(folder, core.read_bytes()[:70]), "it is truncated"),
    "short": (lambda core, folder: write(folder, core.read_bytes()[:20]), "it is truncated"),
    "32-bit": (lambda core, folder: patch(core, folder, CLASS_AT, 1), "it is of a 32-bit program"),
    "arm": (lambda core, folder: patch(core, folder, MACHINE_AT, ARM_64), "it is of a program for AArch64"),
    "program": (
        lambda core, folder: patch(core, folder, TYPE_AT, PROGRAM),
        "it is a program or a library, and no core",
    ),
    "text": (lambda _, folder: write(folder, b"no core at all"), "it is no core file"),
    "empty": (lambda _, folder: write(folder, b""), "it is no core file"),
    "packed": (lambda core, folder: write(folder, gzip.compress(core.read_bytes(), 1)), "it is compressed; `gzip -d`"),
    "folder": (lambda _, folder: folder, "Is a directory"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_what_is_no_whole_core_of_this_kind_is_one_sentence(kind, core, tmp_path, capsys):
    make, sentence = BROKEN[kind]
    status, out, err = say([make(core, tmp_path)], capsys)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert sentence in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["{core}", "1"], "give either PIDs or core files"),
        (["{core}", "--every", "1"], "a core does not change"),
        (["1", "--sysroot", "/"], "--sysroot also needs a core file"),
        (["no-such-core"], "is not the number of a process and no core file"),
    ],
)
def test_what_cannot_be_together_is_one_sentence(words, sentence, core, capsys):
    status, out, err = say([word.format(core=core) for word in words], capsys)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert sentence in err


def find_library(core, name):
    return next(mapped for mapped in read_core(core, "").files if mapped.name.startswith(name))


def test_another_file_under_the_path_is_not_read(core, tmp_path):
    """Neither of libssl nor of libc; with the files of the machine it is counted."""
    for mapped in read_core(core, "").files:
        copy = tmp_path / mapped.path.lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(mapped.path, copy)
    system = str(tmp_path)
    ((process,), _) = take_census([core], system)
    assert process.sessions == CREATED + HALF_OPEN + ESTABLISHED
    for name, status in (("libc.", 2), ("libssl.", 1)):
        copy = tmp_path / find_library(core, name).path.lstrip("/")
        shutil.copy(find_library(core, "ld-").path, copy)
        with pytest.raises(UserError, match=rf"{NOT_THERE} is not at {system}/.*; give --sysroot DIR") as raised:
            take_census([core], system)
        assert raised.value.status == status
        copy.unlink()
        with pytest.raises(UserError, match=f"{NOT_THERE} is not at {system}/"):
            take_census([core], system)
        shutil.copy(find_library(core, name).path, copy)


@pytest.mark.parametrize(
    ("core_filter", "sentence"),
    [("0", "bit 0 of /proc/PID/coredump_filter"), ("23", "bit 4 of /proc/PID/coredump_filter")],
)
def test_what_was_not_dumped_is_said(core_filter, sentence, hold):
    with pytest.raises(UserError, match=sentence):
        take_census([crash(*hold(core_filter))])


def test_a_damaged_heap_is_not_counted(core, tmp_path):
    heap = next(one for one in read_core(core, "").segments if one.is_writable and one.dumped > 1 << 20)
    damaged = tmp_path / "damaged"
    shutil.copy(core, damaged)
    with damaged.open("r+b") as file:
        os.pwrite(file.fileno(), b"\xff" * 65536, heap.offset + heap.dumped // 2)
    with pytest.raises(UserError, match="its chunks cannot be followed: it was inside malloc, its heap is damaged"):
        take_census([damaged])
