#!/usr/bin/env python3
"""Install this machine's wheel of build/wheel into empty environments outside of the clone, and compare what its
command prints with what the clone's prints, byte for byte; and what the heap meter counts of a small program.

  tools/dev/check_wheel.py                        what `make check-wheel` does
  tools/dev/check_wheel.py --python python3.13    under another Python

What a wheel has not, or lacks a package for, must be one sentence and exit status 2; nothing may be written but below
XDG_CACHE_HOME."""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from build_wheel import CORES, NAMES
from tlsmem.base.errors import UserError
from tlsmem.base.paths import HEAP_METER, ROOT
from tlsmem.cli.main import run
from tlsmem.config.toml_tables import read_tables

CSV = ("--format", "csv")
CLONE = str(ROOT / "tools/tls-memtest")
PLANS = (
    "memory --connections 100000",
    "memory --connections 100000 --stack openssl@3.5.5 --as nginx",
    "memory --connections 100000 --handshaking 5% --in-flight 20%",
    "memory --connections 1M --rate 500/s --rtt 100ms --client-time 20ms",
    "memory --connections 50k --stalled-rate 200/s --timeout 60s",
    "fit --memory 16GiB --handshaking 5% --in-flight 20% --role both",
    "storm --clients 100000 --within 10s --limit 1000 --cores 8 --stack openssl@3.5.5",
    "fleet --clients 10M --hosts 40 --fail 1",
    "haproxy --memory 16GiB --role both",
    "check",
)
PROFILE = str(ROOT / "data/2026-11-21-amd-epyc-2/profiles/openssl@3.5.5.tls13-rsa-aes256.1000.heaptrack.zst")
OWN = str(ROOT / "data/2026-11-21-amd-epyc-2")  # by its path in the clone, it is no published one
QUERIES = (
    "select recording, scenario, count(*) as runs from runs group by all order by all",
    "select recording, stack, suite, sum(total_live_bytes) as bytes from phases join runs using (run)"
    " group by all order by all",
    "select run, max(peak_rss_bytes) as peak from phases group by all order by all limit 500",
    "select server, meter, phase, count(*) as rows from live group by all order by all",
    "select run, position, malloc_chunk_bytes, malloc_free_resident_bytes, digest from live order by all",
    "select run, count(*) as readings, max(user_bytes) as most from live_samples group by all order by all",
)
SHOWN = {"live": "measure live", "configuration": "measure configuration"}  # how runs in a folder are printed
REFUSED = {  # in an environment with the core alone; and a part of the sentence
    "measure mem": "needs a clone",
    "measure live --server nginx": "needs a clone",
    "measure configuration --server nginx": "needs a clone",
    "build openssl@3.5.5": "needs a clone",
    "gate BUDGET.toml": "needs a clone",
    "diff builds --a openssl@3.5.5 --b openssl@3.6.3": "needs a clone",
    "heap record --stack openssl@3.5.5": "needs a clone",
    "heap read x.heaptrack.zst --flamegraph flames.html": "needs a clone",
    "heap read data/2026-11-26-amd-epyc-p355e-sites/openssl@3.5.5.jsonl": "needs a clone",
    "data verify data/2026-11-26-amd-epyc-p355e-sites": "needs a clone",
    "data sql x": "pip install 'tls-memtest[data]'",
    "show mem data/2026-11-22-amd-epyc -o picture": "pip install 'tls-memtest[plots]'",
}
BUILT = {b",both,": b",recorded,", b",built,": b",neither,"}  # states of stacks: a wheel has no builds
PICTURE = "show mem data/2026-11-22-amd-epyc"
SIGNATURES = {".png": b"\x89PNG", ".svg": b"<?xml"}
HOLDING = """
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
    void *volatile kept;
    char byte;
    for (int size = 1; size <= 1000; size++)
        kept = malloc(size);
    return write(1, "\\n", 1) != 1 || read(0, &byte, 1) || !kept;
}
"""
HELD = {"live_bytes": 500_500, "live_blocks": 1_000}
ZIG = (str(ROOT / "build/wheel-venv/bin/python"), "-m", "ziglang", "cc")
UNMETERED: dict[str, tuple[Sequence[str], str]] = {  # how a program is compiled, and a part of the sentence about it
    "static": (("gcc", "-static"), "statically linked"),
    "musl": (("gcc", "-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"), "its C library is musl"),
    "arm64": ((*ZIG, "-target", "aarch64-linux-gnu.2.17"), "it is a program for arm64, and the meter is for x86-64"),
}
MOST_BYTES = 90e6  # of the core's packages, before Python compiles what it imports
USAGE = 2


