"""What the page's scripts draw, as pictures of files: from the same data, so by known answers."""

import shlex

import pytest

from tests.support import synthetic, synthetic_timed
from tests.support.live import live_record
from tests.tables.test_accounts import heap_runs, rss_runs
from tlsmem.report import build_report, files, recordings, residuals_section, waterfall_section
from tlsmem.schema.live_records import append_live
from tlsmem.stats.session_cost import KIB, MIB


def read(tmp_path, *several, name="2026-01-3{}-example"):
    """Recordings of these runs."""
    paths = [synthetic.write(tmp_path / name.format(at), runs) for at, runs in enumerate(several)]
    return list(recordings.by_machine(recordings.load_recordings(paths)))


def test_pictures_are_drawn_again_when_a_recording_has_more_runs(tmp_path):
    """Of harnesses or of real servers."""
    path = synthetic.write(tmp_path / "recording", [synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", 100)])
    found = [recordings.digest([str(path)])]
    append_live(path, live_record(100))
    found.append(recordings.digest([str(path)]))
    synthetic.write(path, [synthetic.record("openssl@3.5.5", "tls13-rsa-aes256", 200)])
    found.append(recordings.digest([str(path)]))
    assert len(set(found)) == 3


def test_bars_of_requested_to_resident_are_the_data_of_the_page(tmp_path):
    """116,000 bytes are requested, 120,000 usable, 150,000 held, of which 20,000 are untouched."""
    (picture,) = waterfall_section.section(read(tmp_path, [*rss_runs(), *heap_runs()])).files
    (axes,) = picture.draw().axes
    bars = [tuple(round(edge * KIB) for edge in bar.get_bbox().intervalx) for bar in axes.patches]
    wanted = [(0, 116_000), (0, 116_000), (116_000, 120_000), (0, 120_000), (120_000, 150_000)]
    assert bars == [*wanted, (0, 130_000), (130_000, 150_000)]
    hatched = [bool(bar.get_hatch()) for bar in axes.patches]
    assert hatched == [False, False, True, False, True, False, False]
    words = [text.get_text() for text in axes.texts]
    assert words[0] == "openssl@3.5.5 on glibc" and words[-1].endswith("20,000 less: never written or given back")


def test_what_is_not_known_of_a_stage_is_said_in_its_picture(tmp_path):
    (picture,) = waterfall_section.section(read(tmp_path, rss_runs())).files
    texts = [text.get_text() for text in picture.draw().axes[0].texts]
    assert texts[1].startswith("not known: no heap runs at two N") and texts[2] == "120,000"


def test_no_section_is_made_after_the_last_that_is_needed(tmp_path):
    waterfall = waterfall_section.section(read(tmp_path, [*rss_runs(), *heap_runs()]))

    def sections():
        yield waterfall
        raise AssertionError("another section is made")

    assert [table.name for table in files.tables(sections(), ["waterfall"])] == ["waterfall"]


@pytest.mark.thorough
def test_pictures_of_scripts_are_files_under_their_sections_names(tmp_path):
    """Of each recording its own."""
    books = read(tmp_path / "books", *[[*rss_runs(), *heap_runs()]] * 2)
    lines = read(tmp_path / "lines", *[synthetic.campaign(["openssl@3.5.5"], ["tls13-rsa-aes256"])] * 2)
    sections = [
        made.section(found)._replace(tables=())
        for made, found in ((waterfall_section, books), (residuals_section, lines))
    ]
    written = {path.name for path in files.write(sections, tmp_path / "out")}
    names = [f"{made}-2026-01-3{at}-example" for made in ("waterfall", "residuals") for at in (0, 1)]
    assert written == {f"{name}{ending}" for name in names for ending in (".png", ".svg")}
    assert all((tmp_path / "out" / name).stat().st_size > 5_000 for name in written)


@pytest.mark.thorough
def test_commands_name_a_recording_with_a_blank_in_its_name(tmp_path):
    """Of every table and picture; a shell takes it as one word."""
    stacks, suites = ["openssl@3.5.5", "rustls+aws-lc@0.23.46"], ["tls13-rsa-aes256"]
    runs = [*synthetic.campaign(stacks, suites), *synthetic_timed.campaign(stacks, suites)]
    (found,) = read(tmp_path, runs, name="2026-01-3{} of a friend's")
    sections = build_report.sections([found])
    commands = [one.command for section in sections for one in (*section.tables, *section.pictures, *section.files)]
    assert {section.id for section in sections} >= {"answer", "cost", "time", "measured"} and len(commands) > 10
    assert [command for command in commands if found.path not in shlex.split(command)] == []


def test_residuals_are_what_the_line_leaves_of_the_page_s_points():
    line = {"stack": "openssl@3.5.5", "fits": {"established": fit(slope=1024.0, intercept=float(MIB))}}
    upper, lower = residuals_section.figure([line], "established", "suite, process", "machine").axes
    (runs, drawn), (rest, _) = upper.lines, lower.lines
    assert [*runs.get_xdata()] == [100, 100, 1000] and drawn.get_ydata()[0] == 1
    assert [round(off, 6) for off in rest.get_ydata()] == [3.0, -5.0, 0.0]
    assert [residuals_section.directed(off) for off in (3.0, 0.0, -5.0)] == ["3 more", "0", "5 less"]
    assert any("1,024 bytes per session" in text.get_text() for text in upper.texts)


def test_a_long_title_stays_inside_its_picture():
    line = {"stack": "openssl@3.5.5", "fits": {"established": fit(slope=1024.0, intercept=float(MIB))}}
    made = residuals_section.figure([line], "established", "a suite, servers, peers freed, " * 4, "machine")
    box = made.texts[0].get_window_extent()
    assert box.x0 >= 0 and box.x1 <= made.bbox.x1


def fit(**line: float) -> dict:
    """Two runs of 100 sessions, 3 KiB above and 5 KiB below the line, and one of 1,000 on it."""
    return line | {"points": [[100, MIB + 103 * KIB, MIB + 95 * KIB], [1000, MIB + 1000 * KIB]], "said": "as it is"}


def test_of_one_n_there_are_dots_and_no_line(tmp_path):
    runs = synthetic.campaign(["openssl@3.5.5"], ["tls13-rsa-aes256"], counts=(200,))
    (picture,) = residuals_section.section(read(tmp_path, runs)).files
    upper, lower = picture.draw().axes
    assert picture.name == "residuals" and len(upper.lines) == 1
    assert len(lower.lines) == 1  # of zero


def test_a_stack_without_runs_is_not_opened(tmp_path):
    """The command below the chart would draw nothing."""
    suite = "tls13-rsa-aes256"
    refused = [synthetic.failed("openssl@4.0.3", suite, n, "has none", "unsupported") for n in synthetic.COUNTS]
    runs = [*refused, *synthetic.campaign(["openssl@3.5.5", "rustls+aws-lc@0.23.46"], [suite])]
    (group,) = residuals_section.chart_groups(read(tmp_path, runs)[0], several=False)
    assert {line["stack"] for line in group["lines"]} > {"openssl@4.0.3"}
    assert group["opens"] == ["openssl@3.5.5", "rustls+aws-lc@0.23.46"]


def test_what_opens_are_the_newest_of_two_families_or_the_first():
    assert residuals_section.opens(["null@c", "rustls+ring@0.22.0", "openssl@3.5.5", "openssl@4.0.3"]) == [
        "openssl@4.0.3",
        "rustls+ring@0.22.0",
    ]
    assert residuals_section.opens(["null@c", "openssl@3.5.5", "gnutls@3.8.9"]) == ["null@c", "openssl@3.5.5"]
