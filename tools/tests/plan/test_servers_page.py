"""The page on plans lists what memtest/servers.toml has of each server, and what its live runs give."""

import re

import pytest

from tlsmem.base.paths import ROOT
from tlsmem.config.libraries import libraries, library_key
from tlsmem.config.servers import Server, servers
from tlsmem.config.suite_variants import LIBRARY
from tlsmem.plan.amounts import format_size
from tlsmem.plan.server_memory import measure_server
from tlsmem.store.recordings import display_name

PAGE = (ROOT / "docs/how-to/plan.md").read_text()
ROWS = {
    name: cells.split(" | ") for name, cells in re.findall(r"^\| `(\w[\w-]*)`[^|]* \| (.*) \|$", PAGE, re.MULTILINE)
}
RELEASES, DEFAULTS = "`SSL_MODE_RELEASE_BUFFERS`", "the library's defaults"


def title(library: str) -> str:
    """Return the library as people write it, with the build if the server needs one."""
    return libraries()[library_key(library)].name + (f" (`{library}`)" if "+" in library else "")


def own_bytes(name: str) -> list[str]:
    """Return the process, and what a connection holds in use and at rest, with its entry in the connection table."""
    found = measure_server(name)
    if not found:
        return ["–"] * 3
    table = f" + {found.table:,}" if found.table else ""
    own = [found.own(at_rest) - found.table for at_rest in (False, True)]
    return [format_size(found.process), *(f"{one:,}{table}" for one in own)]


def test_every_server_has_a_row():
    assert sorted(ROWS) == sorted(servers())


@pytest.mark.parametrize(("name", "server"), servers().items())
def test_a_row_is_what_the_server_sets_and_holds(name: str, server: Server):
    names, options, tickets, *sizes = ROWS[name]
    assert names == ", ".join(map(title, server.libraries))
    assert options.partition(",")[0] == (RELEASES if server.releases else DEFAULTS)
    assert tickets == ("the library's" if server.tickets == LIBRARY else str(server.tickets))
    assert sizes == own_bytes(name)


def test_the_page_names_the_recording_of_the_live_runs():
    recordings = {display_name(found.recording) for name in servers() if (found := measure_server(name))}
    (named,) = re.findall(r"^The columns .* are RSS of live runs, .*, in `(data/[^`]+)`", PAGE, re.MULTILINE)
    assert recordings == {named}
