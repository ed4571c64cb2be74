"""The report's interactive sections: their data adds up, to the byte, with the recording's own figures."""

from collections import Counter
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import pytest

from tests.support import planted
from tlsmem.base.paths import ROOT
from tlsmem.build.commands import BuildFailed
from tlsmem.explore.flamegraph import page_scripts
from tlsmem.report import phase_section, residuals_section, waterfall_section
from tlsmem.report.packed_json import unpack_json
from tlsmem.report.recordings import EVERYTHING
from tlsmem.schema import read_records
from tlsmem.stats import session_cost, timed_selection
from tlsmem.store import read_runs
from tlsmem.tables import recording_contents, waterfall
from tlsmem.tables import rss as rss_costs

TOGETHER, SPLIT = "data/2026-11-21-amd-epyc-2", "data/2026-11-22-amd-epyc/wolfssl@5.9.4.jsonl"
OPENSSL, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
ROLES = {"client": "client", "server": "server", "pair": "total"}


def recording(runs, path=TOGETHER):
    """What the sections ask of one."""
    found = recording_contents.select(runs, EVERYTHING)
    return SimpleNamespace(name="one", path=path, records=runs, contents=found, machine="A")


@cache
def runs(path):
    return [run for run in read_runs.load(ROOT / path) if not timed_selection.is_timed(run)]


@cache
def known(path):
    return list(phase_section.places(0, recording(runs(path), path)))


def unpacked(section):
    return unpack_json(section.packed)


@cache
def page():
    return unpacked(phase_section.section([recording(runs(TOGETHER))]))


def heap_runs(path, stack, suite, process):
    """The two smallest, chosen by hand."""
    kind = "together" if process == "both" else "split"
    found = {
        run.sessions: run
        for run in reversed(runs(path))
        if (run.stack, run.suite, run.meter, run.roles, run.window) == (stack, suite, "heap", kind, "all")
        and run.status == "measured"
        and run.peer is None
    }
    return [found[sessions] for sessions in sorted(found)[:2]]


@pytest.mark.parametrize("path", [TOGETHER, SPLIT])
def test_live_heap_and_peaks_are_those_of_the_heap_runs_to_the_byte(path):
    checked = 0
    for one in known(path):
        for role, own in ROLES.items():
            of = one.figures.get(role, {})
            setting = one.at.together if role == "pair" else one.at.metered
            if "peak" not in of:
                continue
            process = setting.processes.get(role, "both")
            small, large = heap_runs(path, one.at.stack, one.at.suite, process)
            for at, name in enumerate(one.names):
                few, many = (getattr(session_cost.phase_of(run, name, process).heap, own) for run in (small, large))
                assert of["live"][at] == [many.live_bytes - few.live_bytes, many.live_blocks - few.live_blocks]
                assert of["peak"][at] == [many.peak_bytes - few.peak_bytes, many.peak_blocks - few.peak_blocks]
                checked += 1
            assert of["sessions"] == (large.sessions - small.sessions) // 2
    assert checked >= (150 if path == TOGETHER else 80)


@pytest.mark.parametrize("path", [TOGETHER, SPLIT])
def test_buckets_add_up_to_what_a_session_costs(path):
    checked = 0
    for one in known(path):
        for role in ("client", "server"):
            of = one.figures[role]
            if "buckets" not in of:
                continue
            for (size, blocks), parts in zip(of["live"], of["buckets"], strict=True):
                assert sum(part[1] for part in parts) * of["sessions"] == size
                assert sum(part[2] for part in parts) * of["sessions"] == blocks
                checked += 1
    assert checked >= 60


