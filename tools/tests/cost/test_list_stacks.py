"""The list of stacks: what each costs, what it can do by its own word, reasons once each, where each comes from."""

import json
import subprocess
import sys

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.config import definitions
from tlsmem.config.libraries import sort_by_library
from tlsmem.cost import stack_inventory
from tlsmem.cost.find_costs import SUITE, find_costs
from tlsmem.run import stack_abilities
from tlsmem.run.process import ProcessResult
from tlsmem.stats.costs import COSTS, RSS_IN_USE
from tlsmem.store import recordings
from tlsmem.tables import layout, render, stack_list

REFUSED = b'{"record":"end","status":"unsupported","reason":"no such group"}\n'


def listed(project, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project.root / "tools/tls-memtest"), "stacks", *words]
    return subprocess.run(command, cwd=project.root, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("ended", "found"),
    [
        (ProcessResult(0), ("yes", None)),
        (ProcessResult(77, REFUSED), ("no", "no such group")),
        (ProcessResult(1, b"", b"memtest: x: broken\n"), ("failed", "memtest: x: broken")),
        (ProcessResult(-11), ("failed", "killed by SIGSEGV")),
        (ProcessResult(-9, stopped="killed at the time limit of 60 s"), ("failed", "killed at the time limit of 60 s")),
    ],
)
def test_what_a_harness_can_is_what_it_says(ended, found):
    ability = stack_abilities.ability_from_result(ended)
    assert (ability.does, ability.reason) == found


@pytest.mark.slow
def test_reasons_stand_below_once_and_what_is_not_built_is_blank(project):
    project.install("obey", "refuse", "fail", "absent", "gone")
    for stack in ("absent@1", "gone@1"):
        (project.root / "build/harness" / stack).unlink()
    (project.root / "build/harness/gone@1.unavailable").write_text("gone: 2.0 is offered now\n")
    stacks = "--stacks=obey@1 refuse@1 fail@1 absent@1 gone@1"
    done = listed(project, stacks, "--details")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("pretender: no TLS at all") == 1 and done.stdout.count("gone: 2.0 is offered now") == 1
    table = json.loads(listed(project, stacks, "--details", "--format=json").stdout)["tables"][0]
    rows = {row["stack"]: row for row in table["rows"]}
    can = {name: row["tls13-rsa-aes256"] for name, row in rows.items()}
    assert can == {"obey@1": "yes", "refuse@1": "no", "fail@1": "failed", "absent@1": None, "gone@1": None}
    assert [row["built"] for row in rows.values()] == ["yes", "yes", "yes", "no", "unavailable"]


def rows_of(*stacks: str) -> dict[str, dict]:
    table = stack_inventory.inventory_table(stacks, recordings.find_recordings(None))
    return {row["stack"]: row for row in render.structure(table)["rows"]}


def test_the_costs_are_those_of_cost_py():
    among = recordings.find_recordings(None)
    costs = find_costs("openssl@3.5.5", SUITE, among)
    row = rows_of("openssl@3.5.5")["openssl@3.5.5"]
    assert [row[cost.key] for cost in COSTS] == [round(costs.figure("server", cost), 1) for cost in COSTS]
    assert (row["library"], row["tls"]) == ("OpenSSL", "1.2 1.3") and row["state"] in ("recorded", "both")


def test_a_library_that_has_no_name_yet_is_called_by_that_of_its_stacks(monkeypatch):
    monkeypatch.setattr(stack_inventory, "libraries", dict)
    rows = rows_of("null@c", "openssl@3.5.5")
    assert rows["openssl@3.5.5"]["library"] == "openssl" and rows["null@c"]["library"] == stack_inventory.NO_TLS


def test_what_has_no_cost_says_why():
    two = ("openssl+clang@3.2.0", "wolfssl+tickets@5.9.4")
    rows = rows_of("null@c", "openssl@path", *two)
    why = {name: row["rss_in_use_bytes"]["hole"] for name, row in rows.items()}
    command = "not recorded in use; to record it: tools/tls-memtest measure deployed-config --stacks"
    shared = dict.fromkeys(two, f"{command} {','.join(two)}")
    path = f"{command} openssl@path --prefix DIRECTORY"
    assert why == shared | {"null@c": stack_inventory.WITHOUT_TLS, "openssl@path": path}
    assert rows["null@c"]["tls"] == "none"


def test_a_stack_without_tls_1_3_shows_what_it_costs_in_1_2():
    row = rows_of("bearssl@0.6")["bearssl@0.6"]
    among = recordings.find_recordings(None)
    costs = find_costs("bearssl@0.6", "tls12-rsa-aes256", among)
    assert row["rss_in_use_bytes"] == round(costs.figure("server", RSS_IN_USE), 1)
    assert row["tls"] == "1.2"


def test_protocols_are_those_that_were_recorded():
    known = {name: suite.protocol for name, suite in definitions.suites().items()}
    for path in recordings.find_recordings(None)[:1]:
        for stack in recordings.stacks(path):
            spoken = {
                stack_inventory.PROTOCOLS[known[run.suite]]
                for run in recordings.load_stack(path, stack)
                if run.status == "measured" and known.get(run.suite) in stack_inventory.PROTOCOLS
            }
            assert spoken <= set(stack_inventory.StackRow(stack).protocols.split()), stack


def test_a_library_stands_together_and_its_newest_release_first():
    names = [
        "null@c",
        "rustls+ring@0.23.46",
        "openssl@system",
        "openssl@3.5.5",
        "rustls+ring@0.24.0-dev.2",
        "openssl@4.0.3",
    ]
    assert sort_by_library(names) == [
        "openssl@4.0.3",
        "openssl@3.5.5",
        "openssl@system",
        "rustls+ring@0.24.0-dev.2",
        "rustls+ring@0.23.46",
        "null@c",
    ]


@pytest.mark.thorough
def test_all_stacks_have_room_on_a_terminal_of_80_columns():
    table = stack_inventory.inventory_table(definitions.stacks(), recordings.find_recordings(None))
    found = layout.fit_table(table, 80)
    assert not found.left_out and not found.shortened and found.width <= 80
    assert all(
        len(layout.wrap(text, width)) == 1
        for row in found.rows
        for text, width in zip(row[:2], found.widths, strict=False)
        if len(row) > 1
    )


def test_an_unknown_stack_is_a_sentence_with_the_nearest(project, snapshot):
    done = listed(project, "--stacks=openssl@3.5.6")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", snapshot)


def test_every_stack_says_what_it_is_where_it_comes_from_and_its_licence():
    known = definitions.stacks()
    rows = {row[0].text: [cell.text for cell in row] for row in stack_list.sources_table(list(known)).rows}
    assert list(rows) == list(known) and all(all(row) for row in rows.values())
    assert rows["openssl@3.5.5"][2:] == ["crate openssl-src 300.5.5+3.5.5", "Apache-2.0", "gcc"]
    assert rows["openssl+clang@3.5.5"][4] == "clang" and rows["null@rust"][2] == "this repository"
    assert rows["openssl@path"][2] == "what is installed at PREFIX="
    assert rows["openssl@3.0.22"][2].startswith("Debian's source package openssl 3.0.22")


def test_the_page_in_docs_has_every_stack():
    page = (ROOT / "docs/reference/stacks.md").read_text()
    assert [name for name in definitions.stacks() if f"| {name} " not in page] == []
