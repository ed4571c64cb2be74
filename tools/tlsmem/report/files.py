"""Tables and pictures of a report as files: Markdown and CSV of each table, PNG and SVG of each picture."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import matplotlib

from tlsmem.config import choices
from tlsmem.explore import profile_output
from tlsmem.plots.picture import PAGE_STYLE, save
from tlsmem.report.embedded_pictures import draw_picture
from tlsmem.report.sections import Picture, Section, identifier
from tlsmem.tables import render
from tlsmem.tables.table import Table

ENDINGS = {choices.MARKDOWN: ".md", choices.CSV: ".csv"}


def write(sections: Sequence[Section], directory: Path) -> Iterator[Path]:
    """Each as it is written. OSError with the file's name; a picture that there is not is left out."""
    directory.mkdir(parents=True, exist_ok=True)
    for section in sections:
        for shown in section.tables:
            for form, ending in ENDINGS.items():
                file = directory / f"{identifier(shown.table.name)}{ending}"
                profile_output.write_text(render.format_tables([shown.table], form), str(file))
                yield file
        for picture in (*section.pictures, *section.files):
            try:
                yield from write_picture(picture, directory)
            except ValueError:
                continue


def write_picture(picture: Picture, directory: Path) -> list[Path]:
    """Return the files. Raises ValueError with a sentence where it cannot be drawn."""
    made = draw_picture(picture)
    with matplotlib.rc_context(PAGE_STYLE):
        return save(made, directory / identifier(picture.name))


def write_pictures(sections: Sequence[Section], directory: Path, names: Sequence[str]) -> Iterator[Path]:
    """Yield the files of the pictures of these names. Raises ValueError with a sentence for a name that there is not,
    and where one cannot be drawn; OSError with the file's name."""
    there = {one.name: one for section in sections for one in (*section.pictures, *section.files)}
    for name in names:
        if name not in there:
            raise ValueError(f"no picture {name} in this report; there are: {', '.join(there)}")
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        yield from write_picture(there[name], directory)


def tables(sections: Iterable[Section], names: Sequence[str] | None) -> list[Table]:
    """Of these names, in their order, or all; no section is made after the last that is needed.

    Raises ValueError with a sentence for a name that there is not."""
    there: dict[str, Table] = {}
    for section in sections:
        there |= {shown.table.name: shown.table for shown in section.tables}
        if names and there.keys() >= set(names):
            break
    for name in names or ():
        if name not in there:
            raise ValueError(f"no table {name} in this report; there are: {', '.join(there)}")
    return [there[name] for name in dict.fromkeys(names or there)]
