"""The chooser at the head of the report: its figures are those of tools/cost.py, and what is missing says so."""

import base64
import json
import re
import zlib

import pytest

from tests.cli.test_report import MACHINE, text_page
from tests.cli.test_report import read as read_runs
from tests.support import synthetic, synthetic_timed
from tests.support.in_use import BORING, OPENSSL, RUSTLS, SUITE, recorded
from tlsmem.cost.cost_table import cost_table
from tlsmem.cost.find_costs import find_costs
from tlsmem.report import answer_section, ranking, timed_section
from tlsmem.report.sections import Section, mark_code
from tlsmem.stats.costs import VOCABULARY


@pytest.fixture
def in_use(tmp_path):
    """A recording with OpenSSL and rustls in use, and BoringSSL at rest only."""
    runs = recorded(OPENSSL, "+tickets-library", 1_000) + recorded(OPENSSL, "+low-memory+tickets-library", -30_000)
    runs += recorded(RUSTLS, "+tickets-library")
    runs = [run.model_copy(update={"window": 100}) for run in runs]
    return synthetic.write(tmp_path / "recording", [*runs, *synthetic.campaign([BORING], [SUITE], roles="split")])


def test_figures_are_those_of_the_cost_command(in_use):
    rows = answer_section.chooser_data([in_use])["rows"]
    assert {(row["stack"], row["role"]) for row in rows} == {
        (s, r) for s in (OPENSSL, RUSTLS) for r in ("server", "client")
    }
    for row in rows:
        table = cost_table([find_costs(row["stack"], row["suite"], [in_use])], [row["role"]])
        default, *low = [dict(zip([c.key for c in table.columns], cells, strict=True)) for cells in table.rows]
        for prefix, cells in [("", default), *(("low_", one) for one in low)]:
            assert f"{cells['rss_in_use_bytes'].text} B" == row["use"][f"{prefix}rss"]["text"]
            assert f"{cells['rss_at_rest_bytes'].text} B" == row["rest"][f"{prefix}rss"]["text"]
            assert f"{cells['live_heap_in_use_bytes'].text} B" == row["use"][f"{prefix}live"]["text"]
    (server,) = [row for row in rows if (row["stack"], row["role"]) == (OPENSSL, "server")]
    assert server["in"] == "TLS 1.3, AES-256-GCM, X25519, RSA-2048" and server["live"] == "exact, to the byte"
    assert server["use"]["live"]["bytes"] == 53_000 and server["use"]["low_live"]["bytes"] == 22_000


def test_the_chooser_has_stacks_in_use_alone_and_opens_with_the_newest_openssl(in_use):
    data = answer_section.chooser_data([in_use])
    assert [one["stack"] for one in data["stacks"]] == [OPENSSL, RUSTLS]
    assert data["opens"] == OPENSSL and all(one["newest"] for one in data["stacks"])
    assert data["rows"][0]["use"]["command"] == f"tools/measure.py in-use-sites --stacks {OPENSSL}"


def unpack(packed: str) -> dict:
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def words(section: Section) -> str:
    return re.sub(r"\s+", " ", re.sub("<[^>]+>", "", str(section.html)))


def test_the_vocabulary_the_machines_and_a_warning_stand_there(tmp_path, in_use):
    here = synthetic.campaign([OPENSSL], [SUITE])
    there = [one.model_copy(update={"machine": one.machine.model_copy(update=MACHINE)}) for one in here]
    text = words(answer_section.section(read_runs(tmp_path / "mixed", here, there), [in_use]))
    assert VOCABULARY in text
    assert re.search(r"Measured on A: .* B: Another CPU, .*Measured on 2 machines, A, B", text)


def test_without_sessions_in_use_the_command_is_named(tmp_path):
    section = answer_section.section(read_runs(tmp_path, synthetic.campaign([OPENSSL], [SUITE])))
    assert unpack(section.packed)["rows"] == [] and "tools/measure.py deployed-config records them" in words(section)


def test_it_is_first_and_what_was_measured_last(tmp_path):
    ids = re.findall(r'<section id="([^"]+)"', text_page(read_runs(tmp_path, synthetic.campaign([OPENSSL], [SUITE]))))
    assert (ids[0], ids[-1]) == ("answer", "measured")


def test_handshakes_a_second_of_the_slowest_and_the_fastest_server(tmp_path):
    (said,) = timed_section.handshakes(read_runs(tmp_path, synthetic_timed.campaign([OPENSSL, RUSTLS], [SUITE])))
    assert f"2,000 ({OPENSSL}) to 2,500 ({RUSTLS})" in said
    assert not list(timed_section.handshakes(read_runs(tmp_path / "one", synthetic_timed.campaign([OPENSSL], [SUITE]))))


def test_the_newest_come_first_whatever_the_library():
    stacks = ["openssl@3.5.5", "openssl+clang@4.0.3", "openssl@4.0.3", "openssl@5.0.0-dev.1", "gnutls@system"]
    assert ranking.sort_newest_first(stacks)[:3] == ["openssl@4.0.3", "openssl+clang@4.0.3", "openssl@3.5.5"]


def test_what_stands_between_backticks_is_code_and_nothing_else():
    assert mark_code("a `b` and `c`") == "a <code>b</code> and <code>c</code>"
    assert mark_code("a ` b < c") == "a ` b &lt; c"
