"""Why a program's file cannot load the heap meter."""

import shutil
import struct
import subprocess

import pytest

from tlsmem.monitor import program_file

INTERPRETERS = {"glibc": b"/lib64/ld-linux-x86-64.so.2\0", "musl": b"/lib/ld-musl-x86_64.so.1\0"}


def elf(interpreter=None):
    """The head of an ELF file of 64 bits, with one program header where it names a loader."""
    head = struct.pack("<16sHHIQQQIHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, 64, 0, 0, 64, 56, int(bool(interpreter)))
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


@pytest.mark.skipif(not shutil.which("gcc"), reason="needs gcc")
def test_programs_as_gcc_links_them(tmp_path):
    (tmp_path / "main.c").write_text("int main(void) { return 0; }")
    found = []
    for flags in ([], ["-static"]):
        subprocess.run(["gcc", *flags, tmp_path / "main.c", "-o", tmp_path / "main"], check=True)
        found.append(program_file.why_not_loadable(tmp_path / "main"))
    assert found == [None, program_file.STATIC]
