"""One file of each form, by its own tool, and the totals of that tool's printer beside those of `heap read`."""

import csv
import io
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.support import allocating_programs as programs
from tests.support import profile_printers as printers
from tlsmem.base.paths import ROOT
from tlsmem.profile.capture import profilers
from tlsmem.profile.heap_profile import DUMP, END, PEAK, Profile, sum_live
from tlsmem.profile.open_profile import open_profile

RUST = ROOT / "tools/tests/support/dhat-program"
PYTHON = """\
def small():
    return [bytes(1000 + at) for at in range(200)]

kept = small()
bytearray(5_000_000)
"""
RECORDING = ROOT / "data/2026-11-21-amd-epyc-2"
SUITE, STACK = "tls13-rsa-aes256", "openssl@3.5.5"
PEAK_BYTES, PEAK_BLOCKS = "peak, B", "peak, blocks"
END_BYTES, END_BLOCKS = "end, B", "end, blocks"
DUMP_BYTES, DUMP_BLOCKS = "dump, B", "dump, blocks"
RUN_BYTES, RUN_BLOCKS = "allocated, B", "allocated, blocks"
WITH_STACKS = "peak with stacks, B"
SESSION_FIGURES = {role: (f"{role} session, B", f"{role} session, blocks") for role in ("client", "server")}
GO_TYPES = {
    DUMP_BYTES: "inuse_space",
    DUMP_BLOCKS: "inuse_objects",
    RUN_BYTES: "alloc_space",
    RUN_BLOCKS: "alloc_objects",
}

Totals = Mapping[str, int]
Taker = Callable[[Path], tuple[Profile, Totals]]


class Sample(NamedTuple):
    """`take` makes a file in an empty folder, and returns it with the totals that its own tool prints. `slack`: by how
    many units for each call stack the tool's may be larger."""

    form: str
    printer: str
    take: Taker
    slack: int = 0
    why: str = ""


class Comparison(NamedTuple):
    sample: Sample
    figure: str
    told: int
    ours: int
    most: int  # that `told` may be above `ours`

    @property
    def is_equal(self) -> bool:
        return 0 <= self.told - self.ours <= self.most


def own_totals(found: Profile) -> dict[str, int | None]:
    """All totals that `heap read` knows of a profile, by the figures' names."""
    totals: dict[str, int | None] = {}
    names = {PEAK: (PEAK_BYTES, PEAK_BLOCKS), END: (END_BYTES, END_BLOCKS), DUMP: (DUMP_BYTES, DUMP_BLOCKS)}
    for moment, (space, objects) in names.items():
        if moment in found.moments:
            held = sum_live(found.live(moment))
            assert held.bytes == found.moments[moment].bytes
            totals |= {space: held.bytes, objects: held.blocks}
    if found.untraced_peak:
        totals[PEAK_BYTES] = found.untraced_peak.bytes
    if allocated := (found.allocated or {}).values():
        totals |= {RUN_BYTES: sum(one.bytes for one in allocated), RUN_BLOCKS: sum(one.blocks for one in allocated)}
    if found.of_one_pair:
        for role, figures in SESSION_FIGURES.items():
            totals |= dict(zip(figures, sum_live(found.live_of_sessions("established", role)), strict=True))
    if most := found.notes.get("most with thread stacks"):
        totals[WITH_STACKS] = int(re.sub(r"\D", "", most.partition(" B")[0]))
    return totals


def compare(sample: Sample, folder: Path) -> Iterator[Comparison]:
    """Take a sample, and yield each total that its own tool prints beside ours. A tool that is missing skips."""
    found, told = sample.take(folder)
    own = own_totals(found)
    stacks = max((len(moment.live) for moment in found.moments.values()), default=0) if sample.slack else 0
    for figure, value in told.items():
        ours = own.get(figure)
        assert ours is not None, f"{sample.form}: {figure}: heap read does not know it"
        yield Comparison(sample, figure, value, ours, sample.slack * stacks)


def live(folder: Path) -> Path:
    return programs.compile_program(folder, programs.LIVE)


def take_heaptrack(folder: Path) -> tuple[Profile, Totals]:
    file = programs.take_heaptrack(live(folder))
    return open_profile(file), heaptrack_totals(file)