def test_what_is_known_of_openssl():
    (one,) = [one for one in known(TOGETHER) if (one.at.stack, one.at.suite) == (OPENSSL, SUITE)]
    of, at = one.figures["client"], one.names.index("client 1")
    assert one.names[0] == "sessions" and one.names[-1] == "closed"
    assert [amount // of["sessions"] for amount in of["live"][at]] == [81_056, 39]
    assert ["handshake messages and transcript", 30_748, 11] in of["buckets"][at]


def own(tree, moment, role):
    """Bytes and blocks by rule, of one role: nodes in order, callers first."""
    found, roles = {}, []
    for node, (caller, held) in enumerate(zip(tree["callers"], tree["held"], strict=True)):
        above = node - caller
        whose = roles[above] if above else page()["names"][page()["frames"][tree["frames"][node]][0]]
        roles.append(whose if node else "all")
        now = [0, 0]
        for at in range(0, len(held), 3):
            now = held[at + 1 : at + 3] if held[at] <= moment else now
        if roles[node] == role:
            rule = page()["rules"][tree["rules"][node]][0] if tree["rules"][node] >= 0 else "other"
            found.setdefault(rule, Counter()).update(bytes=now[0], blocks=now[1])
    return found


@pytest.mark.thorough
def test_flamegraphs_add_up_to_the_buckets_of_their_phase():
    checked = 0
    for entry in page()["entries"]:
        for role in ("client", "server") if entry["tree"] is not None else ():
            for at, parts in enumerate(entry["roles"][role]["buckets"]):
                sums = own(page()["trees"][entry["tree"]], at, role)
                found = {bucket: [one["bytes"], one["blocks"]] for bucket, one in sums.items() if any(one.values())}
                assert found == {bucket: [size, blocks] for bucket, size, blocks in parts}
                checked += 1
    assert checked >= 100


def own_bytes(page, tree, moment, role):
    """Of one role, at a moment of the tree."""
    roles, sizes = [], 0
    for node, (caller, held) in enumerate(zip(tree["callers"], tree["held"], strict=True)):
        above = node - caller
        roles.append(roles[above] if above else page["names"][page["frames"][tree["frames"][node]][0]])
        now = [held[at + 1] for at in range(0, len(held), 3) if held[at] <= moment]
        sizes += now[-1] if node and roles[node] == role and now else 0
    return sizes


def test_peaks_of_one_session_alone_are_moments_whose_buckets_and_call_stacks_add_up_to_them():
    """The tree has them after the ends of the phases."""
    found = unpacked(phase_section.section([recording(planted.counted(momentary=planted.MOMENTARY))]))
    (entry,) = found["entries"]
    at = entry["phases"].index("client 1")
    assert entry["roles"]["client"]["alone"][at] == [21_100, 44] and entry["roles"]["server"]["alone"][at][0] == 14_756
    for role in "client", "server":
        of = entry["roles"][role]
        assert of["peak"][at][0] == of["live"][at][0], "one more of many adds what is live at the end"
        for place, (single, parts) in enumerate(zip(of["alone"], of["alone_buckets"], strict=True)):
            assert sum(part[1] for part in parts) == (single or [0])[0]
            tree, moment = found["trees"][entry["tree"]], place + len(entry["phases"])
            assert own_bytes(found, tree, moment, role) == (single or [0])[0]
    assert "alone" not in entry["roles"]["pair"]


def test_without_call_stacks_at_peaks_nothing_stands_for_them():
    assert not any("alone" in role for entry in page()["entries"] for role in entry["roles"].values())


def test_openssl_and_rustls_stand_beside_each_other_with_call_stacks():
    first, second = (page()["entries"][at] for at in page()["opens"])
    assert (first["stack"], first["suite"]) == (OPENSSL, SUITE) and second["stack"].startswith("rustls")
    assert first["suite"] == second["suite"] and None not in (first["tree"], second["tree"])


def test_what_a_page_opens_with_is_a_picture_of_files_too():
    """The same stacks, and the command that draws them."""
    opened = [page()["entries"][at] for at in page()["opens"]]
    (picture,) = phase_section.section([recording(runs(TOGETHER))]).files
    stacks = " ".join(f"--stack {one['stack']}" for one in opened)
    assert picture.command.endswith(f"-o phases --suite {SUITE} {stacks}")
    assert all(one["stack"] in picture.says for one in opened)


def test_what_has_no_call_stacks_has_the_command_that_records_them_or_why_nothing_does():
    one = next(one for one in known(TOGETHER) if one.names and not one.run)
    command = f"make profile STACK={one.at.stack} SUITE={one.at.suite} TOOL=sites"
    assert (entry := phase_section.entry(one, None))["profile"] == command and "unprofiled" not in entry
    for stack, reason in {
        "go@1.27.4": "go@1.27.4 brings its own allocator, go, which neither meter nor profiler sees",
        "openssl@2.0.0": "memtest/stacks.toml has no stack openssl@2.0.0",
    }.items():
        entry = phase_section.entry(one._replace(at=one.at._replace(stack=stack)), None)
        assert entry["unprofiled"] == reason and "profile" not in entry


def test_rss_lines_are_the_slopes_of_the_tables():
    selection = recording(runs(TOGETHER)).contents.memory
    table = rss_costs.role_costs(selection)
    keys = [column.key for column in table.columns]
    checked = 0
    for row in (dict(zip(keys, row, strict=True)) for row in table.rows):
        usual = all(row[key].value == text for key, text in {"roles": "split", "window": "all"}.items())
        if not usual or row["at"].value != "established":
            continue
        for one in known(TOGETHER):
            if (one.at.stack, one.at.suite) == (row["stack"].value, row["suite"].value):
                line = one.figures[row["process"].value]["rss"]["system"]
                assert line["bytes"][one.names.index("established")] == row["slope_bytes_per_session"].value
                checked += 1
    assert checked > 4


@pytest.mark.thorough
def test_where_there_is_no_room_trees_are_left_out_and_each_stack_keeps_one():
    where, found = [recording(runs(TOGETHER))], known(TOGETHER)
    whole = len(phase_section.fitting(where, found, phase_section.trees(found), 10**7))
    text = phase_section.fitting(where, found, phase_section.trees(found), whole - 2_000)
    entries = unpack_json(text)["entries"]
    assert len(text) <= whole - 2_000
    assert any(one["left_out"] and one["tree"] is None for one in entries)
    assert {one["stack"] for one in entries if one["tree"] is not None} == {OPENSSL, "rustls+aws-lc@0.23.46"}
    with pytest.raises(ValueError, match="needs more than 1,000 bytes"):
        phase_section.fitting(where, found, phase_section.trees(found), 1_000)


def of_one_n():
    few = [run for run in runs(TOGETHER) if run.suite == SUITE and run.window == "all" and run.roles == "together"]
    few = [run for run in few if run.stack == OPENSSL and run.peer is None and run.env == "lab"]
    rss = min(run.sessions for run in few if run.meter == "rss")
    heap = [run for run in few if run.meter == "heap"]
    return recording(
        [run for run in few if run.meter == "sites" or (run.meter, run.sessions) == ("rss", rss)] + heap[:1]
    )


def test_of_one_n_there_is_no_slope_which_is_said():
    (one,) = phase_section.places(0, of_one_n())
    of = one.figures["client"]
    assert of["sessions"] == 1 and of["live"][one.names.index("client 1")] == [81_056, 39]
    assert "a slope needs two" in of["one_pair"]
    assert "a slope needs two" in one.figures["pair"]["rss"]["system"]["why"]
    (group, *_) = unpacked(residuals_section.section([of_one_n()]))["groups"]
    fit = group["lines"][0]["fits"]["peak of the run"]
    assert "slope" not in fit and "only, so there is no line and no slope" in fit["said"]


def test_of_failures_alone_it_is_said_why():
    lines = (run for run in read_records.load(ROOT / SPLIT) if not timed_selection.is_timed(run))
    failed = [run.model_copy(update={"status": "failed", "reason": "killed", "phases": []}) for run in lines]
    found = recording(failed)
    entries = unpacked(phase_section.section([found]))["entries"]
    assert {role["why"] for entry in entries for role in entry["roles"].values()} == {"failed: killed"}
    assert residuals_section.section([found]) is None and waterfall_section.section([found]) is None


def test_residuals_are_said_with_their_direction():
    selection = recording(runs(TOGETHER)).contents.memory
    setting = next(one for one in selection.settings if one.roles == "together" and one.suite == SUITE)
    series = selection.series(OPENSSL, setting)
    line = session_cost.fit_line(session_cost.medians(series.full("rss"), session_cost.peak_rss))
    assert line.points > 2
    said = residuals_section.words(series, 0.004, replace(line, residual=-1234.0, residual_share=-0.0125))
    assert "± 0.20 % over repeats" in said and "1,234 bytes less, 1.25 % of" in said
    assert "1,234 bytes more" in residuals_section.words(series, None, replace(line, residual=1234.0))
    assert "spread is not known" in residuals_section.words(series, None, line)


def test_lines_of_residuals_go_through_the_medians():
    for group in unpacked(residuals_section.section([recording(runs(TOGETHER))]))["groups"]:
        for fit in (fit for line in group["lines"] for fit in line["fits"].values() if "slope" in fit):
            medians = {point[0]: sorted(point[1:])[len(point[1:]) // 2] for point in fit["points"]}
            if all(len(point) % 2 == 0 for point in fit["points"]):
                assert fit["slope"] == pytest.approx(session_cost.fit_line(medians).slope)


@pytest.mark.thorough
def test_bars_of_the_waterfall_are_the_table_s_figures():
    table = waterfall.waterfall(recording(runs(TOGETHER)).contents.memory)
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, row, strict=True)) for row in table.rows]
    rows = [row for row in rows if not row["books"].text.startswith("of these")]
    drawn = unpacked(waterfall_section.section([recording(runs(TOGETHER))]))["rows"]
    assert [one["steps"] for one in drawn] == [[row[key].value for key in waterfall_section.STAGES] for row in rows]
    assert all(why for one in drawn for step, why in zip(one["steps"], one["whys"], strict=True) if step is None)


