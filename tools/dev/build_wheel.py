#!/usr/bin/env python3
"""Build the wheels of the committed recordings, one for each architecture: `make wheel`.

Everything goes into build/wheel: what a wheel has in place of a clone into published/, the package as it calls itself
there into source/, the wheels beside them, and their contents with their sizes into contents.txt. The same clone makes
the same bytes."""

import argparse
import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import cache_file, memo
from tlsmem.base.errors import UserError
from tlsmem.base.paths import HEAP_METER, HEAP_WALK, PACKAGE, ROOT
from tlsmem.cli.dispatch import run_words
from tlsmem.cli.main import run
from tlsmem.config.certificates import LENGTHS, certificate_sizes

OUT = ROOT / "build/wheel"
PUBLISHED = OUT / "published"
SOURCE = OUT / "source"
COPIED = (
    *("memtest/*.toml", "data/predictions/live.jsonl", "memtest/certs/*/only-in-campaigns", "memtest/certs/*/padding"),
    *("data/published/*.csv", "data/20*/live/*", "data/20*/configuration/*"),
)
LEVEL = 22  # of zstd: slower than sealing, and a seventh smaller
PROJECT = ("pyproject.toml", "LICENSE*", "tools/dev/wheel_hook.py")  # what pip builds the package of, besides
NAMES = (b"tools/tls-memtest", b"tls-memtest")  # of the command, in all that it prints: in a clone, and installed
BROUGHT = (  # results that are computed of what a summary lacks
    "bucket sums",
    "certificates by call site",
    "holder of a bucket",
    "largest sites",
    "latencies",
    "live bytes by function",
    "live of the pair",
    "reasons",
)
CALL_STACK_TABLES = ("buckets", "call-sites", "certificate-sites", "chains", "closings", "waterfall")
CORES = ROOT / "build/wheel-core"  # a directory with the heap meter and heapwalk for each architecture
TAG = "py3-none-manylinux_2_17_{}.manylinux2014_{}"  # the Makefile compiles them for this glibc
MOST_BYTES = 6_000_000  # of a wheel


