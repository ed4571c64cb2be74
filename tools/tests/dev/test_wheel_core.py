"""The heap meter and heapwalk of wheels: their counts are those of the clone's, on arm64 under qemu too."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tlsmem.base.paths import HEAP_METER, HEAP_WALK, ROOT

CORE = ROOT / "build/wheel-core"
ZIG = ROOT / "build/wheel-venv/bin/python"
LIBC = Path("/usr/aarch64-linux-gnu")
SESSIONS, SESSION_BYTES = 100, 40 + 1_000 + 3_032
WORDS = ("memory", f"sessions={SESSIONS}", "protocol=none", "cipher=none", "group=none", "certs=none", "auth=none")
FLAGS = ("-std=gnu11", "-O2", "-w", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-Imemtest")
PLACES = {"x86_64": "0", "aarch64": "1"}  # a harness keeps its path, whose length must be the same

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not ZIG.exists(), reason="the programs of wheels are not compiled: run `make wheel`"),
]


def find_emulator(system):
    """The words before a command of this architecture; skips the test where it cannot run here."""
    if system == os.uname().machine:
        return ()
    if not (qemu := shutil.which(f"qemu-{system}")) or not LIBC.is_dir():
        pytest.skip(f"{system} does not run here: apt install qemu-user libc6-arm64-cross")
    return qemu, "-L", str(LIBC)


@pytest.fixture(scope="module")
def harnesses(tmp_path_factory):
    """The null stack for each architecture."""
    folder = tmp_path_factory.mktemp("null")
    core = [
        file for file in (ROOT / "memtest").glob("*.c") if not file.name.startswith(("heapmeter", "heapwalk", "marks"))
    ]
    sources = [*core, "harness-c/main.c", "harness-c/drivers/null.c", "@memtest/wrapped.flags"]
    for system, place in PLACES.items():
        words = ["-m", "ziglang", "cc", "-target", f"{system}-linux-gnu.2.36", *FLAGS, *sources, "-ldl", "-lpthread"]
        (folder / place).mkdir()
        subprocess.run([ZIG, *words, "-o", folder / place / "null"], cwd=ROOT, check=True)
    return folder


def count(harnesses, system, meter):
    """What the meter counted of the null stack: by phase, and in it by role."""
    emulator = find_emulator(system)
    harness = [str(harnesses / PLACES[system] / "null"), *WORDS]
    variables = ["-E", f"LD_PRELOAD={meter}"] if emulator else []
    environment = os.environ if emulator else os.environ | {"LD_PRELOAD": str(meter)}
    with subprocess.Popen([*emulator, *variables, *harness], env=environment, stdout=subprocess.PIPE) as process:
        out, _ = process.communicate(timeout=60)
    Path(f"/dev/shm/heapmeter.{process.pid}").unlink(missing_ok=True)
    assert process.returncode == 0
    lines = map(json.loads, out.splitlines())
    return {line["phase"]: line["heap"] for line in lines if line["record"] == "phase"}


@pytest.mark.parametrize("system", PLACES)
def test_its_meter_counts_what_the_clones_does(harnesses, system):
    found = count(harnesses, system, CORE / system / Path(HEAP_METER).name)
    assert found == count(harnesses, "x86_64", ROOT / HEAP_METER)
    idle = found["idle"]
    assert [idle[role]["live_bytes"] for role in ("client", "server")] == [SESSIONS // 2 * SESSION_BYTES] * 2


@pytest.mark.parametrize("system", PLACES)
def test_its_heapwalk_finds_what_the_clones_does(system):
    program = "import sys; kept = ['a' * size for size in range(100, 5_000)]; print(); sys.stdin.read()"
    variables = os.environ | {"LD_PRELOAD": str(ROOT / HEAP_METER)}
    command = [shutil.which("python3"), "-c", program]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=variables, stdin=pipe, stdout=pipe) as process:
        process.stdout.readline()
        walks = [[str(ROOT / HEAP_WALK)], [*find_emulator(system), str(CORE / system / Path(HEAP_WALK).name)]]
        ours, theirs = (
            json.loads(subprocess.run([*walk, str(process.pid)], stdout=pipe, check=True).stdout) for walk in walks
        )
        process.communicate()
    Path(f"/dev/shm/heapmeter.{process.pid}").unlink(missing_ok=True)
    assert ours == theirs
    assert ours["requested"]["bytes"] > 4_900 * 100


def test_its_meter_passes_the_meters_own_tests():
    variables = os.environ | {"LD_PRELOAD": str(CORE / "x86_64" / Path(HEAP_METER).name)}
    done = subprocess.run([ROOT / "build/tests/test_heapmeter"], env=variables, capture_output=True, text=True)
    assert done.returncode == 0 and "[  PASSED  ] 16 test(s)." in done.stderr + done.stdout
