#!/usr/bin/env python3
"""Every table and picture of the committed recordings, as values and words, so that changed code can be compared.

`dump` runs the commands as anyone would and imports nothing of the project: modules may move. Of each output it keeps
NAME.values.json (figures: rows of tables, numbers, what a picture draws) and NAME.words.txt (prose: titles, notes, why
there is a hole, stderr). `compare` lists what differs between two dumps. Nothing is written below data/ or docs/.

Exit status of compare: 0 values are equal, 3 values differ or outputs are missing, 2 usage."""

import argparse
import difflib
import hashlib
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ".venv/bin/python"
TMP = "{TMP}"  # in an argument: a directory of the command's own, which is gone afterwards
SECONDS = 900  # of one command
NUMBER = re.compile(r"(?<![\w.])[-+−±]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")
OFFICIAL = re.compile(r"<!-- (?:begin|made by): (tools/.*?) -->")
SCRIPT = re.compile(r"<script [^>]*id=\"([^\"]*)\"[^>]*>(.*?)</script>", re.DOTALL)
TIMES = re.compile(r"\b\d+(\.\d+)? s\b")  # how long it took
FETCHED = re.compile(r"^page: fetching .*\n", re.MULTILINE)  # by the first page on a machine only
NO_JSON = ("explain_buckets", "prove", "query")
DRAWS = ("plot_", "report.py", " -o ")
EXAMPLES = """examples:
  tools/dev/oracle.py dump /tmp/before
  tools/dev/oracle.py dump /tmp/after --like /tmp/before      the same commands, whatever the docs say by now
  tools/dev/oracle.py dump /tmp/some --only 'plot_|plan'      only outputs whose names match
  tools/dev/oracle.py compare /tmp/before /tmp/after"""

