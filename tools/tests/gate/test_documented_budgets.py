"""What docs/how-to/ci.md shows: its budgets are judged, its verdict is the recording's, its workflows can be read."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import commands, synthetic
from tests.support.chained import recorded
from tlsmem.base.paths import ROOT
from tlsmem.schema import recording_files
from tlsmem.schema.records import RecordLine

PAGE = (ROOT / "docs/how-to/ci.md").read_text()
OPENSSL, SUITES = "openssl@3.5.5", ("tls12-rsa-aes256", "tls13-rsa-aes256")


def block(language: str, heading: str = "") -> str:
    """The first block in a language below a heading."""
    below = PAGE.split(f"## {heading}\n", 1)[1] if heading else PAGE
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```$", below, re.MULTILINE | re.DOTALL)
    return found[0]


def write(folder: Path, stack: str, runs: list[RecordLine]) -> None:
    synthetic.write(folder, [one.model_copy(update={"stack": stack}) for one in runs])


@pytest.mark.thorough
def test_the_librarys_budgets_are_judged_against_the_tree_of_its_baseline(project, snapshot):
    library = project.root / "library"
    library.mkdir()
    (library / "BUDGET.toml").write_text(block("toml"))
    (library / "VERSION.dat").write_text("MAJOR=3\nMINOR=5\nPATCH=5\n")
    command = [sys.executable, "tools/tls-memtest", "gate", "library/BUDGET.toml"]
    runs = synthetic.campaign([OPENSSL], SUITES, counts=(200, 1000, 2000))
    write(library / "memory/2026-11-22", "openssl@path-0", runs)  # which is a part of the tree
    listed = subprocess.run([*command, "--list"], cwd=project.root, capture_output=True, text=True, check=True).stdout
    write(project.root / "runs", listed.split()[0], runs)
    done = subprocess.run(
        [*command, "--recording", "runs"], cwd=project.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert (done.stdout.count("| held "), done.stdout.count("| exceeded |")) == (17, 1)
    (exceeded,) = [line for line in done.stdout.splitlines() if "[[budget]]" in line]
    assert re.sub(r"@path-\w+", "@path-DIGEST", exceeded) == snapshot  # of a directory of this machine
    assert re.findall(r"\d+(?= blocks)", exceeded) == ["150", "48", "102"]


@pytest.mark.thorough
@pytest.mark.parametrize(("more", "verdicts"), [(0, (3, 0)), (3_000, (2, 1))])
def test_what_a_client_certificate_may_cost_is_judged(project, more, verdicts):
    """With 5,285 B an intermediate the limits are held; with 3,000 B more the chain of four exceeds its own."""
    (project.root / "BUDGET.toml").write_text(block("toml", "What a client certificate may cost"))
    runs = [
        run.model_copy(update={"stack": OPENSSL})
        for suite, chain in (("mutual", 10_739), ("depth4-mutual", 26_425 + more))
        for run in recorded("null@c", f"tls13-rsa-aes256-{suite}", {"server": 37_286 - 4_072 + chain})
    ]
    synthetic.write(project.root / "runs", [synthetic.keyed(run) for run in runs])
    command = [sys.executable, "tools/tls-memtest", "gate", "BUDGET.toml", "--recording", "runs"]
    done = subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)
    assert (done.stdout.count("| held "), done.stdout.count("| exceeded |")) == verdicts, done.stdout + done.stderr
    assert done.returncode == (3 if verdicts[1] else 0)


@pytest.mark.thorough
def test_the_verdict_that_is_shown_is_that_of_the_recording(tmp_path):
    (command,) = re.findall(r"<!-- begin: (.*) -->", PAGE)
    (tmp_path / "ci.md").write_text(re.sub(r"(?s)(<!-- begin: .*? -->\n).*(<!-- end -->)", r"\1\2", PAGE))
    program, gate, budgets, _, recording = command.split()
    files = [recording_files.find_stack(ROOT / recording, stack) for stack in ("openssl@3.4.1", OPENSSL)]
    for file in (budgets, *(file.relative_to(ROOT) for file in files)):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).symlink_to(ROOT / file)
    run = [sys.executable, ROOT / program, gate, budgets, "--recording", recording, "--into", "ci.md"]
    subprocess.run(run, cwd=tmp_path, check=True)
    assert (tmp_path / "ci.md").read_text() == PAGE


def test_the_options_that_are_shown_are_the_gates():
    known = {option for action in commands.parser("gate")._actions for option in action.option_strings}
    shown = {
        word for line in PAGE.splitlines() if "tls-memtest gate" in line for word in re.findall(r"--[a-z-]+", line)
    }
    assert shown and shown - {"--time"} <= known


def test_the_shell_script_can_be_read():
    assert subprocess.run(["bash", "-n"], input=block("sh"), text=True, check=False).returncode == 0


def test_the_workflow_can_be_read():
    yaml = pytest.importorskip("yaml")
    (job,) = yaml.safe_load(block("yaml"))["jobs"].values()
    assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    assert any("tools/tls-memtest gate" in step.get("run", "") for step in job["steps"])
