"""The chooser at the head of the report: its figures are those of `cost`, and what is missing says so."""

import re
import shlex

import pytest

from tests.support import synthetic, synthetic_timed
from tests.support.commands import parse
from tests.support.in_use import BORING, OPENSSL, RUSTLS, SUITE, recorded, with_full_records
from tests.support.reports import MACHINE, text_page
from tests.support.reports import read as read_runs
from tlsmem.cli.dispatch import run_words
from tlsmem.config import releases
from tlsmem.cost.cost_table import cost_table
from tlsmem.cost.find_costs import find_costs
from tlsmem.report import answer_section, memory_pictures
from tlsmem.report.packed_json import unpack_json
from tlsmem.report.sections import Section, mark_code
from tlsmem.stats.costs import VOCABULARY
from tlsmem.topics.timing import section as timed_section

OTHER = "tls13-ecdsa-aes256"


def in_suite(name, suite, variant="+tickets-library", more_bytes=0, **fields):
    """Runs in use, a process for each role."""
    runs = synthetic.campaign([name], [suite + variant], roles="split")
    return [with_full_records(run, more_bytes).model_copy(update=fields) for run in runs]


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
    assert server["suite"] == SUITE and server["live"] == "exact, to the byte" and server["state"] is None
    assert server["use"]["live"]["bytes"] == 53_000 and server["use"]["low_live"]["bytes"] == 22_000


def test_the_chooser_has_stacks_in_use_alone_and_opens_with_the_newest_openssl(in_use):
    data = answer_section.chooser_data([in_use])
    assert [one["stack"] for one in data["stacks"]] == [OPENSSL, RUSTLS]
    assert data["opens"] == OPENSSL and all(one["newest"] for one in data["stacks"])
    assert (
        data["rows"][0]["use"]["command"]
        == f"tools/tls-memtest measure in-use-sites --stacks {OPENSSL} --suites {SUITE}"
    )


def test_a_suite_that_is_not_recorded_has_the_command_that_records_it_and_no_figures(tmp_path):
    """OpenSSL in two suites, rustls in one of them: rustls has no answer in the other one."""
    there = {OPENSSL: (SUITE, OTHER), RUSTLS: (SUITE,)}
    runs = [run for stack, suites in there.items() for suite in suites for run in in_suite(stack, suite, window=100)]
    data = answer_section.chooser_data([synthetic.write(tmp_path / "recording", runs)])
    assert {(row["stack"], row["suite"]) for row in data["rows"]} == {
        (stack, suite) for stack, suites in there.items() for suite in suites
    }
    command = f"tools/tls-memtest measure deployed-config --stacks {RUSTLS} --suites {OTHER}"
    assert data["unrecorded"] == {RUSTLS: {OTHER: (command, None)}}


def test_figures_of_another_state_are_those_of_the_suite_and_name_the_state(tmp_path):
    """All handshakes are concurrent, and there are no tickets: not as servers run it, and not the usual suite's."""
    runs = [*in_suite(OPENSSL, SUITE, window=100), *in_suite(OPENSSL, OTHER, "", more_bytes=5_000)]
    rows = answer_section.chooser_data([synthetic.write(tmp_path / "recording", runs)])["rows"]
    (usual, other) = (
        next(row for row in rows if (row["suite"], row["role"]) == (one, "server")) for one in (SUITE, OTHER)
    )
    assert other["state"] == "in use, all handshakes concurrent, a process per role, no tickets"
    assert other["use"]["live"]["bytes"] == usual["use"]["live"]["bytes"] + 5_000
    assert usual["advice"] is None and other["advice"].command.endswith(f"--suites {OTHER}")


def test_a_prerelease_is_not_what_a_library_opens_with(tmp_path):
    stacks = ("rustls+aws-lc@0.24.0-dev.2", RUSTLS)
    runs = [run for stack in stacks for run in in_suite(RUSTLS, SUITE, window=100, stack=stack)]
    data = answer_section.chooser_data([synthetic.write(tmp_path / "recording", runs)])
    assert {one["stack"]: (one["stable"], one["newest"]) for one in data["stacks"]} == {
        stacks[0]: (False, False),
        RUSTLS: (True, True),
    }


def test_every_command_of_the_chooser_is_one_that_can_be_run(in_use, capsys):
    """The command under a number prints that number; those that record something are campaigns' that have such runs."""
    data = answer_section.chooser_data([in_use], ["--recording", str(in_use)])
    for row in data["rows"]:
        run_words(shlex.split(row["made_by"])[1:])
        assert row["use"]["rss"]["text"] in capsys.readouterr().out
    advice = [way for suites in data["unrecorded"].values() for way in suites.values()]
    sizes = [row[state]["command"] for row in data["rows"] for state in ("use", "rest")]
    for command in {*sizes, *(way.command for way in advice)} - {None}:
        program, verb, *words = shlex.split(command)
        assert (program, verb) == ("tools/tls-memtest", "measure") and parse("measure", *words)


def unpack(packed: str) -> dict:
    return unpack_json(packed)


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
    assert unpack(section.packed)["rows"] == [] and "tools/tls-memtest measure deployed-config records them" in words(
        section
    )


@pytest.mark.thorough
def test_it_is_first_and_what_was_measured_last(tmp_path):
    ids = re.findall(r'<section id="([^"]+)"', text_page(read_runs(tmp_path, synthetic.campaign([OPENSSL], [SUITE]))))
    assert (ids[0], ids[-1]) == ("answer", "measured")


def test_handshakes_a_second_of_the_slowest_and_the_fastest_server(tmp_path):
    (said,) = timed_section.handshakes(read_runs(tmp_path, synthetic_timed.campaign([OPENSSL, RUSTLS], [SUITE])))
    assert f"2,000 ({OPENSSL}) to 2,500 ({RUSTLS})" in said
    assert not list(timed_section.handshakes(read_runs(tmp_path / "one", synthetic_timed.campaign([OPENSSL], [SUITE]))))


def test_the_newest_come_first_whatever_the_library():
    stacks = ["openssl@3.5.5", "openssl+clang@4.0.3", "openssl@4.0.3", "openssl@5.0.0-dev.1", "gnutls@system"]
    assert releases.sort_newest_first(stacks)[:3] == ["openssl@4.0.3", "openssl+clang@4.0.3", "openssl@3.5.5"]


def test_what_stands_between_backticks_is_code_and_nothing_else():
    assert mark_code("a `b` and `c`") == "a <code>b</code> and <code>c</code>"
    assert mark_code("a ` b < c") == "a ` b &lt; c"


def test_only_suites_that_were_measured_with_the_defaults_have_a_picture_of_servers_in_use(tmp_path):
    """The other one would be a sentence in the place of a picture."""
    runs = [*in_suite(OPENSSL, SUITE, window=100), *in_suite(OPENSSL, OTHER, "")]
    (found,) = read_runs(tmp_path, runs)
    pictures = memory_pictures.stacks_in_use(found, found.contents.memory)
    assert [one.name for one in pictures] == [f"in-use-{SUITE}"]