FIRST, ALL, STACKS, TIMED = (
    "data/2026-11-21-amd-epyc",
    "data/2026-11-21-amd-epyc-2",
    "data/2026-11-22-amd-epyc",
    "data/2026-11-22-amd-epyc-2",
)
OF_MEMORY = "settings stacks peaks heap rss c10k bends law"
OF_SITES = "roles waterfall accounts sites closings buckets call-sites"
OF_TIME = "factor transfer handshakes sessions configurations threads latency instructions harness noise"
TABLES = {  # which a recording has rows for: one that has none would fail all others of the command
    FIRST: OF_MEMORY,
    ALL: f"{OF_MEMORY} {OF_SITES} interop deployed",
    STACKS: f"{OF_MEMORY} {OF_SITES} published account",
    TIMED: f"settings {OF_TIME}",
}
EVERY_TABLE = f"{OF_MEMORY} {OF_SITES} interop deployed published account {OF_TIME}".split()
MORE = f"""
tools/tabulate.py {ALL} --stack rustls+aws-lc@0.23.46 --stack openssl@3.5.5 --format json
tools/tabulate.py {ALL} --table peaks --n 100 --n 10000 --format csv
tools/tabulate.py {ALL} --roles split --process server --format json
tools/tabulate.py {ALL} --table interop --peer rustls+aws-lc@0.23.46 --format json
tools/tabulate.py {ALL} --allocator system --window all --env lab --cpu all --format json
tools/plot_mem.py {FIRST} -o {TMP}/memory --n 1000
tools/plot_mem.py {ALL} -o {TMP}/memory
tools/plot_mem.py {ALL} -o {TMP}/interop --campaign interop
tools/plot_mem.py {ALL} -o {TMP}/law --campaign law
tools/plot_mem.py {ALL} -o {TMP}/env --env lab --env deployed
tools/plot_mem.py {STACKS} -o {TMP}/pq --campaign stacks --suite tls13-rsa-aes128-pq
tools/plot_stacks.py {STACKS} -o {TMP}/clients --campaign stacks --suite tls12-rsa-aes256 --role client
tools/plot_releases.py {STACKS} -o {TMP}/releases --campaign stacks
tools/plot_versions.py {STACKS} -o {TMP}/aws-lc --library rustls+aws-lc
tools/plot_versions.py {STACKS} -o {TMP}/idle --library rustls+ring --stage idle --role server
tools/plot_buckets.py {ALL} -o {TMP}/tls12 --suite tls12-rsa-aes256
tools/plot_timing.py {TIMED} --out {TMP}/timing
tools/compare.py {FIRST} {ALL} --format json
tools/compare.py {FIRST} {ALL} --phase all --format csv
tools/compare.py {ALL} --by allocator system jemalloc --stack openssl@3.5.5 --meter rss --format json
tools/compare.py {STACKS} --by compiler gcc clang --role server --force --format json
tools/compare.py {TIMED} --by stack openssl@3.5.5 rustls+aws-lc@0.23.46 --force --format json
tools/compare_versions.py {STACKS} --library openssl --stage idle --format json
tools/compare_versions.py {STACKS} --library rustls+aws-lc --format json
tools/compare_versions.py {STACKS} --library rustls+ring --stage created --format json
tools/explain_buckets.py {ALL} --suite tls12-rsa-aes256
tools/explain_buckets.py {STACKS} --suite tls13-rsa-aes256 --stack openssl@3.5.5 --stack rustls+ring@0.23.46
tools/gate.py docs/BUDGET.toml --list
tools/gate.py docs/BUDGET.toml --recording {STACKS} --junit {TMP}/junit.xml --summary {TMP}/summary.md
tools/prove.py {FIRST}
tools/plan.py memory --connections 100000 --rate 200 --stalled-rate 10 --timeout 10s --role both --format json
tools/plan.py storm --clients 20000 --arrivals poisson --limit 500 --timeout 5s --format json -o {TMP}/limited
tools/query.py {TMP}/records.md
tools/report.py --format json
tools/report.py --format files -o {TMP}/report
tools/report.py {FIRST} -o {TMP}/first.html
"""
# report.html of the newest recordings shows the same as the files above, and takes a minute and a half: left out.
VIEWS = f"""
--format json
--format csv --callers --sizes --buckets
--format json --phase peak --role server --by blocks --top 20
--format json --phase end --by temporary
--format json --callers --sizes --buckets --filter X509|ASN1|cert --role client
--folded {TMP}/stacks.folded
--speedscope {TMP}/speedscope.json
--flamegraph {TMP}/flames.svg
--flamegraph {TMP}/flames.html
"""

Argv = list[str]


def recordings() -> list[str]:
    return sorted({str(file.parent.relative_to(ROOT)) for file in (ROOT / "data").glob("*/*.jsonl")})


