"""Totals of heap profiles as the tools that wrote them print them."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

MS_PRINT_ROW = re.compile(r" +\d+ +[\d,.]+ +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)")
DHAT_ROW = re.compile(r"(Total|At t-gmax|At t-end): +([\d,]+) \w+ in ([\d,]+) \w+")
HEAPTRACK_INTERPRET = Path("/usr/lib/heaptrack/libexec/heaptrack_interpret")


def run(*command: object) -> str:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True, timeout=120).stdout


def heaptrack_stacks(file: Path, cost: str) -> Counter[str]:
    """heaptrack_print's sums by call stack, outermost function first; `cost` is peak, leaked, allocations or
    temporary. Its summary has three digits only."""
    out = file.with_suffix(f".{cost}")
    options = ["--flamegraph-cost-type", cost, "--disable-builtin-suppressions", "--disable-embedded-suppressions"]
    run("heaptrack_print", "-f", file, "-F", out, *options)
    found: Counter[str] = Counter()
    for line in out.read_text().splitlines():
        stack, _, cost = line.rpartition(" ")
        found[stack] += int(cost)
    return +found


def ms_print(file: Path) -> list[list[int]]:
    """Bytes of each snapshot: total, heap, extra, stacks."""
    rows = filter(None, map(MS_PRINT_ROW.fullmatch, run("ms_print", file).splitlines()))
    return [[int(number.replace(",", "")) for number in row.groups()] for row in rows]


def dhat_totals(said: str) -> dict[str, tuple[int, int]]:
    """Bytes and blocks, of `Total`, `At t-gmax` and `At t-end`, in what DHAT or the crate dhat prints at the end."""
    number = re.compile(r"\D")
    return {
        row[1]: (int(number.sub("", row[2])), int(number.sub("", row[3])))
        for row in map(DHAT_ROW.search, said.splitlines())
        if row
    }


def go_total(file: Path, sample_index: str) -> int:
    told = run("go", "tool", "pprof", "-top", "-unit=B", f"-sample_index={sample_index}", file)
    found = re.search(r"of (\d+)B? total", told)
    assert found, told
    return int(found[1])


def perl_total(tool: str, *arguments: object) -> str:
    """What google-pprof or jeprof prints, with its unit."""
    found = re.search(r"Total: (.*)", run(tool, "--text", *arguments))
    assert found
    return found[1]


def memray_peak(file: Path, out: Path) -> int:
    run(sys.executable, "-m", "memray", "stats", "--json", "-f", "-o", out, file)
    peak = json.loads(out.read_text())["metadata"]["peak_memory"]
    assert isinstance(peak, int)
    return peak
