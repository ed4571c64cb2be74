"""Rates of the harness over those of a minimal loop around the same library."""

import argparse
import asyncio
import itertools
import json
import signal
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tlsmem.base.paths import ROOT
from tlsmem.build import c_stack, commands, rust_stack
from tlsmem.build.commands import BuildFailed
from tlsmem.config import definitions, timed_matrix
from tlsmem.config.definitions import Stack
from tlsmem.config.run import SYSTEM, argv
from tlsmem.config.timed_matrix import WINDOW_ALL, TimedRun
from tlsmem.run import exclusive, harness
from tlsmem.run.provenance import describe_missing, is_built
from tlsmem.stats import bootstrap
from tlsmem.stats.bootstrap import Interval

AIM, LIMIT_S = 0.985, 600
LIBRARY_NAMES = ("SSL_", "EVP_", "BN_", "ossl_")  # of OpenSSL's functions
FOLDER = ROOT / "build/loops"
MIB = 2**20
WORKS = {  # scenario, suite, and bytes of a write
    "full handshake": ("handshake", "tls13-rsa-aes256", None),
    "resumed by ticket": ("handshake", "tls13-rsa-aes256-ticket", None),
    "transfer": ("throughput", "tls13-rsa-aes256", MIB),
}
PARTS = {  # in the loop's words the harness's, and by what they are divided
    "handshake": {
        "client_ns": (("client_new", "client", "client_free"), "count"),
        "server_ns": (("server_new", "server", "server_free"), "count"),
    },
    "throughput": {"send_ns": (("send",), "bytes"), "receive_ns": (("receive",), "bytes")},
}


def openssl_loop(name: str, stack: Stack, binary: Path, log: Path) -> None:
    """By the harness's compiler and flags, with the library that the harness has, at the places that it has there.

    The loop stands behind the harness's own files, which are linked and not called. Their calls of malloc are not led
    through the core, as a harness's are: that is a cost of the harness."""
    library = c_stack.provide_library(name, stack, ROOT, log)
    source = ROOT / "harness-c/loops/openssl_loop.c"
    compiler = c_stack.driver_command(stack, library.cflags, ROOT)
    command = [*compiler, *c_stack.harness_files(stack, ROOT), *library.libraries, str(source), "-Wl,--wrap=main"]
    command += [*library.libraries, "-ldl", "-lpthread", "-o", str(binary)]
    commands.run(command, log, f"{name}: loop", ROOT)
    if distances(binary) != distances(ROOT / "build/harness" / name):
        sys.exit(f"memtest: {name}: the library's code lies otherwise in the loop than in the harness")


def distances(binary: Path) -> list[tuple[str, int]]:
    """Of OpenSSL's functions, in the order of their addresses, how far each begins behind the one before."""
    listed = subprocess.run(["nm", "--numeric-sort", binary], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in listed.splitlines()]
    found = [(int(line[0], 16), line[2]) for line in lines if len(line) == 3 and line[1] == "T"]
    of_library = [(at, name) for at, name in found if name.startswith(LIBRARY_NAMES)]
    return [(name, at - before) for (before, _), (at, name) in itertools.pairwise(of_library)]


def rustls_loop(name: str, stack: Stack, binary: Path, log: Path) -> None:
    loop = stack.model_copy(update={"binary": "rustls_loop", "features": [*stack.features, "loop"]})
    rust_stack.build(name, loop, binary, ROOT, log)


LOOPS = {"openssl@3.5.5": openssl_loop, "rustls+aws-lc@0.23.46": rustls_loop}  # the stacks of bench_loop.py