def official() -> Iterator[Argv]:
    """What the pages say they are made by: as it stands, and as JSON where there is that."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for command in OFFICIAL.findall(page.read_text()):
            argv = [re.sub(r"^docs/figures", TMP, part) for part in shlex.split(command)]
            yield argv
            if "plot_" not in argv[0] and not any(name in argv[0] for name in NO_JSON):
                yield [*argv, "--format", "json"]


def of_recording(recording: str) -> Iterator[Argv]:
    tabulate = ["tools/tabulate.py", recording]
    tables = [part for name in TABLES.get(recording, "").split() for part in ("--table", name)]
    for form in ("json", "csv"):
        yield [*tabulate, "--format", form]
        if tables:
            yield [*tabulate, *tables, "--format", form]
    smallest = min((ROOT / recording).glob("*.jsonl"), key=lambda file: (file.stat().st_size, file.name))
    for name in EVERY_TABLE:  # one by one, with the sentence of each that has no rows
        yield ["tools/tabulate.py", str(smallest.relative_to(ROOT)), "--table", name, "--format", "json"]


def of_profiles() -> Iterator[Argv]:
    profiles = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "data").glob("*/profiles/*.zst"))
    inspect = "tools/inspect_heaptrack.py"
    for profile in profiles:
        for view in VIEWS.strip().splitlines():
            yield [inspect, profile, *view.split()]
    for old, new in pairwise(profiles):
        yield [inspect, "--diff", old, new, "--force", "--format", "json", "--callers", "--sizes", "--buckets"]
    if len(profiles) > 1:
        diff = [inspect, "--diff", profiles[0], profiles[-1], "--force"]
        yield [*diff, "--folded", f"{TMP}/diff.folded"]
        yield [*diff, "--flamegraph", f"{TMP}/diff.html"]
    yield [inspect, STACKS, "--stack", "openssl@3.5.5", "--suite", "tls13-rsa-aes256", "--format", "json"]


def commands() -> dict[str, Argv]:
    """By name; what takes longest first."""
    every = [argv for recording in recordings() for argv in of_recording(recording)]
    every += [*official(), *of_profiles(), *(line.split() for line in MORE.strip().splitlines())]
    every.sort(key=lambda argv: ("report" not in argv[0], STACKS not in argv))
    return {name_of(argv): argv for argv in every}


def name_of(argv: Argv) -> str:
    said = " ".join(argv).replace("tools/", "").replace(".py", "").replace("data/", "")
    name = re.sub(r"[^\w.+@-]+", "_", said)
    return name if len(name) < 120 else f"{name[:110]}-{digest(said)[:8]}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# What a command leaves, as values and words.


def taken(argv: Argv) -> tuple[int, Any, str]:
    """Exit code, values and words of a command."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as place:
        given = [part.replace(TMP, place) for part in argv]
        for part in given:
            if part.startswith(place) and (page := ROOT / "docs" / Path(part).name).is_file():
                shutil.copy(page, part)  # it is written anew
        drawn = Path(f"{place}.drawn.json")
        draws = any(word in " ".join(argv) for word in DRAWS)
        through = [str(Path(__file__)), "draw", str(drawn)] if draws else []
        try:
            done = subprocess.run(
                [PYTHON, *through, *given], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
            )
            pictures = json.loads(drawn.read_text()) if drawn.exists() else {}
        except subprocess.TimeoutExpired:
            return -1, None, f"not done after {SECONDS} s"
        finally:
            drawn.unlink(missing_ok=True)
        values, words = split_text(done.stdout.replace(place, TMP), "json" if "json" in argv else "")
        found = {"stdout": values, "pictures": {name: one["values"] for name, one in pictures.items()}}
        said = [words, *(line for name, one in pictures.items() for line in (f"== {name}", *one["words"]))]
        for file in sorted(Path(place).rglob("*")):
            name = str(file.relative_to(place))
            if file.is_file() and file.suffix != ".png" and str(Path(name).with_suffix("")) not in pictures:
                found[name], words = split_text(file.read_text().replace(place, TMP), file.suffix[1:])
                said += [f"== {name}", words]
        stderr = FETCHED.sub("", TIMES.sub("... s", done.stderr.replace(place, TMP)))
    return done.returncode, found, "\n".join([*said, "== stderr", stderr]).replace(str(ROOT), "{ROOT}")


def split_text(text: str, form: str) -> tuple[Any, str]:
    if form == "json" and text.startswith("{"):
        words: list[str] = []
        return without_prose(json.loads(text), words), "\n".join(words)
    if form in ("csv", "folded"):
        return text.splitlines(), ""
    if form == "html":  # data and rows of tables stand in scripts; pictures are prose laid out
        scripts = [one for one in SCRIPT.findall(text) if not one[0].endswith("svg")]
        return {name: body.splitlines() for name, body in scripts}, f"sha256 {digest(text)}"
    return NUMBER.findall(text), text


def without_prose(value: Any, words: list[str]) -> Any:
    """Titles, captions, notes and why there is a hole go to the words."""
    if isinstance(value, list):
        return [without_prose(one, words) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, one in value.items():
        if key in ("title", "caption", "notes", "hole"):
            words += [f"{key}: {line}" for line in (one if isinstance(one, list) else str(one).splitlines())]
            one = None
        kept[key] = without_prose(one, words)
    return kept


# What a picture draws. This runs in a child, around the script.


def draw(drawn: Path, script: str, arguments: Sequence[str]) -> None:
    """Runs the script as it stands; of every figure that it saves what is drawn is kept, once."""
    from matplotlib.figure import Figure

    saved, kept = Figure.savefig, {}

    def savefig(figure: Figure, file: Any, *given: Any, **named: Any) -> None:
        saved(figure, file, *given, **named)
        name = re.sub(r"\.(png|svg)(\.partial)?$", "", str(file))
        if name not in kept:
            kept[name] = contents(figure)

    Figure.savefig = savefig
    place = f"{str(drawn).removesuffix('.drawn.json')}/"
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).parent.resolve())
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        drawn.write_text(json.dumps({name.removeprefix(place): one for name, one in kept.items()}))