def take_raw_heaptrack(folder: Path) -> tuple[Profile, Totals]:
    """Its totals are those of the file that heaptrack_interpret makes of it."""
    file = programs.take_heaptrack(live(folder), "--raw")
    unpacked = subprocess.run(["zcat" if file.suffix == ".gz" else "zstdcat", file], capture_output=True, check=True)
    interpreted = folder / "interpreted"
    interpreted.write_bytes(
        subprocess.run([profilers.find_interpreter()], input=unpacked.stdout, capture_output=True, check=True).stdout
    )
    subprocess.run(["gzip", interpreted], check=True)
    return open_profile(file), heaptrack_totals(interpreted.with_suffix(".gz"))


def heaptrack_totals(file: Path) -> Totals:
    costs = {PEAK_BYTES: "peak", END_BYTES: "leaked", RUN_BLOCKS: "allocations"}
    return {figure: printers.heaptrack_stacks(file, cost).total() for figure, cost in costs.items()}


def take_massif(*options: str) -> Taker:
    def take(folder: Path) -> tuple[Profile, Totals]:
        file, _ = programs.take_valgrind(live(folder), "massif", *options)
        rows = printers.ms_print(file)
        totals = {PEAK_BYTES: max(heap for _, heap, _, _ in rows)}
        if "--stacks=yes" in options:
            totals[WITH_STACKS] = max(total for total, *_ in rows)
        return open_profile(file), totals

    return take


def take_dhat(mode: str) -> Taker:
    def take(folder: Path) -> tuple[Profile, Totals]:
        program = programs.compile_program(folder, programs.LIVE if mode == "heap" else programs.DHAT_MODES)
        return describe_dhat(*programs.take_valgrind(program, "dhat", f"--mode={mode}"))

    return take


def take_crate(*arguments: str) -> Taker:
    def take(folder: Path) -> tuple[Profile, Totals]:
        cargo = programs.require_tool("cargo", "cargo")
        target = ROOT / "build/cargo"
        command = [cargo, "build", "-q", "--release", "--locked", "--target-dir", target]
        subprocess.run([*command, "--manifest-path", RUST / "Cargo.toml"], check=True, capture_output=True)
        run = [target / "release/allocating-program", *arguments]
        said = subprocess.run(run, cwd=folder, check=True, capture_output=True, text=True, timeout=120).stderr
        return describe_dhat(next(folder.glob("dhat-*.json")), said)

    return take


def describe_dhat(file: Path, said: str) -> tuple[Profile, Totals]:
    names = {
        "Total": (RUN_BYTES, RUN_BLOCKS),
        "At t-gmax": (PEAK_BYTES, PEAK_BLOCKS),
        "At t-end": (END_BYTES, END_BLOCKS),
    }
    told: dict[str, int] = {}
    for row, numbers in printers.dhat_totals(said).items():
        told |= dict(zip(names[row], numbers, strict=True))
    return open_profile(file), told


def take_go(rate: str, text: bool) -> Taker:
    def take(folder: Path) -> tuple[Profile, Totals]:
        file = programs.take_go(programs.build_go(folder), folder / "heap", rate, text)
        return open_profile(file), go_totals(file)

    return take


def go_totals(file: Path) -> Totals:
    return {figure: printers.go_total(file, kind) for figure, kind in GO_TYPES.items()}


def take_cpp_message(folder: Path) -> tuple[Profile, Totals]:
    """What `go tool pprof` makes of a file of gperftools: profile.proto of a C++ program."""
    programs.require_tool("go", "golang")
    text, file = programs.take_gperftools(live(folder)), folder / "profile.pb.gz"
    printers.run("go", "tool", "pprof", "-proto", f"-output={file}", text)
    return open_profile(file), go_totals(file)


def take_gperftools(folder: Path) -> tuple[Profile, Totals]:
    tool, program = programs.require_tool("google-pprof", "google-perftools"), live(folder)
    file = programs.take_gperftools(program)
    options = {DUMP_BYTES: "--inuse_space", DUMP_BLOCKS: "--inuse_objects"}
    options |= {RUN_BYTES: "--alloc_space", RUN_BLOCKS: "--alloc_objects"}
    return open_profile(file), {figure: perl_number(tool, option, program, file) for figure, option in options.items()}


def take_tcmalloc(folder: Path) -> tuple[Profile, Totals]:
    """google-pprof adds fractions of bytes; go tool pprof rounds each sample, as it is done here."""
    programs.require_tool("go", "golang")
    file = programs.take_tcmalloc(folder)
    return open_profile(file), {
        DUMP_BYTES: printers.go_total(file, "space"),
        DUMP_BLOCKS: printers.go_total(file, "objects"),
    }