def main() -> int:
    """Build the wheels and list their contents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    from tlsmem.store.recordings import committed_recordings

    systems = sorted(folder.name for folder in CORES.glob("*/"))
    if not systems:
        raise UserError(f"{CORES.relative_to(ROOT)} is not there: run `make wheel`, which compiles the heap meter")
    shutil.rmtree(OUT, ignore_errors=True)
    before = digest_package()
    copy_all(COPIED, PUBLISHED)
    copy_all((*PROJECT, *list_package()), SOURCE)
    for place in (SOURCE / "tools/tlsmem", PUBLISHED / "memtest"):
        for file in filter(Path.is_file, place.rglob("*")):
            file.write_bytes(file.read_bytes().replace(*NAMES))
    for chain in sorted(ROOT.glob("memtest/certs/*/*.pem")):
        if lengths := certificate_sizes(chain):
            file = (PUBLISHED / chain.relative_to(ROOT)).with_suffix(LENGTHS)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{' '.join(map(str, lengths))}\n")
    recordings = committed_recordings()
    for recording in recordings:
        write_summary(recording)
    (PUBLISHED / "results.json.xz").write_bytes(pack_results(recordings))
    if digest_package() != before:
        raise UserError("the package changed while the wheel was built, so results are missing: run `make wheel` again")
    wheels = [build(system) for system in systems]
    contents = OUT / "contents.txt"
    contents.write_text("".join(line for wheel in wheels for line in list_contents(wheel)))
    for wheel in wheels:
        print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size:,} B")
        if wheel.stat().st_size > MOST_BYTES:
            raise UserError(f"{wheel}: is larger than {MOST_BYTES:,} B")
    print(f"{contents.relative_to(ROOT)} lists what they contain")
    return 0


def list_package() -> list[str]:
    """Return the package's files in git, by their paths in the repository."""
    words = ["git", "ls-files", "-z", "--", PACKAGE.relative_to(ROOT)]
    return subprocess.run(words, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip("\0").split("\0")


def digest_package() -> bytes:
    """Return a digest of the package's files: results are found by that of the files that are copied."""
    digest = hashlib.sha256()
    for file in list_package():
        digest.update((ROOT / file).read_bytes())
    return digest.digest()


def copy_all(patterns: Iterable[str], to: Path) -> None:
    """Copy the repository's files that match to the same places below a directory."""
    for pattern in patterns:
        for file in sorted(ROOT.glob(pattern)):
            copy(file, to / file.relative_to(ROOT))


def copy(file: Path, to: Path) -> None:
    """Copy a file into a directory that is made; a sealed file as small as it gets."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)
    if file.suffix == ".zst":
        from backports import zstd

        to.write_bytes(zstd.compress(zstd.decompress(file.read_bytes()), LEVEL))
    to.chmod(0o755 if os.access(file, os.X_OK) else 0o644)


def write_summary(recording: Path) -> None:
    """Write the summary of a recording, and its manifest beside it. Raises UserError where it is not sealed."""
    from tlsmem.schema.manifest import load_manifest
    from tlsmem.schema.recording_files import SUMMARY, list_files
    from tlsmem.store.read_runs import find_entries
    from tlsmem.store.summary import pack_summary

    files, folder = list_files(recording), PUBLISHED / recording.relative_to(ROOT)
    if not load_manifest(recording):
        raise UserError(f"{recording}: is not sealed; a wheel has sealed recordings only")
    copy(recording / "manifest.json", folder / "manifest.json")
    entries = find_entries(files)
    packed = pack_summary({file.name: entry.folder for file, entry in zip(files, entries, strict=True)})
    (folder / SUMMARY).write_bytes(packed)


def pack_results(recordings: list[Path]) -> bytes:
    """Return the results that a wheel brings along, by the keys that it finds them by."""
    from tlsmem.store.summary import compress

    digest_files = cache_file.digest_files
    cache_file.IS_WHEEL = True
    cache_file.digest_code.cache_clear()
    cache_file.digest_files = lambda files: digest_files(map(find_copy, files))
    memo.FILE = OUT / "results.sqlite"
    found: dict[str, memo.Json] = {}
    recall = memo.recall

    def recall_and_keep(name: str, arguments: memo.Json, code: bytes, compute: Callable[[], object]) -> Any:
        result = recall(name, arguments, code, compute)
        if name in BROUGHT:
            found[memo.brought_key(memo.make_key(name, arguments, code))] = result
        return result

    memo.recall = recall_and_keep
    for words in list_questions(recordings):
        with quiet(), contextlib.suppress(UserError):  # not every recording has each
            run_words([*words, "--format", "csv"])
    memo.pending.clear()
    ordered = sorted(
        found.items(), key=lambda item: (json.dumps(item[1]), item[0])
    )  # like beside like: a sixth smaller
    return compress(json.dumps(dict(ordered), separators=(",", ":")).encode().replace(*NAMES))


def find_copy(file: Path) -> Path:
    """Return where a wheel's file stands of which an installed package makes the digest."""
    return SOURCE / file.relative_to(ROOT) if file.is_relative_to(PACKAGE) else PUBLISHED / file.relative_to(ROOT)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Print nothing."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def list_questions(recordings: list[Path]) -> Iterator[list[str]]:
    """Yield the words of the commands whose answers a wheel has."""
    yield ["cost"]
    for recording in map(str, recordings):
        yield ["why", recording]
        yield ["show", "tables", recording]
        yield from (["show", "tables", recording, "--table", table] for table in CALL_STACK_TABLES)


def build(system: str) -> Path:
    """Build the wheel of an architecture: the package, what was collected, and the architecture's programs."""
    for name in (HEAP_METER, HEAP_WALK):
        copy(CORES / system / Path(name).name, PUBLISHED / name)
    tag = TAG.format(system, system)
    variables = os.environ | {"MEMTEST_PUBLISHED": str(PUBLISHED), "MEMTEST_WHEEL_TAG": tag}
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "-w", OUT, SOURCE]
    subprocess.run(pip, env=variables, check=True)
    (wheel,) = OUT.glob(f"*_{system}.whl")
    return wheel


def list_contents(wheel: Path) -> Iterator[str]:
    """Yield the wheel's name, and a line for each file of it: bytes as they are, packed, and the name."""
    yield f"{wheel.name}\n"
    with zipfile.ZipFile(wheel) as packed:
        for one in sorted(packed.infolist(), key=lambda one: one.filename):
            yield f"{one.file_size:>10,} {one.compress_size:>10,}  {one.filename}\n"


if __name__ == "__main__":
    run(main)
