"""A project of its own for each test that runs the tools: its definitions, its build, its data."""

import gc
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.support import built_harness, forked_command, page_libraries, portable_text
from tlsmem.base.paths import ROOT
from tlsmem.build import shared_resources
from tlsmem.config import stack_names, toml_tables
from tlsmem.schema import read_records, recording_files, records

gc.disable()  # until all tests are collected, of which none is garbage
hypothesis.settings.register_profile("untimed", deadline=None)  # nothing is asserted about time
hypothesis.settings.load_profile("untimed")

# A shell has it ignored in what it runs in the background, and then so have all programs that the tests start.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("MEMTEST_CACHE", None)  # tests have libraries of their own, and build them anew
os.environ["PAGER"] = "cat"  # no test waits for a key

# These need the packages of build/cluster-venv and build/notebook-venv, with which `make check-cluster` and
# `make check-notebook` run them.
NEEDS = {"distributed": "cluster", "nbclient": "dev/test_check_notebook.py"}
collect_ignore = [tests for package, tests in NEEDS.items() if not importlib.util.find_spec(package)]

STACK = '["{name}"]\nharness = "c"\ndriver = "null"\nlicence = "Apache-2.0 OR MIT"\n\n'


def pytest_xdist_auto_num_workers() -> int:
    """Three for each CPU: tests wait for processes that they have started. With two, CPUs idle a sixth of the time."""
    return 3 * shared_resources.count_cpus()


# Files that take longest, which workers are given first: the last one to end is then a short one.
LONGEST = (
    "test_two_processes.py",
    "test_questions.py",
    "test_programs.py",
    "test_gate.py",
    "test_report.py",
    "test_store.py",
    "test_sentences.py",
    "test_checks.py",
    "test_tabulate.py",
    "test_core.py",
    "test_missing.py",
    "test_data_sql.py",
    "test_cost.py",
    "test_commands.py",
    "test_inspect_heaptrack.py",
    "test_compare.py",
    "test_memory.py",
    "test_seal_recording.py",
    "test_churn.py",
    "test_process_pair.py",
    "test_measure.py",
    "test_profile_heap.py",
    "test_repository.py",
    "test_stopped.py",
    "test_query.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    order = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.name, len(order)))


def pytest_collection_finish() -> None:
    """What is there from now to the end is walked by no collection of garbage: half a second of each worker."""
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    """What no collection of garbage finds, DuckDB calls leaked when the process ends."""
    gc.unfreeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--stacks", default="all", metavar="NAMES", help="of stacks that are built, try only these")


def pytest_configure(config: pytest.Config) -> None:
    """Workers are given the same options."""
    page_libraries.forbid_fetching()
    if config.getoption("numprocesses", None):
        forked_command.share_server()
    if (named := config.getoption("--stacks")) != toml_tables.ALL_STACKS:
        built_harness.tried.update(toml_tables.split_names(stack_names.resolve_names(named)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("page") and not page_libraries.are_fetched():
        pytest.skip(page_libraries.WHY)


@pytest.fixture(autouse=True)
def no_torn_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """What one test's recordings lost is no failure of the next."""
    monkeypatch.setattr(recording_files, "skipped_lines", [])


@pytest.fixture
def snapshot(
    snapshot: SnapshotAssertion, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> SnapshotAssertion:
    """What people read, as it was last agreed on; directories of this machine have names of their own."""
    return snapshot.with_defaults(matcher=portable_text.build_matcher(tmp_path, tmp_path_factory.getbasetemp()))


@dataclass(frozen=True)
class Project:
    """The scripts of tools/ and memtest/*.toml copied, what the scripts import linked; pretenders for harnesses."""

    root: Path

    def install(self, *behaviours: str) -> list[str]:
        """Harnesses that behave so; the names of their stacks."""
        return [self.add(f"{behaviour}@1", self.pretender()) for behaviour in behaviours]

    def add(self, stack: str, program: bytes) -> str:
        binary = self.root / "build/harness" / stack
        binary.write_bytes(program)
        binary.chmod(0o755)
        manifest = {"stack": stack, "binary_sha256": hashlib.sha256(program).hexdigest(), "source": None}
        manifest |= {"compiler": "gcc 12.2.0", "flags": "-O2", "licence": "Apache-2.0 OR MIT"}
        binary.with_name(f"{stack}.json").write_text(json.dumps(manifest))
        with (self.root / "memtest/stacks.toml").open("a") as stacks:
            stacks.write(STACK.format(name=stack))
        return stack

    def pretender(self) -> bytes:
        return f"#!{sys.executable}\n".encode() + (ROOT / "tools/tests/support/pretender.py").read_bytes()

    def command(self, *words: str, campaign: str = "mem") -> list[str]:
        return [sys.executable, str(self.root / "tools/tls-memtest"), "measure", *campaign.split(), *words]

    def measure(
        self, *words: str, stacks: Sequence[str], n: int = 20, drawn: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """One suite, at N sessions and fractions of it, into `out`; without stacks, `words` name them. Its picture is
        one pixel, which takes half the time of drawing it, unless it is to be `drawn`."""
        named = [f"--stacks={' '.join(stacks)}"] if stacks else []
        command = self.command(*named, "--suites=tls13-rsa-aes256", f"--n={n}", "--out=out", *words)
        return forked_command.run(command, cwd=self.root, drawn=drawn)

    def recorded(self) -> list[records.RecordLine]:
        return read_records.load(self.root / "out")

    def processes(self) -> list[int]:
        """Harnesses of this project that run."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                command, folder = (entry / "cmdline").read_bytes(), os.readlink(entry / "cwd")
            except OSError:  # ended meanwhile
                continue
            if b"build/harness/" in command and folder == str(self.root):
                found.append(int(entry.name))
        return found


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "project"
    for folder in ("tools", "memtest", "build/harness", "build/core"):
        (root / folder).mkdir(parents=True)
    for one in (ROOT / "tools").iterdir():
        if one.is_file():
            shutil.copy(one, root / "tools")
        elif one.name not in ("tests", "browser-tests"):
            os.symlink(one, root / "tools" / one.name)
    for definitions in (ROOT / "memtest").glob("*.toml"):
        shutil.copy(definitions, root / "memtest")
    os.symlink(ROOT / "memtest/certs", root / "memtest/certs")
    for built in (ROOT / "build/core/libheapmeter.so", ROOT / "build/core/heapwalk"):
        if built.exists():
            shutil.copy(built, root / "build/core")
    os.symlink(sys.prefix, root / ".venv")
    return Project(root)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """40 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40k", "tmpfs", str(folder)]
    if os.getuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("may not mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