def take_jemalloc(sample: int) -> Taker:
    def take(folder: Path) -> tuple[Profile, Totals]:
        tool, program = programs.require_tool("jeprof", "libjemalloc-dev"), live(folder)
        file = programs.take_jemalloc(program, sample)
        return open_profile(file), {DUMP_BYTES: perl_number(tool, "--inuse_space", program, file)}

    return take


def perl_number(tool: str, option: str, program: Path, file: Path) -> int:
    options = ["--show_bytes", option] if option.endswith("space") else [option]
    return int(printers.perl_total(tool, *options, program, file).removesuffix(" B").removesuffix(" objects"))


def take_memray(*options: str) -> Taker:
    def take(folder: Path) -> tuple[Profile, Totals]:
        programs.require_module("memray", "make setup-dev")
        (folder / "program.py").write_text(PYTHON)
        command = [sys.executable, "-m", "memray", "run", "-q", *options, "-o", "taken", "program.py"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=120)
        return open_profile(folder / "taken"), {
            PEAK_BYTES: printers.memray_peak(folder / "taken", folder / "stats.json")
        }

    return take


def take_sites(folder: Path) -> tuple[Profile, Totals]:
    """Of a recording: what one more session of each role holds, by heap runs, which have no call stacks."""
    words = ["show", "tables", RECORDING, "--campaign", "repeat", "--table", "heap", "--suite", SUITE]
    told = printers.run(sys.executable, ROOT / "tools/tls-memtest", *words, "--stack", STACK, "--format", "csv")
    rows = {row["role"]: row for row in csv.DictReader(io.StringIO(told))}
    totals = {}
    for role in SESSION_FIGURES:
        figures = SESSION_FIGURES[role]
        totals |= dict(
            zip(figures, (int(rows[role][f"established_{what}"]) for what in ("bytes", "blocks")), strict=True)
        )
    return open_profile(RECORDING / f"{STACK}.jsonl", suite=SUITE), totals


SAMPLES = (
    Sample("heaptrack", "heaptrack_print", take_heaptrack),
    Sample("heaptrack --raw", "heaptrack_interpret, heaptrack_print", take_raw_heaptrack),
    Sample("massif", "ms_print", take_massif()),
    Sample("massif --stacks=yes", "ms_print", take_massif("--stacks=yes")),
    Sample("massif --pages-as-heap=yes", "ms_print", take_massif("--pages-as-heap=yes")),
    Sample("massif --detailed-freq=1", "ms_print", take_massif("--detailed-freq=1")),
    Sample("massif --peak-inaccuracy=0", "ms_print", take_massif("--peak-inaccuracy=0")),
    Sample("DHAT", "DHAT's last lines", take_dhat("heap")),
    Sample("DHAT --mode=copy", "DHAT's last lines", take_dhat("copy")),
    Sample("DHAT --mode=ad-hoc", "DHAT's last lines", take_dhat("ad-hoc")),
    Sample("crate dhat, heap", "the crate's last lines", take_crate()),
    Sample("crate dhat, ad hoc", "the crate's last lines", take_crate("ad-hoc")),
    Sample("pprof of Go, exact", "go tool pprof", take_go("exact", False)),
    Sample("pprof of Go, sampled", "go tool pprof", take_go("sampled", False)),
    Sample("text of Go (debug=1), exact", "go tool pprof", take_go("exact", True)),
    Sample("text of Go (debug=1), sampled", "go tool pprof", take_go("sampled", True)),
    Sample("pprof of C++", "go tool pprof", take_cpp_message),
    Sample("gperftools", "google-pprof", take_gperftools),
    Sample("gperftools' tcmalloc, sampled", "go tool pprof", take_tcmalloc),
    Sample("jemalloc, exact", "jeprof", take_jemalloc(0)),
    Sample(
        "jemalloc, sampled",
        "jeprof",
        take_jemalloc(12),
        1,
        "jeprof adds fractions of bytes; heap read rounds each call stack, as go tool pprof does",
    ),
    Sample("memray", "memray stats", take_memray()),
    Sample("memray --no-compress", "memray stats", take_memray("--no-compress")),
    Sample("memray --native", "memray stats", take_memray("--native")),
    Sample("sites run of a recording", "heap runs of it", take_sites),
)
