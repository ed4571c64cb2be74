"""The machine, as far as any machine can be known in advance."""

import mmap
import os
import resource
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest

from tlsmem.base.repository import ROOT
from tlsmem.schema import machine, machine_path, recording_name


@pytest.mark.parametrize(
    ("cpu", "name"),
    [
        ("AMD EPYC", "2026-11-21-amd-epyc-p3f2a"),
        ("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "2026-11-21-intel-xeon-platinum-8375c-cpu-2-90ghz-p3f2a"),
    ],
)
def test_a_recording_is_named_by_day_cpu_and_path(cpu, name):
    assert recording_name.recording_name(date(2026, 11, 21), cpu, "3f2a91c0") == name


def test_runs_go_to_the_users_own_directory_by_default():
    here = machine.read_machine()
    name = recording_name.recording_name(date.today(), here.cpu, here.path_name)
    assert recording_name.default_recording().relative_to(ROOT) == Path("data/local") / name


def test_this_machine():
    here = machine.read_machine()
    assert here.cpus == os.cpu_count()
    assert here.memory_bytes == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert here.kernel == os.uname().release
    assert here.path.page_bytes == mmap.PAGESIZE
    assert here.context.max_map_count == int(Path("/proc/sys/vm/max_map_count").read_text())
    assert here.context.open_files_soft == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def test_the_flags_of_the_path_are_those_that_decide_code_and_no_others(monkeypatch, tmp_path):
    monkeypatch.setattr(machine_path, "CPUINFO", tmp_path / "cpuinfo")
    said = (
        "vendor_id\t: Maker\ncpu family\t: 25\nmodel\t\t: 1\nmodel name\t: Name\nflags\t\t: fpu adx avx2 ssse3 umip\n"
    )
    machine_path.CPUINFO.write_text(f"{said}\n{said.replace('adx', 'aes')}")
    found = machine_path.read_path()
    assert [found[name] for name in ("vendor", "family", "model", "flags")] == ["Maker", "25", "1", "ssse3 avx2 adx"]
    assert found["xcr0"] is None, "a CPU without xsave would stop the process at xgetbv"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="XCR0 is a register of x86")
def test_xcr0_has_the_states_of_the_vector_units_that_the_kernel_shows():
    flags, xcr0 = machine_path.read_cpuinfo()["flags"].split(), int(machine_path.read_xcr0(), 16)
    assert xcr0 & 0b11 == 0b11, "x87 and SSE are always enabled"
    assert bool(xcr0 & 0b100) == ("avx" in flags) and bool(xcr0 & 0b1110_0000) == ("avx512f" in flags)


@pytest.mark.skipif(not shutil.which("readelf") or not shutil.which("gcc"), reason="needs gcc and readelf")
def test_a_build_id_is_that_of_readelf(tmp_path):
    (tmp_path / "main.c").write_text("int main(void) { return 0; }")
    for name, given in (("with", "-Wl,--build-id=0xc0ffee"), ("without", "-Wl,--build-id=none")):
        subprocess.run(["gcc", given, "main.c", "-o", name], cwd=tmp_path, check=True)
    assert machine_path.read_build_id(tmp_path / "with") == "c0ffee"
    assert machine_path.read_build_id(tmp_path / "without") is None
    assert machine_path.read_build_id(tmp_path / "main.c") is None
    of_libc = subprocess.run(["ldd", tmp_path / "with"], capture_output=True, text=True, check=True).stdout
    libc = next(word for word in of_libc.split() if word.startswith("/") and "/libc." in word)
    noted = subprocess.run(["readelf", "-n", libc], capture_output=True, text=True, check=True).stdout
    assert f"Build ID: {machine_path.read_libc_build_id()}\n" in noted


PATH = {"vendor": "Maker", "family": "25", "model": "1", "xcr0": "0x7", "libc_build_id": "ab", "page_bytes": 4096}
PATH |= {"flags": "avx2 adx"}


@pytest.mark.parametrize("field", PATH)
def test_every_field_of_the_path_makes_another(field):
    other = PATH | {field: 65536 if field == "page_bytes" else "0"}
    assert machine_path.path_digest(other, 2) != machine_path.path_digest(PATH, 2)


def test_hidden_flags_are_as_if_absent_and_cpus_and_huge_pages_make_another_path():
    name = machine_path.path_digest(PATH, 2)
    assert machine_path.path_digest(PATH, 2, ["adx"]) == machine_path.path_digest(PATH | {"flags": "avx2"}, 2) != name
    assert machine_path.path_digest(PATH, 2, ["avx512f"]) == name
    assert len({name, machine_path.path_digest(PATH, 4), machine_path.path_digest(PATH, 2, thp="always")}) == 3


def test_the_chosen_of_the_kernels_options():
    assert machine.parse_selected("always [madvise] never\n") == "madvise"
