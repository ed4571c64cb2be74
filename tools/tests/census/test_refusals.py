"""What cannot be counted is a sentence, and other blocks or files are never taken for a session's."""

import builtins
import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.census.conftest import Holder, compile_c
from tests.support import in_process
from tlsmem.base.errors import Usage, UserError
from tlsmem.census import census
from tlsmem.census.census import find_libraries, take_census
from tlsmem.census.target import MappedFile, Running, open_mapped, read_target
from tlsmem.cli.dispatch import run_words

NO_PROCESS = 4_194_304  # above the largest number of a process


@pytest.fixture
def idle():
    """A program without a TLS library."""
    process = subprocess.Popen(["sleep", "60"])
    while Path(f"/proc/{process.pid}/comm").read_text() != "sleep\n":  # exec closes descriptors before it sets the name
        time.sleep(0.001)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize(
    "words", ["", "abc", "0", f"{NO_PROCESS}", "--service nothing-has-this-name", "1 --service init", "1 --every 0"]
)
def test_a_wrong_command_line_is_one_sentence(words, capsys):
    assert in_process.exit_status(lambda: run_words(["heap", "census", *words.split()])) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.startswith("memtest: ") and said.err.count("\n") == 1


def test_a_program_without_tls_is_one_sentence(idle):
    with pytest.raises(UserError, match=r"\(sleep\): no TLS library is mapped or linked into it") as raised:
        take_census([idle.pid])
    assert raised.value.status == 1


TINY = ".globl _start\n_start: movl $29,%eax; int $0x80; jmp _start\n"  # pause of 32 bits


def test_a_32_bit_program_is_a_sentence(tmp_path):
    """Its TLS library, of 32 bits too, is not looked for."""
    (tmp_path / "tiny.S").write_text(TINY)
    words = ["gcc", "-m32", "-nostdlib", "-static", tmp_path / "tiny.S", "-o", tmp_path / "tiny"]
    subprocess.run(words, check=True)
    process = subprocess.Popen([tmp_path / "tiny"])
    try:
        while Path(f"/proc/{process.pid}/comm").read_text() != "tiny\n":
            time.sleep(0.001)
        with pytest.raises(UserError, match=r"\(tiny\): it has 32-bit code, which the census does not count"):
            take_census([process.pid])
    finally:
        process.kill()
        process.wait()


def test_of_java_there_is_a_sentence():
    mapped = MappedFile("/usr/lib/jvm/lib/server/libjvm.so", 0, 0, ())
    found = find_libraries(Running(1, "java", (mapped,)), {})
    assert not found.counted and found.remarks[0].startswith(
        "Java: not counted, because its sessions are in a heap of its own"
    )


def test_a_process_that_has_ended_is_said(idle):
    idle.kill()
    idle.wait()
    with pytest.raises(Usage, match="there is no such process"):
        take_census([idle.pid])


@pytest.fixture
def holder(holder_program, certificate):
    with_sessions = Holder([holder_program, *certificate, "20", "0", "0"])
    with_sessions.read(), with_sessions.step()
    yield with_sessions
    with_sessions.close()


def test_others_are_counted_where_one_process_cannot_be(holder, idle):
    found, remarks = take_census([idle.pid, holder.pid])
    assert [process.sessions for process in found] == [20] and len(remarks) == 1


def test_a_process_that_ends_while_it_is_read_is_said(holder, monkeypatch):
    def read_and_end(*of_target):
        heap = read_live_heap(*of_target)
        holder.process.kill()
        holder.process.wait()
        return heap

    read_live_heap = census.read_live_heap
    monkeypatch.setattr(census, "read_live_heap", read_and_end)
    with pytest.raises(UserError, match="it ended while it was read"):
        take_census([holder.pid])


def test_blocks_of_the_same_size_are_no_sessions(holder_program, certificate, holder):
    (library,) = find_libraries(read_target(holder.pid), {}).counted
    size = library.sizes["SSL"]
    with_foreign = Holder([holder_program, *certificate, "7", "0", "0", str(size)])
    with_foreign.read(), with_foreign.step()
    ((process,), _) = take_census([with_foreign.pid])
    with_foreign.close()
    assert process.sessions == 7


def test_a_program_with_a_pool_of_its_own_is_a_sentence(compile_holder, certificate):
    pooled = Holder([compile_holder("-DPOOL"), *certificate, "20", "0", "0"])
    pooled.read(), pooled.step()
    with pytest.raises(
        UserError, match=r"OpenSSL [\d.]+: not counted, because its memory is allocated by .*/holds_sessions"
    ):
        take_census([pooled.pid])
    pooled.close()


@pytest.fixture
def replaced(holder_program, certificate, tmp_path):
    """A process whose library has another file under its path by now."""
    linked = subprocess.run(["ldd", holder_program], capture_output=True, text=True, check=True).stdout
    library = next(line.split()[2] for line in linked.splitlines() if "libssl" in line)
    own = tmp_path / os.path.basename(library)
    shutil.copy(library, own)
    words = ["env", f"LD_LIBRARY_PATH={tmp_path}", holder_program, *certificate, "20", "0", "0"]
    with_sessions = Holder(words)
    with_sessions.read(), with_sessions.step()
    own.unlink()
    compile_c("../../../memtest/tests/holding.c", own, "-shared", "-fPIC", "-lpthread")
    yield with_sessions
    with_sessions.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may read what is mapped")
def test_root_reads_the_file_that_is_mapped(replaced):
    ((process,), remarks) = take_census([replaced.pid])
    assert process.sessions == 20 and not remarks


def test_a_file_that_has_taken_the_place_of_a_library_is_not_read(replaced, monkeypatch):
    def refuse(file, *how, **named):
        if "map_files" in str(file):
            raise PermissionError(file)
        return really_open(file, *how, **named)

    really_open = builtins.open
    monkeypatch.setattr(builtins, "open", refuse)
    target = read_target(replaced.pid)
    (mapped,) = (one for one in target.files if "libssl" in one.name)
    assert open_mapped(target.pid, mapped) is None
    with pytest.raises(UserError, match="its file was deleted, replaced"):
        take_census([replaced.pid])


def test_a_process_that_proc_hides_is_one_that_may_not_be_read(monkeypatch):
    """As where /proc is mounted with hidepid: a signal is refused to a process that is there."""

    def refuse(*_):
        raise PermissionError

    with pytest.raises(Usage, match="there is no such process"):
        read_target(NO_PROCESS)
    monkeypatch.setattr(os, "kill", refuse)
    with pytest.raises(Usage, match="only its user and root may read its memory"):
        read_target(NO_PROCESS)


def test_a_thread_is_not_counted_as_a_process():
    program = "import threading, time; t = threading.Thread(target=time.sleep, args=(60,), daemon=True); t.start(); "
    program += "print(t.native_id, flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as one:
        thread = int(one.stdout.readline())
        with pytest.raises(UserError, match=f"{thread}: it is a thread of process {one.pid}; give that number"):
            take_census([thread])
        one.communicate("\n")


def test_a_list_of_chunks_that_has_no_place_is_a_sentence(holder, monkeypatch):
    """As where vm.memfd_noexec is 2."""

    def refuse(*_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "memfd_create", refuse)
    with pytest.raises(UserError, match=r"^\d+: a file in memory for its chunks: Permission denied; it has OpenSSL"):
        take_census([holder.pid])