def contents(figure: Any) -> dict[str, list]:
    """Data, colours and texts of all artists; of legends no places, which follow from the words."""
    from matplotlib.text import Text

    of_legends = {id(part) for legend in figure.findobj(is_legend) for part in legend.findobj()}
    values, words = [], []
    for artist in figure.findobj():
        if isinstance(artist, Text):
            if artist.get_text().strip():
                words.append(artist.get_text())
                values.append(["text", *NUMBER.findall(artist.get_text()), *place_of(artist)])
        elif (data := data_of(artist)) is not None:
            values.append([type(artist).__name__, *(data[-1:] if id(artist) in of_legends else data)])
    return {"values": rounded(values), "words": words}


def is_legend(artist: Any) -> bool:
    return type(artist).__name__ == "Legend"


def place_of(text: Any) -> list:
    """Of one that stands at data."""
    if hasattr(text, "xy"):
        return [text.xy]
    return [text.get_position()] if text.axes and text.get_transform() == text.axes.transData else []


def data_of(artist: Any) -> list | None:
    """Numbers, and a colour at the end; None of what draws no data."""
    from matplotlib import axes, collections, image, lines, patches, spines

    match artist:
        case axes.Axes():
            return [artist.get_xscale(), artist.get_yscale(), artist.get_xlim(), artist.get_ylim()]
        case lines.Line2D():
            return [artist.get_xydata(), str(artist.get_linestyle()), artist.get_color()]
        case spines.Spine() | patches.FancyArrowPatch() | patches.FancyBboxPatch():
            return None
        case patches.Rectangle():
            return [artist.get_bbox().bounds, artist.get_hatch(), artist.get_facecolor()]
        case patches.Patch():
            return [artist.get_path().vertices, artist.get_hatch(), artist.get_facecolor()]
        case collections.Collection():
            paths = [path.vertices for path in artist.get_paths()]
            return [artist.get_offsets(), paths, artist.get_array(), artist.get_facecolor()]
        case image.AxesImage():
            return [artist.get_array()]
    return None


