"""Names of frames: of a program that is compiled here, and of addr2line's output as it is."""

import subprocess
from pathlib import Path

import pytest

from tlsmem.base.errors import UserError
from tlsmem.profile.frames import ALLOCATOR
from tlsmem.run import symbolizer
from tlsmem.schema.harness_output import StackLine

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>

static inline __attribute__((always_inline)) void *inlined(void)
{
    return malloc(7);
}
__attribute__((noinline)) void *outer(void)
{
    void *block = inlined();
    printf("%p ", block);
    return block;
}
static __attribute__((noinline)) void last(void)
{
    abort();
}
int main(void)
{
    free(outer());
    last();
}
"""
UNKNOWN = (None, None, None)


def stack(number, *frames):
    return StackLine(record="stack", stack=number, frames=list(frames))


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The directory, and by function where its first call returns to."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "a+b.c").write_text(PROGRAM)
    command = ["gcc", "-O1", "-g1", "-fno-optimize-sibling-calls", "-fno-omit-frame-pointer", "a+b.c", "-o", "a+b"]
    subprocess.run(command, cwd=folder, check=True)
    listing = ["objdump", "--disassemble", "--no-show-raw-insn", "a+b"]
    lines = subprocess.run(listing, cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()
    calls = {"outer": "malloc", "last": "abort", "main": "outer"}
    return folder, {name: returned_to(lines, name, callee) for name, callee in calls.items()}


def returned_to(lines, function, callee):
    """Where the first call of `callee` in `function` returns to: the instruction after one of five bytes."""
    body = lines[next(n for n, line in enumerate(lines) if line.endswith(f"<{function}>:")) :]
    call = next(line for line in body if "call" in line and callee in line)
    return hex(int(call.split(":")[0], 16) + 5)


def test_the_call_is_looked_up_and_not_where_it_returns_to(program):
    """After a call that never returns there is another function."""
    folder, at = program
    found = symbolizer.resolve_stacks([stack(0, f"a+b+{at['last']}")], folder)
    assert [frame.function for frame in found.frames] == ["last"]


def test_an_inlined_function_is_a_frame_of_its_own(program):
    folder, at = program
    found = symbolizer.resolve_stacks([stack(0, f"a+b+{at['outer']}", f"a+b+{at['main']}")], folder)
    named = [(found.frames[n].function, found.frames[n].line) for n in found.stacks[0]]
    assert named == [("inlined", 7), ("outer", 11), ("main", 21)]
    assert all(frame.file.endswith("a+b.c") for frame in found.frames)


def test_what_called_main_is_left_out_and_frames_are_shared(program):
    folder, at = program
    frames = [f"a+b+{at['outer']}", f"a+b+{at['main']}", "/no/such/library.so+0x10"]
    found = symbolizer.resolve_stacks([stack(0, *frames), stack(1, frames[1])], folder)
    assert found.stacks == [[0, 1, 2], [2]]


def test_a_module_that_is_not_there_or_is_no_elf_file_has_no_names(tmp_path):
    (tmp_path / "text").write_text("no module\n")
    found = symbolizer.resolve_stacks([stack(0, "gone+0x10", "text+0x20", "?+0x30")], tmp_path)
    assert [(frame.function, frame.module, frame.offset) for frame in found.frames] == [
        (None, "gone", 0x10),
        (None, "text", 0x20),
        (None, "?", 0x30),
    ]


def test_an_address_of_no_function_has_no_name(program):
    folder, _ = program
    found = symbolizer.resolve_stacks([stack(0, "a+b+0x1")], folder)
    assert [(frame.function, frame.file, frame.line) for frame in found.frames] == [UNKNOWN]


def test_no_stacks_are_no_frames(tmp_path):
    assert symbolizer.resolve_stacks([], tmp_path).stacks == []


def test_answers_as_addr2line_writes_them():
    output = ["0x0000000000001c2d", "inlined", "a.c:7", "outer", "/b/c.c:11 (discriminator 2)"]
    output += ["0x0000000000000001", "??", "??:0", "0x0000000000000002", "main", "??:?"]
    assert symbolizer.parse_addr2line(output) == [
        [("inlined", "a.c", 7), ("outer", "/b/c.c", 11)],
        [UNKNOWN],
        [("main", None, None)],
    ]


def test_files_are_named_from_their_package_on():
    for file, short in {
        "/proc/self/cwd/../../sources/openssl-src-300.5.5/openssl/mem.c": "openssl-src-300.5.5/openssl/mem.c",
        "./x/cargo/registry/src/host-1/a-1/cargo/registry/src/host-1/a-1/mem.c": "a-1/mem.c",
        "./harness-rust/rustls-0.23.46/../src/driver.rs": "harness-rust/src/driver.rs",
        "././memtest/main.c": "memtest/main.c",
        "cargo/registry/src/host-1/a-1/src/lib.rs": "a-1/src/lib.rs",
        f"/rustc/{'5980' * 10}/library/alloc/src/vec/mod.rs": "library/alloc/src/vec/mod.rs",
        "/usr/include/stdio.h": "/usr/include/stdio.h",
    }.items():
        assert symbolizer.shorten_path(file) == short


def test_without_addr2line_it_is_a_sentence(program, monkeypatch):
    folder, at = program
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UserError, match="apt install binutils"):
        symbolizer.resolve_stacks([stack(0, f"a+b+{at['main']}")], folder)


LIBRARY = """
#include <stdlib.h>
void *shown(int size) { return malloc(size + 1); }
__attribute__((noinline, visibility("hidden"))) void *hidden(int size) { return malloc(size + 2); }
void *shown_too(int size) { return hidden(size) ? hidden(size + 3) : NULL; }
"""


def spans(library, *words):
    """By name of a function where it begins and ends."""
    listed = subprocess.run(["nm", "-S", "--defined-only", *words, library], capture_output=True, text=True, check=True)
    rows = [line.split() for line in listed.stdout.splitlines()]
    spans = [(row[3].partition("@")[0], int(row[0], 16), int(row[1], 16)) for row in rows if len(row) == 4]
    return {name: (start, start + size) for name, start, size in spans}


@pytest.mark.parametrize("stripped", [True, False])
def test_of_a_library_without_debug_information_only_what_is_known_is_named(tmp_path, stripped):
    """addr2line says the symbol before, which is another's when the function is not exported; one follows the other."""
    (tmp_path / "a.c").write_text(LIBRARY)
    options = ["-O1", "-fPIC", "-falign-functions=1", "-fno-toplevel-reorder", "-shared"]
    subprocess.run(["gcc", *options, "a.c", "-o", "a.so"], cwd=tmp_path, check=True)
    at = spans(tmp_path / "a.so")
    if stripped:
        subprocess.run(["strip", "a.so"], cwd=tmp_path, check=True)
    asked = {name: [at[name][0] + 1, at[name][1]] for name in ("shown", "hidden", "shown_too")}
    lines = [stack(0, *(f"a.so+{offset:#x}" for offsets in asked.values() for offset in offsets))]
    found = symbolizer.resolve_stacks(lines, tmp_path)
    named = [found.frames[number].function for number in found.stacks[0]]
    hidden = None if stripped else "hidden"
    assert named == ["shown", "shown", hidden, hidden, "shown_too", "shown_too"]


def test_functions_of_the_c_library_have_their_names(tmp_path):
    """Where its debug information is installed it calls them __GI___libc_malloc and __GI___strdup."""
    library = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libc.so" in line)
    at = spans(library, "--dynamic")
    found = symbolizer.resolve_stacks(
        [stack(0, *(f"{library}+{at[name][1]:#x}" for name in ("malloc", "strdup")))], tmp_path
    )
    named = [found.frames[number].function for number in found.stacks[0]]
    assert [name.rpartition("_")[2] for name in named] == ["malloc", "strdup"] and all(map(ALLOCATOR.fullmatch, named))
