"""What-if in the report: the page's script answers what `tls-memtest plan memory` does, to the byte."""

import argparse
import itertools
import json
import shutil
import subprocess
from fractions import Fraction

import pytest

from tests.support import synthetic
from tests.support.commands import parse
from tests.support.planned import AT_REST, FIXED, IN_USE, STACK, SUITE, H, default_runs, low_memory_runs, used_runs
from tlsmem.base.errors import UserError
from tlsmem.plan import capacity
from tlsmem.plan.amounts import format_size
from tlsmem.plan.request import check_demand, requested_case, requested_demand
from tlsmem.report import answer_section
from tlsmem.report.sections import read_asset
from tlsmem.store import recordings

CONNECTIONS = ("1", "999", "2,000", "100k", "1_000_003", "1.5M")
SHARES = ("0%", "1", "12.5%", "33.3%", "66.667%", "100%")
HANDSHAKES = ("0", "1", "5%", "0.01%", "100%", "500")
KERNELS = ("0", "12345")
RECORDINGS = ("2026-11-26-amd-epyc-p355e", "2026-11-23-amd-epyc-p4068")  # the second has sessions without tickets
RECORDED = (  # stacks and suites whose prices stand in data/
    ("openssl@3.5.5", "tls13-rsa-aes256"),
    ("openssl@3.5.5", "tls12-rsa-aes256"),
    ("rustls+aws-lc@0.23.46", "tls13-rsa-aes256"),
    ("wolfssl@5.9.4", "tls13-rsa-aes256"),
)
NODE = shutil.which("node")
needs_node = pytest.mark.skipif(not NODE, reason="needs node, which runs the page's script")
PROGRAM = """
const [plans, grid] = JSON.parse(require("fs").readFileSync(0));
const answers = plans.map((plan) => grid.map((inputs) => {
  const { bytes, wrong, missing } = report.plan.planMemory(plan, inputs);
  return bytes === undefined ? { wrong, missing } : { bytes: `${bytes}`, text: report.plan.formatSize(bytes) };
}));
console.log(JSON.stringify(answers));
"""