def rounded(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return f"{value:.12g}" if isinstance(value, float) else value


# Dumps, and what differs between two.


def dump(directory: Path, jobs: int, only: str, like: Path | None) -> None:
    """ValueError and OSError with a sentence."""
    if jobs < 1:
        raise ValueError("--jobs is at least 1")
    wanted = {name: one["argv"] for name, one in manifest(like)["outputs"].items()} if like else commands()
    wanted = {name: argv for name, argv in wanted.items() if re.search(only, name)}
    if not wanted:
        raise ValueError(f"no output has a name that matches {only!r}")
    directory.mkdir(parents=True, exist_ok=True)
    if any(directory.iterdir()):
        raise ValueError(f"{directory} is not empty")
    hashes = {str(file.relative_to(ROOT)): file for file in sorted((ROOT / "data").rglob("*")) if file.is_file()}
    hashes = {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in hashes.items()}
    begun = time.monotonic()

    def kept(name: str) -> dict[str, Any]:
        started = time.monotonic()
        code, values, words = taken(wanted[name])
        text = json.dumps(values, indent=1, ensure_ascii=False)
        (directory / f"{name}.values.json").write_text(text)
        (directory / f"{name}.words.txt").write_text(words)
        took = time.monotonic() - started
        print(f"{took:6.1f} s  exit {code}  {name}", file=sys.stderr)
        return {"argv": wanted[name], "exit": code, "values": digest(text), "words": digest(words), "s": round(took, 1)}

    with ThreadPoolExecutor(jobs) as pool:
        outputs = dict(zip(wanted, pool.map(kept, wanted), strict=True))
    made = {"only": only, "recordings": hashes, "outputs": outputs}
    (directory / "manifest.json").write_text(json.dumps(made, indent=1))
    print(f"oracle: {directory}: {len(outputs)} outputs after {time.monotonic() - begun:.0f} s", file=sys.stderr)


def manifest(directory: Path) -> dict[str, Any]:
    try:
        return json.loads((directory / "manifest.json").read_text())
    except (OSError, ValueError):
        raise ValueError(f"{directory} is no finished dump: it has no manifest.json that can be read") from None


def compare(old: Path, new: Path, limit: int) -> int:
    """ValueError with a sentence."""
    before, after = manifest(old), manifest(new)
    for name in sorted(before["recordings"].items() ^ after["recordings"].items()):
        print(f"recorded data differ: {name[0]}")
    was = {name: one for name, one in before["outputs"].items() if re.search(after["only"], name)}
    now = {name: one for name, one in after["outputs"].items() if re.search(before["only"], name)}
    missing, both = [name for name in was if name not in now], [name for name in was if name in now]
    codes = [name for name in both if was[name]["exit"] != now[name]["exit"]]
    values, words = ([name for name in both if was[name][kind] != now[name][kind]] for kind in ("values", "words"))
    for name in missing:
        print(f"missing: {name}")
    for name in codes:
        print(f"exit {was[name]['exit']} is now {now[name]['exit']}: {name}")
    for kind, file, names in (("values", "values.json", values), ("words", "words.txt", words)):
        for name in names:
            print(f"\n{kind} differ: {name}\n    {shlex.join(now[name]['argv'])}")
            print(*differing(old / f"{name}.{file}", new / f"{name}.{file}", limit), sep="\n")
    counts = f"{len(values)} of {len(was)} outputs differ in values, {len(words)} in words"
    more = f"{len(missing)} are missing, {len(codes)} end otherwise, {len(now) - len(both)} are new"
    print(f"oracle: {counts}; {more}")
    return 3 if missing or codes or values else 0


def differing(old: Path, new: Path, limit: int) -> list[str]:
    """The first lines that differ; a unified diff, without what is equal at the end, as difflib takes long."""
    one, other = old.read_text().splitlines(), new.read_text().splitlines()
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    at = max(0, at - 3)
    lines = list(
        difflib.unified_diff(one[at : at + 400], other[at : at + 400], f"from line {at + 1}", lineterm="", n=2)
    )
    return [f"    {line[:200]}" for line in lines[:limit]]


def parser() -> argparse.ArgumentParser:
    kept = argparse.RawDescriptionHelpFormatter
    made = argparse.ArgumentParser(description=__doc__, epilog=EXAMPLES, formatter_class=kept)
    verbs = made.add_subparsers(dest="verb", required=True, metavar="dump|compare")
    dumps = verbs.add_parser("dump", help="run all commands, and keep what they say")
    dumps.add_argument("directory", type=Path, help="where to; new or empty")
    dumps.add_argument("--jobs", type=int, default=2, help="commands at a time (default: 2)")
    dumps.add_argument("--only", default="", metavar="REGEX", help="outputs whose names match")
    dumps.add_argument("--like", type=Path, metavar="DUMP", help="the commands of this dump")
    compares = verbs.add_parser("compare", help="list what differs between two dumps")
    compares.add_argument("old", type=Path)
    compares.add_argument("new", type=Path)
    compares.add_argument("--lines", type=int, default=24, help="of each diff at most (default: 24)")
    return made


def main() -> None:
    if sys.argv[1:2] == ["draw"]:
        return draw(Path(sys.argv[2]), sys.argv[3], sys.argv[4:])
    given = parser().parse_args()
    try:
        if given.verb == "compare":
            sys.exit(compare(given.old, given.new, given.lines))
        dump(given.directory, given.jobs, given.only, given.like)
    except (ValueError, OSError, re.error) as error:
        print(f"oracle: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
