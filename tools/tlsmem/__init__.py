"""tls-memtest's tools: what a TLS session costs in memory, measured, tabulated, drawn and compared.

`tlsmem.read("data/2026-11-22-amd-epyc")` has the tables of a recording, for notebooks: docs/how-to/query.md."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from tlsmem.store.views import Recordings

__version__ = "0.1.0"


def read(*recordings: "Path | str") -> "Recordings":
    """Return the tables of recordings as DuckDB relations: `.runs`, `.phases`, `.blocks`, `.stacks`, `.live`,
    `.live_samples`, and `.sql("select ...")`. A recording is a directory, one of its files, or a name below data/;
    without any, those of the repository are read.

    Raises UserError with a sentence where there is no such recording, or a line of one is no record."""
    from tlsmem.store import views

    return views.read(*recordings)
