"""Libraries release by release: what an established session keeps, a picture of each recording of many stacks."""

import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from tlsmem.config import releases
from tlsmem.config.choices import LEAST_RELEASES
from tlsmem.report.memory_pictures import popular, select_alone
from tlsmem.report.recordings import Recording, recording_arguments
from tlsmem.report.sections import Picture, Section
from tlsmem.stats.configured_stack import base_settings
from tlsmem.stats.selection import Selection
from tlsmem.stats.series import Setting
from tlsmem.tables.catalogue import has_many_stacks
from tlsmem.topics.releases.picture import figure

TITLE = "Release by release"
LIBRARIES = 3  # of a picture


class Releases(NamedTuple):
    """What a picture shows of a recording."""

    recording: Recording
    selection: Selection
    suites: Sequence[str]
    libraries: Sequence[str]


def section(recordings: Sequence[Recording]) -> Section | None:
    """A picture of each recording in which a library has several releases."""
    found = list(find_releases(recordings))
    if not found:
        return None
    return Section("releases", TITLE, pictures=[picture(one, len(found) > 1) for one in found])


def find_releases(recordings: Sequence[Recording]) -> Iterator[Releases]:
    """Yield what each recording of many stacks has, in the suites that most of them did."""
    for one in recordings:
        selection = one.contents.memory
        if not selection or base_settings(selection) or not has_many_stacks(selection):
            continue
        alone = select_alone(selection)
        suites, libraries = popular(alone), most_released(alone)
        if suites and libraries:
            yield Releases(one, alone.where(partial(has_suite, suites)), suites, libraries)


def has_suite(suites: Sequence[str], setting: Setting) -> bool:
    """Return whether a setting is of one of these suites."""
    return setting.suite in suites


def most_released(selection: Selection) -> list[str]:
    """Return the libraries by how many releases there are: as many as have room beside each other."""
    found = releases.group_by_library(selection.stacks, LEAST_RELEASES)
    return sorted(found, key=lambda name: -len(found[name]))[:LIBRARIES]


def picture(found: Releases, several: bool) -> Picture:
    """Return the picture of a recording, with its name where there are several."""
    name = found.recording.name
    says = "Memory of an established server session of each library, from release to release."
    chosen = [word for library in found.libraries for word in ("--library", library)]
    chosen += [word for suite in found.suites for word in ("--suite", suite)]
    command = f"tools/tls-memtest show releases {recording_arguments(found.recording)} -o releases --roles split "
    return Picture(
        f"releases-{name}" if several else "releases",
        f"{TITLE}, {name}" if several else TITLE,
        says,
        command + shlex.join(chosen),
        partial(figure, found.selection, found.libraries),
    )
