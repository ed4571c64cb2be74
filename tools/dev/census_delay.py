"""How long a server takes to answer, with and without censuses beside it."""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO

import numpy as np
import numpy.typing as npt

from census_servers import CHAIN, KEY, OWN
from tlsmem.base.errors import UserError
from tlsmem.census.census import take_census
from tlsmem.config.choices import MARKDOWN
from tlsmem.tables import render
from tlsmem.tables.table import Cell, Column, Table, integer_cell

SOURCE = Path(__file__).with_name("census_echo.c")
TURNS, TURN_S = 10, 2.0  # turns without and with censuses, one after the other
RATE_HZ = 5
TITLE = "How long a server takes to answer, beside censuses"
CAPTION = (
    f"A server of one thread sends back 1 KiB over TLS to a client on this machine, in {TURNS} turns of {TURN_S:.0f} s "
    f"without censuses, and {TURNS} with {RATE_HZ} a second, one after the other."
)

Times = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class Delay:
    """How long answers took in all turns of a kind, in ns; how many censuses there were meanwhile."""

    name: str
    times: Times
    censuses: int

    def percentile_us(self, percent: float) -> float:
        return float(np.percentile(self.times, percent)) / 1000


def us_cell(value: float) -> Cell:
    return Cell(f"{value:.1f}", value)


COLUMNS = (
    Column("censuses", "censuses", left=True, value=lambda one: one.name),
    Column("looks", "looks", value=lambda one: one.censuses, form=integer_cell),
    Column("answers", "answers", value=lambda one: len(one.times), form=integer_cell),
    Column("p50", "p50, µs", value=lambda one: one.percentile_us(50), form=us_cell),
    Column("p99", "p99, µs", value=lambda one: one.percentile_us(99), form=us_cell),
    Column("p99.9", "p99.9, µs", value=lambda one: one.percentile_us(99.9), form=us_cell),
)


def print_delay(sessions: int) -> None:
    table = Table("census-delay", TITLE, CAPTION, COLUMNS)
    table.add_rows(measure_delay(sessions))
    print(render.format_tables([table], MARKDOWN), end="")


def measure_delay(sessions: int) -> list[Delay]:
    """Return the delay without and with censuses, from turns of both. Raises UserError where the server cannot be
    compiled, or a count is wrong."""
    times: dict[bool, list[Times]] = {False: [], True: []}
    censuses = 0
    with start_echo(sessions) as (pid, asked, answered):
        look_at(pid, sessions)  # what is read of files is kept
        for turn in range(2 * TURNS):
            is_beside = turn % 2 == 1
            asked.write(f"{TURN_S}\n".encode())
            asked.flush()
            found: list[Times] = []
            reader = Thread(target=lambda found=found: found.append(read_times(answered)))
            reader.start()
            while is_beside and reader.is_alive():
                began = time.monotonic()
                look_at(pid, sessions)
                censuses += 1
                reader.join(max(0, began + 1 / RATE_HZ - time.monotonic()))
            reader.join()
            times[is_beside] += found
    names = {False: "none", True: f"{RATE_HZ} a second"}
    return [Delay(names[one], np.concatenate(times[one]), censuses if one else 0) for one in (False, True)]


def look_at(pid: int, sessions: int) -> None:
    ((found,), _) = take_census([pid])
    if found.sessions != sessions:
        raise UserError(f"echo server: {found.sessions:,} sessions counted, {sessions:,} are true")


def read_times(answered: IO[bytes]) -> Times:
    count = int.from_bytes(answered.read(8), "little")
    return np.frombuffer(answered.read(8 * count), np.uint64)


@contextmanager
def start_echo(sessions: int) -> Iterator[tuple[int, IO[bytes], IO[bytes]]]:
    """Start the server and its client: the server's process, and the client's pipes."""
    OWN.mkdir(parents=True, exist_ok=True)
    program = OWN / "census_echo"
    words = ["gcc", "-O2", str(SOURCE), "-o", str(program), "-lssl", "-lcrypto"]
    made = subprocess.run(words, capture_output=True, text=True)
    if made.returncode:
        raise UserError(f"{SOURCE.name} does not compile; apt install libssl-dev: {made.stderr.strip()}")
    with subprocess.Popen(
        [program, CHAIN, KEY, str(sessions)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin and process.stdout
        try:
            line = process.stdout.readline()
            if not line:
                raise UserError("the echo server has ended early")
            yield int(line), process.stdin, process.stdout
        finally:
            process.kill()