class Answer(NamedTuple):
    """How a command ended, and what it printed."""

    status: int
    out: bytes
    error: str


class Environment:
    """An empty environment with the wheel."""

    def __init__(self, folder: Path, python: str, extras: str = "") -> None:
        self.folder = folder
        (wheel,) = (ROOT / "build/wheel").glob(f"*_{platform.machine()}.whl")
        try:
            words = [python, "-m", "venv", "--without-pip", folder]
            subprocess.run(words, check=True, capture_output=True, text=True)
        except FileNotFoundError:
            raise UserError(f"check-wheel: --python {python}: there is no such program", 2) from None
        except subprocess.CalledProcessError as error:
            said = error.stderr.strip().partition("\n")[0] or f"exit status {error.returncode}"
            raise UserError(f"check-wheel: --python {python} makes no environment: {said}", 2) from None
        pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "-q", "--no-compile"]
        subprocess.run([*pip, "--disable-pip-version-check", f"{wheel}{extras}"], check=True)

    @property
    def bytes(self) -> int:
        """The size of all that was installed."""
        return sum(one.lstat().st_size for one in self.folder.rglob("*") if "__pycache__" not in one.parts)

    @property
    def version(self) -> str:
        """Python's."""
        words = [self.folder / "bin/python", "-c", "import platform; print(platform.python_version())"]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def list_files(self) -> set[str]:
        """Return what is there outside of the cache directory and what Python compiles, by path and size."""
        return {
            f"{file.relative_to(self.folder)}: {file.lstat().st_size} B"
            for file in self.folder.rglob("*")
            if file.is_file() and "__pycache__" not in file.parts and not file.is_relative_to(self.folder / "cache")
        }

    def answer(self, words: tuple[str, ...]) -> Answer:
        """Return what the wheel's command says, in an empty directory."""
        variables = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "XDG_CACHE_HOME": str(self.folder / "cache")}
        return call([str(self.folder / "bin/tls-memtest"), *words], self.folder, variables)


def call(command: list[str], folder: Path, variables: dict[str, str]) -> Answer:
    """Return how a command ended, without a terminal."""
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, stdin=subprocess.DEVNULL)
    return Answer(done.returncode, done.stdout, done.stderr.decode())


def call_clone(words: tuple[str, ...]) -> Answer:
    """Return what the clone's command says, which an installed package names otherwise."""
    done = call([CLONE, *words], ROOT, dict(os.environ))
    return Answer(done.status, done.out.replace(*NAMES), done.error.replace(*map(bytes.decode, NAMES)))


def list_core_questions() -> Iterator[tuple[str, ...]]:
    """Yield commands that need the core alone and print CSV."""
    yield "cost", *CSV
    for library in read_tables("libraries"):
        yield "cost", library, *CSV
    for words in (["--mtls"], ["--pq"], ["--ecdsa"], ["--tls12"], ["--role", "client"]):
        yield "cost", "openssl", "rustls", *words, *CSV
    for line in PLANS:
        yield "plan", *line.split(), *CSV
    for recording in name_recordings():
        yield "why", recording, *CSV
    for folder, words in SHOWN.items():
        for place in sorted((ROOT / "data").glob(f"20*/{folder}")):
            yield *words.split(), str(place.parent.relative_to(ROOT)), *CSV
    yield "stacks", *CSV
    yield "heap", "read", PROFILE, "--json"
    yield "diff", "recordings", "data/2026-11-21-amd-epyc", OWN, *CSV


