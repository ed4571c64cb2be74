"""The packages that commands need are those of requirements.txt; tests and linters have a file of their own."""

import ast
import importlib.metadata
import re
import subprocess
import sys

import pytest

from tlsmem.base.paths import ROOT

TOOLS = ROOT / "tools"
COMMANDS = [*TOOLS.glob("*.py"), *(TOOLS / "tlsmem").rglob("*.py")]
OURS = {"tlsmem"}


def read_pins(name):
    """The packages that a file of requirements pins, with their versions."""
    return dict(re.findall(r"^([\w-]+)==(\S+)", (TOOLS / name).read_text(), re.MULTILINE))


def distribution_name(name):
    """As files of requirements write it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def find_imports(files):
    """First words of all that these files import, wherever in the file; the standard library's left out."""
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - OURS


@pytest.mark.thorough
def test_what_commands_import_is_among_their_packages():
    distributions = importlib.metadata.packages_distributions()
    needed = {distribution_name(distributions.get(module, [module])[0]) for module in find_imports(COMMANDS)}
    files = ("requirements.txt", "requirements-core.txt", "requirements-cluster.txt", "requirements-memray.txt")
    pinned = {name for file in files for name in read_pins(file)}
    assert needed and needed <= pinned


@pytest.mark.parametrize("name", ["pytest", "pytest-xdist", "hypothesis", "syrupy", "ruff", "import-linter", "mypy"])
def test_tests_and_linters_are_not_installed_for_a_report(name):
    commands = read_pins("requirements.txt") | read_pins("requirements-core.txt")
    assert name in read_pins("requirements-dev.txt") and name not in commands


@pytest.mark.parametrize(
    "name",
    [
        f"requirements{part}"
        for part in ("-core", "", "-dev", "-docs", "-node", "-pages", "-cluster", "-memray", "-wheel")
    ],
)
def test_each_package_is_pinned_by_hash(name):
    blocks = re.split(r"^(?=[\w-]+==)", (TOOLS / f"{name}.txt").read_text(), flags=re.MULTILINE)[1:]
    assert blocks and all("--hash=sha256:" in block for block in blocks)


def test_all_files_ask_for_the_same_version_of_what_they_share():
    pins = [read_pins(f"requirements{name}.txt") for name in ("-core", "", "-dev", "-cluster")]
    versions = {(name, version) for one in pins for name, version in one.items()}
    assert len(dict(versions)) == len(versions)


RECORDING = ROOT / "data/2026-11-23-amd-epyc-p4068"
PROFILE = ROOT / "data/2026-11-21-amd-epyc-2/profiles/openssl@3.5.5.tls13-rsa-aes256.1000.heaptrack.zst"
BUDGETS = """
[[budget]]
stack = "openssl@3.5.5"
suite = "tls13-rsa-aes256"
role = "server"
phase = "established"
meter = "heap"
limit = "+0 B"

[[budget]]
stack = "openssl@3.5.5"
suite = "tls13-rsa-aes256"
role = "server"
meter = "handshakes"
limit = "1/s"
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("command", "words", "status"),
    [
        ("cost", ["openssl"], 0),
        ("cost", ["--format", "json"], 0),
        ("gate", ["budget.toml", "--recording", RECORDING], 0),
        ("heap read", [PROFILE], 0),
        ("heap run", ["--", "/bin/true"], 0),
        ("heap run", ["--listen=127.0.0.1:0", "--growth", "--", "/bin/true"], 0),
        ("heap census", ["9999999999"], 2),  # there is no such process
        ("show mem", [RECORDING, "-o", "picture"], 2),  # needs matplotlib: the packages are away indeed
    ],
)
def test_what_a_ci_runs_needs_the_core_packages_only(tmp_path, command, words, status):
    (tmp_path / "budget.toml").write_text(f'baseline = "{RECORDING}"\n{BUDGETS}')
    modules = importlib.metadata.packages_distributions()
    others = read_pins("requirements.txt").keys() - read_pins("requirements-core.txt").keys()
    away = {module: None for module, names in modules.items() if distribution_name(names[0]) in others}
    script = f"import sys; sys.path.insert(0, {str(TOOLS)!r}); sys.modules.update({away!r}); "
    script += "from tlsmem.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split(), *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == status, done.stderr
    if command == "show mem":
        way = "run `make setup`, also after each update of the clone"
        assert done.stderr == f"memtest: this needs the Python package matplotlib: {way}\n"
