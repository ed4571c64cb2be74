"""Faults that are planted must be caught, by name: in a stack, and in the heap meter itself."""

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tlsmem.base.paths import HEAP_METER
from tlsmem.config import definitions
from tlsmem.config.run import SYSTEM, Run, argv
from tlsmem.run import harness, preload, provenance
from tlsmem.selfcheck import audit

ROOT = Path(__file__).resolve().parents[2]
FAULTY = ROOT / "build/tests/faulty"
STACK = "null@faulty"
RUNS = {"rss": (200, 1000, 2000), "heap": (200, 400)}  # sessions, by meter
EACH = "null@faulty, none: "

FORGOTTEN = "    block_out(header); /* the old size goes before the new one comes: no peak that was not there */\n"

# Of each fault, the beginnings of the findings that it must give: these and no others.
FINDINGS = {
    "": [],
    "leak 64": [f"leak: {EACH}64 B in 1 block per session of either role are live after everything is freed"],
    "leak on the client": [f"leak: {EACH}64 B in 1 block per client session are live after everything is freed"],
    "leak": [f"leak: {EACH}1,000 B in 1 block per session of either role are live"],
    "keeps state": [f"state: {EACH}200 B in 1 block per session of either role are kept after it is closed"],
    "touches more": [f"null: {EACH}each session touches 8,192.0 B of memory, where 4,096 are right"],
    "reallocates": [],
}
FAILURES = {
    "other group": "negotiated group P-192, the suite asks for none",
    "corrupt byte": "received other bytes than were sent",
}


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    """The faulty stack as a built harness."""
    shutil.copy(FAULTY, tmp_path / STACK)
    build = {"stack": STACK, "binary_sha256": hashlib.sha256(FAULTY.read_bytes()).hexdigest(), "source": None}
    build |= {"compiler": "gcc", "flags": "-O2", "licence": "Apache-2.0 OR MIT"}
    (tmp_path / f"{STACK}.json").write_text(json.dumps(build))
    monkeypatch.setattr(provenance, "HARNESSES", tmp_path)
    provenance.read_manifest.cache_clear()
    yield tmp_path / STACK
    provenance.read_manifest.cache_clear()


def recorded(program, fault, meter, sessions, **variables):
    """One run of it, as it would stand in data/."""
    origin = provenance.Provenance(definitions.suites(), definitions.allocators())
    run = Run(STACK, "none", SYSTEM, "all", sessions, meter, 1)
    asked = [str(program), *argv(run, origin.suites["none"])[1:]]
    environment = preload.run_variables(meter, origin.allocator(run), origin.allocators[SYSTEM])
    outcome = asyncio.run(harness.run(asked, environment | {"FAULT": fault} | variables, 60))
    return origin.record(run, outcome)


def recording(program, fault, **variables):
    return [
        recorded(program, fault, meter, sessions, **(variables if meter == "heap" else {}))
        for meter, counts in RUNS.items()
        for sessions in counts
    ]


@pytest.mark.parametrize(
    "fault",
    [pytest.param(fault, marks=pytest.mark.thorough if number else []) for number, fault in enumerate(FINDINGS)],
)
def test_a_fault_of_the_stack_is_found_by_name_and_nothing_else_is(faulty, fault):
    records = recording(faulty, fault)
    assert {record.reason for record in records} == {None}
    found = audit.findings(records)
    assert len(found) == len(FINDINGS[fault]), found
    assert all(map(str.startswith, found, FINDINGS[fault])), found


@pytest.mark.parametrize("fault", FAILURES)
def test_a_fault_of_the_protocol_fails_the_run_with_its_sentence(faulty, fault):
    record = recorded(faulty, fault, "heap", 20)
    assert record.status == "failed" and FAILURES[fault] in record.reason


def made(sources, meter, *flags):
    """The heap meter, of the sources in a folder."""
    command = ["gcc", "-std=gnu11", "-O2", "-fPIC", "-fno-builtin", "-fvisibility=hidden", "-fno-omit-frame-pointer"]
    command += [*flags, *sorted(map(str, sources.glob("heapmeter*.c"))), "-shared", "-o", str(meter), "-ldl"]
    subprocess.run(command, check=True)
    return meter


@pytest.fixture(scope="module")
def forgetful(tmp_path_factory):
    """A heap meter that forgets the old size in realloc."""
    folder = tmp_path_factory.mktemp("forgetful")
    for file in [*(ROOT / "memtest").glob("heapmeter*.c"), *(ROOT / "memtest").glob("*.h")]:
        source = file.read_text()
        if file.name == "heapmeter.c":
            assert source.count(FORGOTTEN) == 1
            source = source.replace(FORGOTTEN, "")
        (folder / file.name).write_text(source)
    return made(folder, folder / "meter.so")


def failed_tests(meter):
    """What the meter's own tests say of it."""
    variables = os.environ | {"LD_PRELOAD": str(meter)}
    test = ROOT / "build/tests/test_heapmeter"
    with subprocess.Popen(
        [test], env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        said, _ = process.communicate(timeout=60)
    Path(f"/dev/shm/heapmeter.{process.pid}").unlink(missing_ok=True)
    return process.returncode, {line.partition("] ")[2].strip() for line in said.splitlines() if "FAILED" in line}


@pytest.mark.thorough
def test_the_meters_own_tests_name_realloc(forgetful):
    test = "realloc_drops_the_old_size_before_it_adds_the_new_one"
    assert failed_tests(ROOT / HEAP_METER) == (0, set())
    status, failed = failed_tests(forgetful)
    assert status != 0 and test in failed


@pytest.mark.thorough
def test_the_meter_does_nothing_that_c_leaves_undefined(tmp_path):
    """Where it does, as with an address before NULL, it traps."""
    undefined = "-fsanitize=undefined", "-fno-sanitize=alignment", "-fsanitize-undefined-trap-on-error"
    assert failed_tests(made(ROOT / "memtest", tmp_path / "meter.so", *undefined)) == (0, set())


@pytest.mark.thorough
def test_records_made_with_a_forgetful_meter_are_found_out(faulty, forgetful):
    found = audit.findings(recording(faulty, "reallocates", LD_PRELOAD=str(forgetful)))
    assert [sentence for sentence in found if sentence.startswith("null: ")], found
    assert [sentence for sentence in found if sentence.startswith("leak: ")], found