@dataclass(frozen=True)
class Both:
    """A harness and its loop, at one kind of work on one CPU."""

    stack: str
    scenario: str
    words: list[str]

    def harness_ns(self) -> dict[str, float]:
        """A handshake's, or a byte's, by part."""
        outcome = asyncio.run(harness.run([f"build/harness/{self.stack}", *self.words], {}, LIMIT_S))
        if outcome.status != "measured":
            sys.exit(f"memtest: {self.stack}: {outcome.status}: {outcome.reason}")
        parts = {part.part: part for part in outcome.threads[0].parts}
        return {
            key: sum(parts[one].total_ns for one in of) / getattr(parts[of[-1]], by)
            for key, (of, by) in PARTS[self.scenario].items()
        }

    def loop_ns(self) -> dict[str, float]:
        command = [str(FOLDER / self.stack), *self.words]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env={"LC_ALL": "C"}, capture_output=True, text=True, check=True, timeout=LIMIT_S
            )
        except subprocess.CalledProcessError as error:
            sys.exit(f"memtest: {FOLDER.name}/{self.stack}: {' '.join(error.stderr.split()) or 'failed'}")
        except subprocess.TimeoutExpired:
            sys.exit(f"memtest: {FOLDER.name}/{self.stack}: killed at the time limit of {LIMIT_S} s")
        said = json.loads(done.stdout)
        return {key: said[key] / said[by] for key, (_, by) in PARTS[self.scenario].items()}

    def taken_in_turn(self, repeats: int) -> dict[str, list[tuple[float, float]]]:
        """Of each part the harness's and the loop's, run after run."""
        pairs = [(self.harness_ns(), self.loop_ns()) for _ in range(repeats)]
        return {key: [(of_harness[key], of_loop[key]) for of_harness, of_loop in pairs] for key in pairs[0][0]}


def rate(ns: float, by: str) -> str:
    return f"{1e9 / ns:,.0f} /s" if by == "count" else f"{1e9 / ns / MIB:,.0f} MiB/s"


def row(key: str, by: str, pairs: list[tuple[float, float]]) -> list[str]:
    ratios = [of_loop / of_harness for of_harness, of_loop in pairs]  # of rates: the less time the more
    spread = bootstrap.median_interval(ratios) if len(ratios) > 1 else Interval(*ratios, *ratios)
    rates = [rate(statistics.median(of_one), by) for of_one in zip(*pairs, strict=True)]
    ends = [f"{value:.3f}" for value in (min(ratios), max(ratios))]
    between = f"{spread.low:.3f} to {spread.high:.3f}"
    return [key.removesuffix("_ns"), *rates, f"{statistics.median(ratios):.3f}", between, *ends, verdict(spread)]


def verdict(spread: Interval) -> str:
    return "yes" if spread.low >= AIM else "no" if spread.high < AIM else "not known"


def pair_with_loop(stack: str, work: str, cpu: int) -> Both:
    scenario, name, size = WORKS[work]
    suite = definitions.suites()[name]
    count = timed_matrix.rounds(suite, size)
    run = TimedRun(stack, name, SYSTEM, WINDOW_ALL, 2, "time", 1, scenario=scenario, size_bytes=size, rounds=count)
    # Both with addresses randomised: else one lucky layout of one binary is measured, in every repeat again.
    return Both(stack, scenario, [*argv(run, suite)[1:], "aslr=on", f"cpus={cpu}"])


def make_loops(stacks: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in stacks:
        try:
            LOOPS[name](name, definitions.stacks()[name], FOLDER / name, ROOT / f"build/logs/{name}.loop.log")
        except BuildFailed as error:
            sys.exit(f"memtest: {error}")


def run(given: argparse.Namespace) -> None:
    """Makes the loops, measures, and prints the table."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what it has started ends with it
    stacks, repeats = given.stacks, given.repeats
    for stack in stacks:
        if not is_built(stack):
            sys.exit(f"memtest: {describe_missing(stack)}")
    exclusive.claim_machine(timed=True)  # before they are compiled, which would disturb a campaign
    make_loops(stacks)
    cpu = exclusive.cores_first()[0]
    headings = "stack", "work", "part", "harness", "loop", "ratio", "95 %", "smallest", "largest", f"at least {AIM}"
    table = Table(*headings, box=None)
    with Console(stderr=True).status("measuring, one run at a time") as status:
        for stack in stacks:
            for work in WORKS:
                status.update(f"{stack}, {work}: {repeats} pairs of runs")
                taken = pair_with_loop(stack, work, cpu).taken_in_turn(repeats)
                for key, (_, by) in PARTS[WORKS[work][0]].items():
                    table.add_row(stack, work, *row(key, by, taken[key]))
    Console(highlight=False, width=160).print(table)
