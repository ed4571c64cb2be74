"""The gate with real processes: a baseline, what has not changed is held, 16 bytes more of a client are found."""

import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from tests.gate.test_budget import text_of
from tests.support import commands, forked_command
from tests.support.portable_text import drop_table_rows
from tlsmem.base.paths import ROOT
from tlsmem.gate import judge

NULL = {"stack": "null@c", "suite": "none", "role": ["client", "server"], "phase": "established"}
BYTES, BLOCKS = NULL | {"meter": "heap", "limit": "+0B"}, NULL | {"meter": "blocks", "limit": "+0 blocks"}
RSS = NULL | {"meter": "rss", "role": "pair", "limit": "9 KiB"}
SOUND = "malloc(FIRST_BYTES)"
GROWN = "malloc(FIRST_BYTES + (*(enum role *)context == ROLE_CLIENT ? 16 : 0))"
PRETENDER = NULL | {"suite": "tls13-rsa-aes256", "meter": "heap", "limit": "4,072 B"}


@pytest.fixture
def gate(project):
    """The gate in a project of its own: gate(budgets, option, ...)."""

    def run(text: str, *words: str) -> subprocess.CompletedProcess[str]:
        (project.root / "BUDGET.toml").write_text(text)
        command = [sys.executable, "tools/tls-memtest", "gate", "BUDGET.toml", *words]
        return forked_command.run(command, cwd=project.root)

    return run


def null(folder, *change: str) -> bytes:
    """The null stack's harness, changed so."""
    source = (ROOT / "harness-c/drivers/null.c").read_text()
    assert not change or source.count(change[0]) == 1
    (folder / "null.c").write_text(source.replace(*change) if change else source)
    core = [f"-I{ROOT}/memtest", ROOT / "build/core/libmemtest.a", "-ldl", "-lpthread"]
    sources = [folder / "null.c", ROOT / "harness-c/main.c"]
    command = ["gcc", "-std=gnu11", "-O2", "-g1", "-fno-omit-frame-pointer", *sources, *core]
    subprocess.run([*command, "-o", folder / "null"], check=True)
    return (folder / "null").read_bytes()


def install(project, stack: str, program: bytes) -> None:
    stacks = project.root / "memtest/stacks.toml"
    before = stacks.read_text()
    project.add(stack, program)
    like = "" if stack == "null@c" else f'["{stack}"]\nlike = "null@c"\n'
    stacks.write_text(before + like)


@pytest.mark.thorough
def test_sixteen_bytes_more_of_a_client_session_are_found_and_named(project, gate, tmp_path, capsys, snapshot):
    install(project, "null@c", null(tmp_path))
    made = gate(text_of(BYTES, BLOCKS, baseline="base"), "--new-baseline", "base")
    assert made.returncode == 0, made.stderr
    assert made.stdout == 'base: 3 runs; in BUDGET.toml: baseline = "base"\n'
    held = gate(text_of(BYTES, BLOCKS, RSS, baseline="base", sessions=100, repeats=1), "--out", "runs")
    assert held.returncode == 0, held.stderr
    assert held.stdout.count("| held ") == 5
    holding(project, capsys)

    install(project, "null@grown", null(tmp_path, SOUND, GROWN))
    grown = {"stack": "null@grown", "against": "null@c"}
    found = gate(text_of(BYTES | grown, BLOCKS | grown, baseline="base"), "--junit", "gate.xml")
    assert found.returncode == 3
    assert found.stdout.startswith("### 3 of 4 budgets are held; 1 exceeded\n")
    exceeded = [line for line in found.stdout.splitlines() if "[[budget]]" in line]
    assert exceeded == snapshot(name="exceeded") and re.findall(r"[\d,]+(?= B)", exceeded[0])[-1] == "16"
    assert drop_table_rows(found.stdout) == snapshot(name="tables")
    site = r"\|         16 \|           0 \| session_new \(null\.c:\d+\) < client_session_new"
    assert re.search(site, found.stdout)
    (failure,) = ElementTree.parse(project.root / "gate.xml").iter("failure")
    assert re.search(r"  \+16 B, \+0 blocks: session_new \(null\.c:\d+\) < client_session_new", failure.text)


def holding(project, capsys) -> None:
    """Without a baseline the call sites that hold the bytes are named: of the runs that were kept."""
    (project.root / "HOLDS.toml").write_text(text_of(BYTES | {"limit": "4,071 B", "role": "server"}))
    words = [str(project.root / "HOLDS.toml"), "--recording", str(project.root / "runs")]
    assert judge.run(commands.parser("gate").parse_args(words), commands.parser("gate")) == 3
    said = capsys.readouterr().out
    assert "server session, established: call sites that hold most" in said
    row = next(line for line in said.splitlines() if line.startswith("| 4,072 "))
    assert re.fullmatch(r"\| 4,072 \|      3 \| session_new \(null\.c:\d+(, \d+)*\) < server_session_new .*", row)


@pytest.mark.parametrize("behaviour, status", [("crash", 1), pytest.param("refuse", 3, marks=pytest.mark.thorough)])
def test_what_a_run_comes_to_is_the_exit_status(project, gate, behaviour, status, snapshot):
    (stack,) = project.install(behaviour)
    done = gate(text_of(PRETENDER | {"stack": stack}))
    assert done.returncode == status, done.stderr
    assert [line for line in done.stdout.splitlines() if "[[budget]]" in line] == snapshot
    assert "Traceback" not in done.stderr