def list_other_questions() -> Iterator[tuple[str, ...]]:
    """Yield commands that need the extras and print CSV."""
    for recording in name_recordings():
        yield "show", "tables", recording, *CSV
    for query in QUERIES:
        yield "data", "sql", query, *CSV


def name_recordings() -> Iterator[str]:
    """Yield the names of the recordings in the repository."""
    files = (ROOT / "data").glob("20*/*.jsonl.zst")
    yield from sorted({str(file.parent.relative_to(ROOT)) for file in files}, reverse=True)


def count_equal(environment: Environment, questions: Iterator[tuple[str, ...]]) -> int:
    """Return how many answers are equal; one that both refuse is equal too. Raises UserError where some differ."""
    equal, different = 0, []
    for words in questions:
        ours, theirs = call_clone(words), environment.answer(words)
        if words[0] == "stacks":
            ours = ours._replace(out=re.sub(b"|".join(BUILT), lambda state: BUILT[state[0]], ours.out))
        sentence = re.sub(r"\S*/tlsmem/published/", "", theirs.error)
        if (ours.status, ours.out) == (theirs.status, theirs.out) and (ours.status == 0 or ours.error == sentence):
            equal += 1
        else:
            different.append(
                f"{' '.join(words)}: status {theirs.status}, and {ours.status} in the clone: {theirs.error}"
            )
    if different:
        raise UserError(f"{len(different)} answers differ, {equal} do not:\n" + "\n".join(different))
    return equal


def check_refusals(environment: Environment) -> int:
    """Return how many commands that cannot be are one sentence and status 2. Raises UserError where one is not."""
    for words, sentence in REFUSED.items():
        found = environment.answer(tuple(words.split()))
        if (found.status, found.out) != (USAGE, b"") or found.error.count("\n") != 1 or sentence not in found.error:
            raise UserError(f"{words}: status {found.status}, and not the sentence `{sentence}`: {found.error}")
    return len(REFUSED)


def check_wheels() -> Iterator[str]:
    """Yield what is said of each wheel. Raises UserError where one needs a later glibc than its name says, or has the
    clone's name of the command."""
    for system in sorted(folder.name for folder in CORES.glob("*/")):
        (wheel,) = (ROOT / "build/wheel").glob(f"*_{system}.whl")
        tag = f"manylinux_2_17_{system}"
        shown = call([ZIG[0], "-m", "auditwheel", "show", str(wheel)], ROOT, dict(os.environ))
        if f'"{tag}"' not in shown.out.decode().partition("The wheel references")[0]:
            raise UserError(f"{wheel.name}: auditwheel does not find {tag}: {shown.out.decode()}{shown.error}")
        with zipfile.ZipFile(wheel) as packed:
            if named := [file for file in packed.namelist() if NAMES[0] in packed.read(file)]:
                raise UserError(f"{wheel.name}: {named[0]} has {NAMES[0].decode()}, which an installed package has not")
        yield f"{wheel.stat().st_size / 1e6:.2f} MB for {tag}, as auditwheel says"


def check_meter(environment: Environment, folder: Path) -> str:
    """Return what the wheel's meter counts of a program that holds known blocks, from its start and from outside.

    Raises UserError where that is not what it holds, or the clone's command counts otherwise."""
    program = compile_program(folder / "holding", ["gcc"])
    run, attach = ("heap", "run", "--json", "--", str(program)), ("heap", "attach", "--once", "--json")
    ran = [read_counts(answer) for answer in (call_clone(run), environment.answer(run))]
    (meter,) = environment.folder.glob(f"lib/python*/site-packages/tlsmem/published/{HEAP_METER}")
    pipe = subprocess.PIPE
    with subprocess.Popen([program], env={"LD_PRELOAD": str(meter)}, stdin=pipe, stdout=pipe) as process:
        assert process.stdout
        process.stdout.readline()
        words = (*attach, str(process.pid))
        attached = [read_counts(answer) for answer in (call_clone(words), environment.answer(words))]
        process.communicate()
    Path(f"/dev/shm/heapmeter.{process.pid}").unlink(missing_ok=True)
    if not (ran[0] == ran[1] and attached[0] == attached[1]) or {ran[0], attached[0]} != {tuple(HELD.values())}:
        raise UserError(f"heap run and heap attach, in the clone and the wheel: {ran}, {attached}; it holds {HELD}")
    return f"heap run and heap attach count {ran[1][0]:,} B in {ran[1][1]:,} blocks, as in the clone"


