"""Sizes of blocks, counted by hand: of every block where a tool tells them, else the mean of a call stack."""

import json
import subprocess
from collections import Counter

import pytest

from tests.support import allocating_programs, handmade
from tests.support.allocating_programs import LIVE
from tests.support.commands import command_line
from tests.support.forked_command import run
from tlsmem.explore import profile_selection
from tlsmem.explore.block_sizes import size_tables
from tlsmem.profile import open_profile
from tlsmem.profile.heap_profile import DUMP, END, PEAK, Profile

POOL = 72_704  # bytes of libstdc++, which heaptrack loads
SMALL = Counter(33 + at % 7 for at in range(1000))


def rows(table) -> dict[str, tuple[int, int]]:
    """Blocks and bytes by size."""
    return {row[0].text: (row[1].value, row[3].value) for row in table.rows}


def test_many_sizes_are_powers_of_two():
    one = handmade.profile()
    one.sizes.update(dict.fromkeys(range(2000, 2000 + 12), 1))
    live, found = size_tables(one, "sessions", bars=True)
    assert (live.name, found.name) == ("live-sizes", "sizes")
    counted = rows(found)
    assert [*counted.items()][:2] == [("0", (1, 0)), ("1", (2, 2))]
    assert counted["9 to 16"] == (3, 48) and counted["17 to 32"] == (4, 68) and counted["513 to 1,024"] == (9, 9000)
    assert counted["33 to 64"] == (0, 0) and sum(blocks for blocks, _ in counted.values()) == 19 + 12
    assert {row[0].text: row[5].text for row in found.rows}["9 to 16"] == "█" * 6  # of 12 blocks, the most


def test_few_sizes_have_a_row_each():
    (_, found) = size_tables(handmade.profile(), "sessions")
    assert rows(found) == {"0": (1, 0), "1": (2, 2), "16": (3, 48), "17": (4, 68), "1,000": (9, 9000)}
    assert "mean" not in found.caption


def test_without_the_sizes_of_blocks_the_mean_of_a_call_stack_stands_for_them():
    one = handmade.profile()
    one.sizes = None
    live, allocated = size_tables(one, "sessions")
    # context 700 in 7, buffers 2000 in 2 and 3000 in 4, key 30 in 3, table 64 in 1, unnamed 5 in 1
    means = {"5": (1, 5), "10": (3, 30), "64": (1, 64), "100": (7, 700), "750": (4, 3000), "1,000": (2, 2000)}
    assert rows(live) == means
    assert live.caption.endswith("exact where that has one block, as for 2 of 18 blocks.")
    assert rows(allocated) == {"10": (3, 30), "64": (1, 64), "100": (8, 800), "225": (40, 9000)}
    (server, _) = size_tables(one, "sessions", "server")
    assert rows(server) == {"5": (1, 5), "10": (3, 30), "750": (4, 3000)} and "Live of server" in server.caption
    (key, of_key) = size_tables(one, "sessions", pattern="^key_")
    assert (rows(key), rows(of_key)) == ({"10": (3, 30)}, {"10": (3, 30)})
    with pytest.raises(profile_selection.PatternNotFound):
        size_tables(one, "sessions", pattern="nosuch")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return allocating_programs.compile_program(tmp_path_factory.mktemp("sizes"), LIVE)


def sizes_of_small(profile: Profile, moment: str) -> dict[str, tuple[int, int]]:
    return rows(size_tables(profile, moment, pattern="^small$")[0])


@pytest.mark.thorough
def test_heaptrack_tells_the_size_of_every_live_block(program):
    allocating_programs.require_tool("heaptrack", "heaptrack")
    words = ["heaptrack", "-o", "heaptrack", program]
    subprocess.run(words, cwd=program.parent, check=True, capture_output=True)
    file = program.with_name("heaptrack.zst")
    found = open_profile.open_profile(file)
    assert sizes_of_small(found, END) == {str(size): (count, size * count) for size, count in sorted(SMALL.items())}
    (live, allocated) = size_tables(found, END)
    assert rows(live)["4,097 to 8,192"] == (1000, sum(5000 + at for at in range(1000)))
    assert "65,537 to 131,072" not in rows(live) and "mean" not in live.caption
    assert rows(size_tables(found, PEAK)[0])["65,537 to 131,072"] == (1, POOL)
    assert rows(allocated)["65 to 128"] == (1000, 100_000)  # of which `grown` makes larger ones
    told = run([*command_line("heap read"), str(file), "--sizes", "--phase", "end", "--filter", "^small$", "--json"])
    assert told.returncode == 0 and [one["name"] for one in json.loads(told.stdout)["tables"]] == ["live-sizes"]


def test_gperftools_tells_the_mean(program):
    found = open_profile.open_profile(allocating_programs.take_gperftools(program))
    assert sizes_of_small(found, DUMP) == {"36": (1000, 35_997)}
    assert "as for 0 of 3,000 blocks" in size_tables(found, DUMP)[0].caption
