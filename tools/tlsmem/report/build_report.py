"""One page of recordings that needs nothing else, its tables as text, or tables and pictures as files."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from tlsmem.base import memo, stdout
from tlsmem.base.errors import raise_user_errors
from tlsmem.base.paths import ROOT
from tlsmem.base.repository import DATA, LOCAL
from tlsmem.config.choices import DIRECTORY, FILE_FORMATS, FILES, HTML
from tlsmem.config.topic import Topic, topics
from tlsmem.explore import profile_output
from tlsmem.explore.flamegraph import page_scripts
from tlsmem.report import (
    answer_section,
    cost_section,
    files,
    inventory_section,
    page,
    phase_section,
    recordings,
    residuals_section,
    waterfall_section,
)
from tlsmem.report.recordings import Recording
from tlsmem.report.sections import Section, digest_sources
from tlsmem.schema import recording_files
from tlsmem.schema.read_records import without_collection
from tlsmem.store.recordings import find_recordings, find_within
from tlsmem.tables import render

TITLE = "What a TLS session costs"
SENTENCE = (
    "How much memory one TLS session takes in each library, what that memory is for, and how fast handshakes are."
)
MAKERS = (
    cost_section,
    phase_section,
    residuals_section,
    waterfall_section,
)
LAST_MAKERS = (inventory_section,)  # after the sections of topics
OUTPUTS = {HTML: Path("report.html"), DIRECTORY: Path("report"), FILES: Path("report")} | dict.fromkeys(
    FILE_FORMATS, Path(profile_output.STDOUT)
)
FOLDERS = (DIRECTORY, FILES)  # formats that write into a directory


def sections(read: Sequence[Recording], among: Sequence[Path] | None = None) -> list[Section]:
    """Return the sections in the order of the page. Costs are looked up in `among`, by default in what was read."""
    with without_collection():  # what is read meanwhile is many small objects, and few of them are garbage
        return list(make_sections(read, among))


def make_sections(read: Sequence[Recording], among: Sequence[Path] | None, few: bool = False) -> Iterator[Section]:
    """Yield them one by one: who wants `few` tables need not wait for all, and gets the cheap section first."""
    with_runs = [one for one in read if one.records]
    of_topics = [
        partial(topic.find(topic.section), read_for(topic, read if topic.folder else with_runs, among))
        for topic in topics()
        if topic.folder or with_runs
    ]
    before, after = ([partial(one.section, with_runs) for one in makers] for makers in (MAKERS, LAST_MAKERS))
    answer = partial(answer_section.section, with_runs, among)
    makers = [answer, *before, *of_topics, *after] if with_runs else of_topics
    if few:
        makers = [makers[-1], *makers[:-1]]
    yield from (section for make in makers if (section := make()))


def run(given: argparse.Namespace) -> None:
    """Raises ValueError or OSError with a sentence."""
    output = resolve_output(given)
    named = given.recording
    profile_output.check_outputs([str(output)] if given.format not in FOLDERS else [], map(str, named))
    with_runs, of_servers = recordings.split_servers(named)
    loaded = recordings.load_recordings(with_runs) if named else recordings.load_newest(ROOT / DATA, ROOT / LOCAL)
    read = [*recordings.by_machine(loaded), *of_servers]
    among = None if named else find_committed()
    if given.format in FILE_FORMATS:
        with without_collection():
            found = files.tables(make_sections(read, among, few=bool(given.table)), given.table)
        profile_output.write_text(render.format_tables(found, given.format), str(output))
        return
    committed = map(recordings.path_from_root, find_committed() or ())  # predictions are of these, whatever is named
    apart = [one.path for topic in topics() for one in read_for(topic, read, among)]
    source = recordings.digest(dict.fromkeys([*loaded, *committed, *apart]))
    if given.format == HTML:
        text = recall_page(
            read, among, source, find_directory(output, dict.fromkeys(one.path for one in read) if named else ())
        )
        output.parent.mkdir(parents=True, exist_ok=True)
        profile_output.write_text(text, str(output))
        print(f"report: {output}: {output.stat().st_size / 1e6:.2f} MB", file=sys.stderr)
        return
    made = sections(read, among)
    if given.format == DIRECTORY:
        with stdout.raise_write_errors():
            print(*page.write_directory(TITLE, SENTENCE, made, output, source), sep="\n")
    else:
        made = [one._replace(pictures=tuple(one.pictures)) for one in made]  # the page takes them, and then the files
        with stdout.raise_write_errors():
            if given.picture:
                print(*files.write_pictures(made, output, given.picture), sep="\n")
                return
            print(*page.write_directory(TITLE, SENTENCE, made, output, source), sep="\n")
            print(*files.write(made, output), sep="\n")


def recall_page(read: Sequence[Recording], among: Sequence[Path] | None, source: str, beside: page.Directory) -> str:
    """Return the page in one file, unless it was made before of the same recordings and sources: then return that."""

    def make() -> str:
        return page.page(TITLE, SENTENCE, sections(read, among), source, beside)

    if not page_scripts.are_fetched():
        return make()  # it may lack flamegraphs, which the next one will have
    text: str = memo.recall("page", [source, [*beside]], digest_sources(), make)
    return text


def find_directory(output: Path, named: Iterable[str]) -> page.Directory:
    """Return where the directory form of this page is, beside it, and the command that writes it."""
    folder = output.with_suffix("")
    return page.Directory(
        folder.name,
        shlex.join(["tools/tls-memtest", "show", "report", *named, "--format", DIRECTORY, "-o", str(folder)]),
    )


def read_for(topic: Topic, read: Sequence[Recording], among: Sequence[Path] | None) -> list[Recording]:
    """Return the recordings of a topic's section: in a report of no named ones (`among` is given), committed ones that
    have the topic's folder alone, too."""
    known = {one.path for one in read}
    apart = find_within(ROOT / DATA, topic.folder) if topic.folder and among is not None else ()
    more = [one for one in map(recordings.without_runs, apart) if one.path not in known]
    return sorted([*read, *more], key=lambda one: one.path, reverse=True) if more else list(read)


def find_committed() -> list[Path] | None:
    """Return the recordings that tools/tls-memtest cost reads by default; None where nothing is committed."""
    try:
        return find_recordings(None)
    except ValueError:
        return None


def resolve_output(given: argparse.Namespace) -> Path:
    """Raises ValueError with a sentence for what cannot be."""
    output = given.output or OUTPUTS[given.format]
    if given.table and given.format not in FILE_FORMATS:
        raise ValueError(f"--table is of text: --format {' or '.join(FILE_FORMATS)}")
    if given.picture and given.format != FILES:
        raise ValueError(f"--picture is of files: --format {FILES}")
    if given.format in FOLDERS and output.exists() and not output.is_dir():
        raise ValueError(f"{output} is a file, and --format {given.format} writes into a directory")
    return output / OUTPUTS[HTML] if given.format == HTML and not is_file(output) else output


def is_file(output: Path) -> bool:
    """Or is to be one: another name is a directory's."""
    return output.suffix == ".html" or (output.exists() and not output.is_dir())


def write_report(given: argparse.Namespace) -> int:
    """Return the exit status, which is 1 where a line of a recording was cut off. Raises UserError."""
    with raise_user_errors(given.output):
        run(given)
    return 1 if recording_files.skipped_lines else 0
