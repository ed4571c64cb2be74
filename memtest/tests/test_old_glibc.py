"""The heap meter where glibc lacks what it may use: _dl_find_object (2.35) and __libc_single_threaded (2.32)."""

import subprocess
from pathlib import Path

import pytest
import test_core
from test_faults import failed_tests, made

from tests.support import built_harness

ROOT = Path(__file__).resolve().parents[2]
ABSENT = ("_dl_find_object", "__libc_single_threaded")


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """The meter as it is under an older glibc: the names of both are those of nothing."""
    meter = tmp_path_factory.mktemp("old") / "libheapmeter.so"
    made(ROOT / "memtest", meter, *(f"-D{name}=absent{name}" for name in ABSENT))
    symbols = subprocess.run(["nm", "-D", meter], capture_output=True, text=True, check=True).stdout
    assert [f"w absent{name}" in symbols for name in ABSENT] == [True, True]
    return meter


@pytest.mark.thorough
def test_all_is_counted(old):
    assert failed_tests(old) == (0, set())


def test_sites_mode_says_which_glibc_it_needs(old):
    harness = built_harness.find("null@c")
    arguments = ["memory", "sessions=20", *test_core.NONE]
    done = test_core.run(harness, *arguments, LD_PRELOAD=str(old), HEAPMETER_SITES="1")
    assert done.returncode != 0 and "HEAPMETER_SITES=1 needs glibc 2.35 or later" in done.stderr
    assert done.stderr.count("\n") == 1
