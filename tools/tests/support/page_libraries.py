"""The JavaScript of pages with flamegraphs: `make check-pages` fetches it, no other test does."""

from functools import cache
from typing import NoReturn

from tlsmem.build.commands import BuildFailed
from tlsmem.explore.flamegraph import page_scripts

WHY = "make check-pages fetches the JavaScript of pages"


@cache
def are_fetched() -> bool:
    return page_scripts.are_fetched()


def forbid_fetching() -> None:
    """In this process, unless all is there: a report then has no flamegraphs, and says so."""
    if not are_fetched():
        page_scripts.fetch = refuse


def refuse() -> NoReturn:
    raise BuildFailed(WHY)