def ask_page(plans, grid):
    """What the page's script answers to each plan with each of the inputs."""
    given = json.dumps([plans, grid])
    script = f"const report = {{}};\n{read_asset('plan_memory.js')}{PROGRAM}"
    done = subprocess.run([NODE or "node", "-e", script], input=given, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def parse_inputs(inputs):
    """The command of these inputs, as `plan memory` reads it."""
    words = ["--connections", inputs["connections"], "--in-use", inputs["share"]]
    return parse("plan memory", *words, "--handshaking", inputs["handshakes"], "--kernel-bytes", inputs["kernel"])


def answered_by_plan(row, plan, parsed, among):
    """What `plan memory` answers; None where it refuses. Prices are looked up once for all inputs that share them."""
    own = {"stack": [row["stack"]], "suite": row["suite"], "role": row["role"], "recording": among}
    own |= {"tickets": plan["tickets"], "low_memory": plan["low"]}
    cases = {}
    for one in parsed:
        given = argparse.Namespace(**vars(one) | own)
        try:
            demand = check_demand(requested_demand(given), given.connections)
            key = bool(demand.handshaking), given.kernel_bytes
            if key not in cases:
                cases[key] = requested_case(given, row["stack"], key[0])
            yield capacity.memory_bytes(cases[key].price, demand, given.connections)
        except (UserError, ValueError):
            yield None


def grid_of_inputs():
    names = ("connections", "share", "handshakes", "kernel")
    product = itertools.product(CONNECTIONS, SHARES, HANDSHAKES, KERNELS)
    return [dict(zip(names, values, strict=True)) for values in product]


def compare(rows, among=None):
    """Return how many answers are the same; every other one is a failure."""
    grid, same = grid_of_inputs(), 0
    parsed = list(map(parse_inputs, grid))
    plans = [(row, plan) for row in rows for plan in row["plans"] if plan["quiet"]]
    for (row, plan), page in zip(plans, ask_page([plan for _, plan in plans], grid), strict=True):
        for inputs, ours, theirs in zip(grid, page, answered_by_plan(row, plan, parsed, among), strict=True):
            assert ours.get("bytes") == (theirs if theirs is None else str(theirs)), (row["stack"], plan, inputs, ours)
            assert theirs is None or ours["text"] == format_size(theirs)
            same += theirs is not None
    return same


@needs_node
@pytest.mark.slow
def test_the_page_answers_what_plan_answers_over_a_grid_of_inputs_of_committed_recordings():
    among = [path for path in recordings.find_recordings(None) if path.name in RECORDINGS]
    costs = [answer_section.find_chooser_costs(stack, suite, among) for stack, suite in RECORDED]
    rows = [row for one in costs for row in answer_section.cost_rows(one, among, ())]
    assert {plan["low"] for row in rows for plan in row["plans"] if plan["quiet"]} == {False, True}
    assert compare(rows, among) > 6_000


@pytest.mark.thorough
@needs_node
def test_handshakes_of_an_older_recording_count_once_there_are_some(tmp_path):
    newer = synthetic.write(tmp_path / "newer", default_runs(handshakes=False))
    older = synthetic.write(tmp_path / "older", [*default_runs(), *low_memory_runs(handshakes=False)])
    costs = answer_section.find_chooser_costs(STACK, SUITE, [newer, older])
    rows = list(answer_section.cost_rows(costs, [newer, older], ()))
    server = next(row for row in rows if row["role"] == "server")
    default = server["plans"][0]
    assert (default["quiet"]["recording"], default["quiet"]["handshake"]) == (str(newer), None)
    assert (default["busy"]["recording"], default["busy"]["handshake"]) == (str(older), H)
    assert compare([server], [newer, older]) > 400
    inputs = {"connections": "100k", "share": "25%", "handshakes": "1%", "kernel": "10"}
    ((answer,),) = ask_page([default], [inputs])
    assert int(answer["bytes"]) == FIXED + 25_000 * IN_USE + 75_000 * AT_REST + 1000 * H + 1_000_000


def test_what_is_not_recorded_has_its_command_and_no_figure(tmp_path):
    where = synthetic.write(tmp_path / "one", [*default_runs(handshakes=False), *low_memory_runs()])
    rows = answer_section.cost_rows(answer_section.find_chooser_costs(STACK, SUITE, [where]), [where], ())
    found = {(one["low"], one["tickets"]): one for row in rows if row["role"] == "server" for one in row["plans"]}
    assert list(found) == [(False, "library"), (False, 0), (True, "library"), (True, 0)]
    beginning = "tools/tls-memtest measure"
    for key in ((False, 0), (True, 0)):
        assert found[key]["quiet"] is None and found[key]["advice"].command.startswith(f"{beginning} deployed-config ")
    assert found[False, "library"]["handshakes"].command.startswith(f"{beginning} c10k-in-use ")
    assert found[True, "library"]["handshakes"] is None


def test_handshakes_without_tickets_are_recorded_by_a_command_that_says_so(tmp_path):
    runs = used_runs(SUITE, IN_USE, AT_REST, 53_000, handshakes=False)
    where = synthetic.write(tmp_path / "one", [*default_runs(), *runs])
    rows = answer_section.cost_rows(answer_section.find_chooser_costs(STACK, SUITE, [where]), [where], ())
    found = {(one["low"], one["tickets"]): one for row in rows if row["role"] == "server" for one in row["plans"]}
    assert found[False, 0]["quiet"] and found[False, 0]["handshakes"].command == (
        f"tools/tls-memtest measure c10k-in-use --stacks {STACK} --suites {SUITE} --tickets 0"
    )


@needs_node
def test_what_the_page_cannot_read_it_names():
    prices = {"process": 1, "use": 2, "rest": None, "handshake": None}
    usual = {"connections": "10", "share": "100%", "handshakes": "0", "kernel": "0"}
    wrong = [
        ("connections", "0"),
        ("connections", "1.5"),
        ("connections", "10%"),
        ("connections", "10**9"),
        ("share", "101%"),
        ("share", "11"),
        ("share", "2.5"),
        ("share", ""),
        ("handshakes", "11"),
        ("handshakes", "-1"),
        ("kernel", "4k%"),
        ("kernel", "much"),
        ("connections", "9" * 30),
    ]
    lacking = [usual | {"share": "50%"}, usual | {"handshakes": "1"}]
    ((*refused, rest, handshake, fine),) = ask_page(
        [{"quiet": prices, "busy": None}], [*(usual | {key: value} for key, value in wrong), *lacking, usual]
    )
    assert all(one["wrong"] for one in refused)
    assert (rest["missing"], handshake["missing"], fine["bytes"]) == ("rest", "handshake", str(1 + Fraction(20)))
