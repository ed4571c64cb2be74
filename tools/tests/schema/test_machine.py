"""The machine, as far as any machine can be known in advance."""

import os
from datetime import date
from pathlib import Path

import pytest

from tlsmem.base.repository import ROOT
from tlsmem.schema import machine, recording_name


@pytest.mark.parametrize(
    ("cpu", "name"),
    [
        ("AMD EPYC", "2026-11-21-amd-epyc"),
        ("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "2026-11-21-intel-xeon-platinum-8375c-cpu-2-90ghz"),
    ],
)
def test_a_recording_is_named_by_day_and_cpu(cpu, name):
    assert recording_name.recording_name(date(2026, 11, 21), cpu) == name


def test_runs_go_to_the_users_own_directory_by_default():
    name = recording_name.recording_name(date.today(), recording_name.cpu_model())
    assert recording_name.default_recording().relative_to(ROOT) == Path("data/local") / name


def test_this_machine():
    here = machine.read_machine()
    assert here.cpus == os.cpu_count()
    assert here.memory_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert here.kernel == os.uname().release


def test_the_chosen_of_the_kernels_options():
    assert machine.parse_selected("always [madvise] never\n") == "madvise"
