"""What the page's scripts draw, as pictures of files: from the same data, so by known answers."""

import shlex

import synthetic
import synthetic_timed
from test_accounts import heap_runs, rss_runs

import report
from costs import KIB
from reporting import files, recordings, waterfall


def read(tmp_path, *several, name="2026-01-3{}-example"):
    """Recordings of these runs."""
    paths = [synthetic.write(tmp_path / name.format(at), runs) for at, runs in enumerate(several)]
    return list(recordings.by_machine(recordings.loaded(paths)))


def test_bars_of_requested_to_resident_are_the_data_of_the_page(tmp_path):
    """116,000 bytes are requested, 120,000 usable, 150,000 held, of which 20,000 are untouched."""
    (picture,) = waterfall.section(read(tmp_path, [*rss_runs(), *heap_runs()])).files
    (axes,) = picture.draw().axes
    bars = [tuple(round(edge * KIB) for edge in bar.get_bbox().intervalx) for bar in axes.patches]
    wanted = [(0, 116_000), (0, 116_000), (116_000, 120_000), (0, 120_000), (120_000, 150_000)]
    assert bars == [*wanted, (0, 130_000), (130_000, 150_000)]
    hatched = [bool(bar.get_hatch()) for bar in axes.patches]
    assert hatched == [False, False, True, False, True, False, False]
    words = [text.get_text() for text in axes.texts]
    assert words[0] == "openssl@3.5.5 on glibc" and words[-1].endswith("20,000 less: untouched or given back")


def test_what_is_not_known_of_a_stage_is_said_in_its_picture(tmp_path):
    (picture,) = waterfall.section(read(tmp_path, rss_runs())).files
    texts = [text.get_text() for text in picture.draw().axes[0].texts]
    assert texts[1].startswith("not known: no heap runs at two N") and texts[2] == "120,000"


def test_pictures_of_scripts_are_files_under_their_sections_names(tmp_path):
    """Of each recording its own."""
    one, other = [*rss_runs(), *heap_runs()], [*rss_runs(), *heap_runs()]
    made = waterfall.section(read(tmp_path, one, other))
    written = {path.name for path in files.write([made._replace(tables=())], tmp_path / "out")}
    names = [f"waterfall-2026-01-3{at}-example" for at in (0, 1)]
    assert written == {f"{name}{ending}" for name in names for ending in (".png", ".svg")}
    assert all((tmp_path / "out" / name).stat().st_size > 5_000 for name in written)


def test_commands_name_a_recording_with_a_blank_in_its_name(tmp_path):
    """Of every table and picture; a shell takes it as one word."""
    stacks, suites = ["openssl@3.5.5", "rustls+aws-lc@0.23.46"], ["tls13-rsa-aes256"]
    runs = [*synthetic.campaign(stacks, suites), *synthetic_timed.campaign(stacks, suites)]
    (found,) = read(tmp_path, runs, name="2026-01-3{} of a friend's")
    sections = report.sections([found])
    commands = [one.command for section in sections for one in (*section.tables, *section.pictures, *section.files)]
    assert {section.id for section in sections} >= {"glance", "cost", "time", "measured"} and len(commands) > 10
    assert [command for command in commands if found.path not in shlex.split(command)] == []