def test_residuals_open_where_lines_have_the_most_points():
    def group(recording, suite, many, usual=True):
        points = [[sessions, 1] for sessions in range(many)]
        lines = [{"stack": OPENSSL, "fits": {"established": {"points": points}}}]
        return {"recording": recording, "suite": suite, "usual": usual, "opens": [OPENSSL], "lines": lines}

    newest = [group("newest", SUITE, 2), group("newest", SUITE, 9, usual=False)]
    older = [group("older", "tls12-rsa-aes256", 4), group("older", SUITE, 4), group("oldest", SUITE, 4)]
    assert residuals_section.find_first([*newest, *older]) is older[1]
    assert residuals_section.find_first(newest) is newest[0]


def test_the_waterfall_opens_where_the_most_stacks_have_every_stage():
    def row(recording, suite, *steps):
        return {"recording": recording, "names": {"suite": suite}, "setting": "as usual", "steps": [*steps]}

    newest = [row("newest", SUITE, None, 2, 3, 4), row("newest", SUITE, 1, 2, 3, 4)]
    older = [row("older", suite, 1, 2, 3, 4) for suite in ("tls12-rsa-aes256", SUITE) for _ in range(2)]
    assert waterfall_section.find_first([*newest, *older]) is older[2]


def test_without_npm_the_page_has_no_flamegraphs_and_says_why(monkeypatch, capsys):
    def missing():
        raise BuildFailed("npm is not installed")

    monkeypatch.setattr(page_scripts, "libraries", missing)
    section = phase_section.section([of_one_n()])
    assert section.data["unflamed"] == "No flamegraph, since npm is not installed."
    assert "npm is not installed" in capsys.readouterr().err
