"""Why a program's file cannot load the heap meter."""

import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tlsmem.base.errors import UserError
from tlsmem.monitor import process, program_file, watch

INTERPRETERS = {"glibc": b"/lib64/ld-linux-x86-64.so.2\0", "musl": b"/lib/ld-musl-x86_64.so.1\0"}


def elf(interpreter=None, machine=62):
    """The head of an ELF file of 64 bits, with one program header where it names a loader."""
    head = struct.pack(
        "<16sHHIQQQIHHH", b"\x7fELF\x02\x01\x01", 3, machine, 1, 0, 64, 0, 0, 64, 56, int(bool(interpreter))
    )
    entry = struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, len(interpreter), 0, 1) if interpreter else b""
    return head.ljust(64, b"\0") + entry + (interpreter or b"")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (elf(), program_file.STATIC),
        (elf(INTERPRETERS["glibc"]), program_file.NO_PRELOAD),
        (elf(INTERPRETERS["musl"]), program_file.MUSL),
        (b"\x7fELF\x01".ljust(64, b"\0"), program_file.NARROW),
    ],
    ids=["static", "glibc", "musl", "32-bit"],
)
def test_a_program_that_cannot_load_the_meter_says_why(tmp_path, content, reason):
    """Of a script, the program that interprets it."""
    program, script = tmp_path / "program", tmp_path / "script"
    program.write_bytes(content)
    script.write_text(f"#!{program} -x\n")
    assert program_file.why_unmetered(str(program)) == reason
    assert program_file.why_unmetered(str(script)) == reason


@pytest.mark.parametrize("first", [b"\x7fELF\x02", b"#!", b""])
@given(rest=st.binary(max_size=200), sizes=st.sampled_from([b"", b"\xff" * 64, bytes(64)]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_program_is_no_traceback(tmp_path, first, rest, sizes):
    program = tmp_path / "program"
    program.write_bytes(first + rest[:30] + sizes + rest)
    assert program_file.why_unmetered(str(program))
    assert isinstance(program_file.explain_failed_start(str(program)), str)
    assert program_file.own_allocator(program) is None and program_file.foresee_go(str(program)) is None


@pytest.fixture
def meter(tmp_path, monkeypatch):
    """A heap meter for x86-64."""
    monkeypatch.setattr(program_file, "ROOT", tmp_path)
    file = tmp_path / program_file.HEAP_METER
    file.parent.mkdir(parents=True)
    file.write_bytes(elf())
    return file


@pytest.mark.parametrize(
    ("machine", "reason"),
    [
        (62, None),
        (183, "it is a program for arm64, and the meter is for x86-64"),
        (243, "it is a program for machine 243, and the meter is for x86-64"),
    ],
)
def test_a_program_of_another_architecture_says_so(tmp_path, meter, machine, reason):
    program = tmp_path / "program"
    program.write_bytes(elf(INTERPRETERS["glibc"], machine))
    assert program_file.why_not_loadable(program) == reason
    meter.unlink()
    assert program_file.why_not_loadable(program) is None


def test_what_the_os_does_not_start_is_explained(tmp_path, meter):
    program = tmp_path / "program"
    assert program_file.explain_failed_start(str(program)) == ""
    program.write_bytes(elf(INTERPRETERS["glibc"]))
    assert program_file.explain_failed_start(str(program)) == ""
    program.write_bytes(elf(INTERPRETERS["musl"]))
    assert program_file.explain_failed_start(str(program)) == f" ({program_file.MUSL})"


def test_without_glibc_the_meter_is_a_sentence(monkeypatch):
    for answer in (ValueError("unrecognized configuration name"), None):
        monkeypatch.setattr(process.os, "confstr", raising(answer))
        with pytest.raises(UserError, match=r"^the heap meter needs glibc, ") as refused:
            process.preload_value()
        assert refused.value.status == 2


def raising(answer):
    """A function that raises this error, or returns what is none."""

    def confstr(_name):
        if isinstance(answer, Exception):
            raise answer
        return answer

    return confstr


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_programs_as_gcc_links_them(tmp_path):
    (tmp_path / "main.c").write_text("int main(void) { return 0; }")
    found = []
    for flags in ([], ["-static"]):
        subprocess.run(["gcc", *flags, tmp_path / "main.c", "-o", tmp_path / "main"], check=True)
        found.append(program_file.why_not_loadable(tmp_path / "main"))
    assert found == [None, program_file.STATIC]


def elf_with_names(*names):
    """An ELF file of 64 bits with one section, a table of strings that has these names."""
    content = b"\0" + b"\0".join(name.encode() for name in names) + b"\0"
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 64, 0, 64, 56, 0, 64, 1, 0)
    section = struct.pack("<IIQQQQIIQQ", 0, program_file.SHT_STRTAB, 0, 0, 128, len(content), 0, 0, 1, 0)
    return head + section + content


@pytest.mark.parametrize(
    ("names", "is_go"),
    [
        (["main", "runtime.mallocgc"], True),
        ([".text", ".note.go.buildid", ".gopclntab"], True),  # stripped
        (["je_malloc"], False),
        ([".text"], False),
    ],
)
def test_of_a_go_program_it_is_said_first_that_the_meter_does_not_see_its_heap(tmp_path, names, is_go):
    program, script = tmp_path / "server", tmp_path / "script"
    program.write_bytes(elf_with_names(*names))
    script.write_text(f"#!{program}\n")
    for command in program, script:
        sentence = program_file.foresee_go(str(command))
        assert bool(sentence) is is_go
        assert not is_go or sentence.startswith("server is a Go program: the heap meter does not see Go's heap")
    assert program_file.foresee_go(str(tmp_path / "none")) is None


def test_the_sentence_stands_before_every_figure(tmp_path, monkeypatch, capsys):
    program = tmp_path / "server"
    program.write_bytes(elf_with_names("runtime.mallocgc"))

    def start(words):
        raise UserError("the command would start here")

    monkeypatch.setattr(watch.process, "MeteredCommand", start)
    with pytest.raises(UserError, match="would start here"):
        watch.follow([str(program)], watch.ReportOptions(1.0, True, False, False, (), None, (), None))
    assert capsys.readouterr().err.startswith("memtest: server is a Go program")


def test_a_directory_that_other_users_may_not_enter_is_named():
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "build/libheapmeter.so"
        library.parent.mkdir()
        assert program_file.find_closed_folder(library) == Path(folder)
        Path(folder).chmod(0o755)
        assert program_file.find_closed_folder(library) is None
        assert program_file.find_closed_folder(library / "not/there") is None
