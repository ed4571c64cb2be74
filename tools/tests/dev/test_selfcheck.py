"""The heap meter is held against profilers that are not ours, and a faulty one is found out by name."""

import asyncio
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.profile.capture import profilers
from tlsmem.selfcheck import reference_profilers

COMMAND = [sys.executable, str(ROOT / "tools/dev/selfcheck.py"), "--quick", "--n=2", "--suites=tls13-rsa-aes256"]
FLAGS = ["-std=gnu11", "-O2", "-fno-omit-frame-pointer", "-fPIC", "-fno-builtin", "-fvisibility=hidden", "-shared"]
FORGETS = re.compile(r"block_out\(header\);(?= /\* the old size goes before the new one comes)")

BUILT = [ROOT / "build/harness/openssl@3.5.5", ROOT / "build/core/libmarks.so"]
needs_all = pytest.mark.skipif(
    not (shutil.which("valgrind") and shutil.which("heaptrack") and all(file.exists() for file in BUILT)),
    reason="needs valgrind, heaptrack, build/core/libmarks.so and a built openssl@3.5.5: make selfcheck brings them",
)


def check(*words: str, command: list[str] = COMMAND) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*command, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=600)


def meter_that_forgets(folder: Path) -> Path:
    """Built from the project's sources, but for realloc, which keeps the old size among what is live."""
    for source in ROOT.glob("memtest/*.[ch]"):
        shutil.copy(source, folder)
    sound = (folder / "heapmeter.c").read_text()
    faulty, count = FORGETS.subn("(void)header;", sound)
    assert count == 1
    (folder / "heapmeter.c").write_text(faulty)
    library = folder / "libforgets.so"
    subprocess.run(["gcc", *FLAGS, *folder.glob("heapmeter*.c"), "-o", library, "-ldl"], check=True)
    return library


@pytest.mark.slow
@needs_all
def test_a_meter_that_forgets_realloc_s_old_size_is_named(tmp_path):
    done = check("--stacks=openssl@3.5.5", "--suites=tls13-rsa-aes256", f"--meter={meter_that_forgets(tmp_path)}")
    assert done.returncode == 1
    assert "memtest: heap meter: openssl@3.5.5, tls13-rsa-aes256: contexts: " in done.stderr
    assert not re.search("memtest: (heaptrack|massif|DHAT)", done.stderr)


@pytest.mark.thorough
@needs_all
def test_a_library_that_is_no_meter_is_a_sentence():
    done = check("--stacks=openssl@3.5.5", f"--meter={reference_profilers.MARKS}")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        f"memtest: heap meter: {reference_profilers.MARKS} was preloaded, and "
    )


def test_what_the_loader_would_pass_over_is_refused_before_anything_is_run(tmp_path):
    spaced, text = tmp_path / "a meter.so", tmp_path / "meter.so"
    shutil.copy(shutil.which("true"), spaced)
    text.write_text("no library")
    told = {file: reference_profilers.unfit(file) for file in (tmp_path / "none.so", tmp_path, spaced, text)}
    assert list(told.values()) == [
        "it cannot be preloaded: No such file or directory",
        "it cannot be preloaded: Is a directory",
        "a library that is preloaded has no space and no colon in its path",
        "not a shared library",
    ]
    assert reference_profilers.unfit(Path(shutil.which("true"))) is None


@pytest.mark.thorough
@needs_all
def test_a_meter_that_is_not_there_is_a_sentence():
    done = check("--stacks=openssl@3.5.5", "--meter=/no/such.so")
    assert (done.returncode, done.stderr) == (
        1,
        "memtest: /no/such.so: it cannot be preloaded: No such file or directory\n",
    )


@pytest.mark.thorough
@needs_all
def test_marks_that_are_not_made_are_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(profilers, "MARKS_LIBRARY", "build/core/libnone.so")  # which the loader passes over
    subject = reference_profilers.Subject("openssl@3.5.5", "tls13-rsa-aes256", 2)
    with pytest.raises(
        reference_profilers.CaptureFailed, match=r"^massif: it wrote no snapshot at a mark: is build/core/.* current"
    ):
        asyncio.run(reference_profilers.massif(subject, tmp_path))


@pytest.mark.thorough
def test_a_stack_with_an_allocator_of_its_own_is_refused():
    done = check("--stacks=rustls+aws-lc+jemalloc-rust@0.23.46")
    assert done.returncode == 1
    assert "brings its own allocator, jemalloc-rust, which neither meter nor profiler sees" in done.stderr


@pytest.mark.thorough
def test_a_profiler_that_is_missing_is_named_with_its_package(tmp_path):
    done = subprocess.run(COMMAND, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    wanted = "memtest: valgrind: it is not installed; install it with: sudo apt-get install -y valgrind\n"
    assert done.stderr == wanted


@pytest.mark.thorough
def test_a_suite_that_does_not_repeat_to_the_byte_is_refused():
    done = check("--suites=tls13-ecdsa-aes256")
    assert done.returncode == 1
    assert done.stderr.startswith("memtest: tls13-ecdsa-aes256: its live bytes differ from run to run")


def test_a_number_that_cannot_be_is_a_sentence():
    assert check("--n=3").stderr.startswith("memtest: --n=3: sessions come in pairs")