def read_counts(answer: Answer) -> tuple[int, ...]:
    """Return the counts of the first program in a report in JSON, by the keys of HELD. Raises UserError without one."""
    try:
        lines = [*answer.out.decode().splitlines(), *answer.error.splitlines()]  # heap run reports on stderr
        first = next(line for line in lines if line.startswith("{"))
        return tuple(json.loads(first)[name] for name in HELD)
    except (StopIteration, ValueError, LookupError):
        raise UserError(f"heap: status {answer.status}, and no report: {answer.out!r} {answer.error}") from None


def compile_program(program: Path, compiler: Sequence[str]) -> Path:
    """Return the program that holds known blocks."""
    source = program.with_suffix(".c")
    source.write_text(HOLDING)
    subprocess.run([*compiler, source, "-o", program], check=True)
    return program


def check_unmetered(environment: Environment, folder: Path) -> int:
    """Return how many programs that cannot load the meter are one sentence. Raises UserError where one is not."""
    for name, (compiler, sentence) in UNMETERED.items():
        program = compile_program(folder / name, compiler)
        found = environment.answer(("heap", "run", "--", str(program)))
        said = [line for line in found.error.splitlines() if not line.startswith("Error relocating ")]  # musl's own
        if not found.status or len(said) != 1 or sentence not in said[0]:
            raise UserError(f"{name}: status {found.status}, and not the sentence `{sentence}`: {found.error}")
    return len(UNMETERED)


def check_picture(environment: Environment, folder: Path) -> int:
    """Return how many files of a picture there are. Raises UserError where one is none."""
    found = environment.answer((*PICTURE.split(), "-o", str(folder / "picture")))
    files = list(folder.glob("picture*"))
    signatures = [file.read_bytes().startswith(SIGNATURES.get(file.suffix, b"\0no")) for file in files]
    if found.status or not files or not all(signatures):
        raise UserError(f"{PICTURE}: status {found.status}, files {[file.name for file in files]}: {found.error}")
    return len(files)


def report(text: str) -> None:
    print(f"check-wheel: {text}", flush=True)


def main() -> int:
    """Compare all answers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="the Python of the environments")
    given = parser.parse_args()
    for line in check_wheels():
        report(line)
    with tempfile.TemporaryDirectory(prefix="memtest-wheel-") as place:
        made = Path(place) / "made"
        made.mkdir()
        core = Environment(Path(place) / "core", given.python)
        if (size := core.bytes) > MOST_BYTES:
            raise UserError(f"the core takes {size:,} B, and {MOST_BYTES:,.0f} at most")
        report(f"the core takes {size / 1e6:.0f} MB, under Python {core.version}")
        files = {core: core.list_files()}
        report(f"{check_refusals(core)} commands that need more are one sentence")
        report(check_meter(core, made))
        report(f"{check_unmetered(core, made)} programs that cannot load the meter are one sentence")
        report(f"{count_equal(core, list_core_questions())} answers of the core are the clone's")
        every = Environment(Path(place) / "every", given.python, "[data,plots]")
        files[every] = every.list_files()
        report(f"with the extras it takes {every.bytes / 1e6:.0f} MB")
        report(f"{check_picture(every, made)} files of a picture")
        report(f"{count_equal(every, list_other_questions())} answers with the extras too")
        for environment, before in files.items():
            if written := environment.list_files() - before:
                raise UserError(f"the wheel's commands wrote {min(written)}, which is not below XDG_CACHE_HOME")
        report("nothing was written but below XDG_CACHE_HOME")
    return 0


if __name__ == "__main__":
    run(main)
