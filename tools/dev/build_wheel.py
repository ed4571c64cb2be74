#!/usr/bin/env python3
"""Build the wheel of the committed recordings: tools/dev/build_wheel.py, or `make wheel`.

Everything goes into build/wheel: what the wheel has in place of a clone into published/, the wheel beside it, and its
contents with their sizes into contents.txt. The same clone makes the same bytes."""

import argparse
import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.base import cache_file, memo
from tlsmem.base.errors import UserError
from tlsmem.base.paths import HEAP_METER, HEAP_WALK, ROOT
from tlsmem.cli.dispatch import run_words
from tlsmem.cli.main import run
from tlsmem.config.certificates import LENGTHS, certificate_sizes

OUT = ROOT / "build/wheel"
PUBLISHED = OUT / "published"
COPIED = (
    *("memtest/*.toml", "memtest/certs/*/only-in-campaigns", "memtest/certs/*/padding"),
    *("data/published/*.csv", "data/20*/live/*", HEAP_WALK),
)
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
TAG = "py3-none-manylinux_2_35_x86_64"  # of the heap meter: it needs _dl_find_object
MOST_BYTES = 6 << 20  # of the wheel


def main() -> int:
    """Build the wheel and list its contents."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    from tlsmem.store.recordings import committed_recordings

    shutil.rmtree(OUT, ignore_errors=True)
    for pattern in COPIED:
        for file in sorted(ROOT.glob(pattern)):
            copy(file, PUBLISHED / file.relative_to(ROOT))
    for chain in sorted(ROOT.glob("memtest/certs/*/*.pem")):
        if lengths := certificate_sizes(chain):
            file = (PUBLISHED / chain.relative_to(ROOT)).with_suffix(LENGTHS)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{' '.join(map(str, lengths))}\n")
    meter = PUBLISHED / HEAP_METER
    meter.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["strip", "--strip-unneeded", "-o", meter, ROOT / HEAP_METER], check=True)
    recordings = committed_recordings()
    for recording in recordings:
        write_summary(recording)
    (PUBLISHED / "results.json.xz").write_bytes(pack_results(recordings))
    wheel = build()
    contents = OUT / "contents.txt"
    contents.write_text("".join(list_contents(wheel)))
    print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size:,} B; {contents.relative_to(ROOT)} lists its contents")
    if wheel.stat().st_size > MOST_BYTES:
        raise UserError(f"{wheel}: is larger than {MOST_BYTES:,} B")
    return 0


def copy(file: Path, to: Path) -> None:
    """Copy a file into a directory that is made."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)
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

    cache_file.IS_WHEEL = True
    cache_file.digest_code.cache_clear()
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
    return compress(json.dumps(dict(sorted(found.items())), separators=(",", ":")).encode())


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


def build() -> Path:
    """Build the wheel of the package and what was collected; return it."""
    variables = os.environ | {"MEMTEST_PUBLISHED": str(PUBLISHED), "MEMTEST_WHEEL_TAG": TAG}
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "-w", OUT, ROOT]
    subprocess.run(command, env=variables, check=True)
    (wheel,) = OUT.glob("*.whl")
    return wheel


def list_contents(wheel: Path) -> Iterator[str]:
    """Yield a line for each file of the wheel: bytes as they are, packed, and the name."""
    with zipfile.ZipFile(wheel) as packed:
        for one in sorted(packed.infolist(), key=lambda one: one.filename):
            yield f"{one.file_size:>10,} {one.compress_size:>10,}  {one.filename}\n"


if __name__ == "__main__":
    run(main)
