#!/usr/bin/env python3
"""Every table and picture of the committed recordings, as values and words, so that changed code can be compared.

`dump` runs the commands as anyone would and imports nothing of the project: modules may move. Of each output it keeps
NAME.values.json (figures: rows of tables, numbers, what a picture draws) and NAME.words.txt (prose: titles, notes, why
there is a hole, stderr). A page with a chooser has a second output, NAME.chooser: every row with its figures. `compare`
lists what differs between two dumps. Nothing is written below data/ or docs/.

Where the tree has `tools/tls-memtest`, this is run, else the script that did the same. Outputs have the name of the
command in both, and mentions of scripts in them are renamed, so that a new name alone is no difference.

Exit status of compare: 0 values are equal, 3 values differ or outputs are missing, 2 usage."""

import argparse
import base64
import difflib
import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from oracle_commands import NUMBER, ROOT, TMP, Argv, commands, digest, name_of, once_each
from oracle_names import choose_words, rename_mentions, rename_prose, translate_to_new

PYTHON = ".venv/bin/python"
SECONDS = 3600  # of one command, on a machine that has other work
SCRIPT = re.compile(r"<script [^>]*id=\"([^\"]*)\"[^>]*>(.*?)</script>", re.DOTALL)
PACKED = re.compile(r"eN[\w+/]{40,}=*|c-[!-;=?-~]{40,}")  # zlib in base 64, or in base 85, by how it begins
SIGNS = str.maketrans(",.:", "&<>")  # which stand in a page for those of base 85
TIMES = re.compile(r"\b\d+(\.\d+)? s\b")  # how long it took
ONCE = re.compile(r"^\w+: (fetching|building) .*\n", re.MULTILINE)  # on a machine
DRAWS = re.compile(r"tls-memtest show (?!tables)| -o ")
PROSE = ("title", "caption", "notes", "hole")
EXAMPLES = """examples:
  tools/dev/oracle.py dump /tmp/before
  tools/dev/oracle.py dump /tmp/after --like /tmp/before      the same commands, whatever the docs say by now
  tools/dev/oracle.py dump /tmp/some --quick                  one command of each kind
  tools/dev/oracle.py dump /tmp/some --only '^show_(mem|parts|releases|stacks|timing|versions|slides)'   pictures
  tools/dev/oracle.py dump /tmp/some --only '^show_tables'    tables
  tools/dev/oracle.py dump /tmp/some --only '^(cost|plan)'    answers for every recorded stack
  tools/dev/oracle.py dump /tmp/some --only '^show_report'    reports, and the chooser
  tools/dev/oracle.py dump /tmp/some --only '^heap_read'      views of profiles
  tools/dev/oracle.py dump /tmp/some --only '^(diff|why|gate|data|stacks|build|dev)'    the others
  tools/dev/oracle.py compare /tmp/before /tmp/some           only outputs that both were asked for"""

# What a command leaves, as values and words.


def taken(argv: Argv) -> tuple[int, dict[str, tuple[Any, str]]]:
    """Exit code of a command, and values and words of what it leaves, by what stands behind its name."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as place:
        given = [part.replace(TMP, place) for part in choose_words(argv, ROOT)]
        for part in given:
            page = part.removeprefix(f"{place}/")
            if page != part and (ROOT / page).is_file():  # it is written anew
                Path(part).parent.mkdir(parents=True)
                shutil.copy(ROOT / page, part)
        drawn = Path(f"{place}.drawn.json")
        draws = DRAWS.search(" ".join(argv))
        through = [str(Path(__file__).with_name("oracle_pictures.py")), str(drawn)] if draws else []
        try:
            done = subprocess.run(
                [PYTHON, *through, *given], cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False
            )
            pictures = json.loads(drawn.read_text()) if drawn.exists() else {}
        except subprocess.TimeoutExpired:
            return -1, {"": (None, f"not done after {SECONDS} s")}
        finally:
            drawn.unlink(missing_ok=True)
        form = argv[argv.index("--format") + 1] if "--format" in argv else ""
        values, words = split_text(done.stdout.replace(place, TMP), form)
        found = {"stdout": values, "pictures": {name: one["values"] for name, one in pictures.items()}}
        said = [words, *(line for name, one in pictures.items() for line in (f"== {name}", *one["words"]))]
        for file in sorted(Path(place).rglob("*")):
            name = str(file.relative_to(place))
            if file.is_file() and file.suffix != ".png" and str(Path(name).with_suffix("")) not in pictures:
                found[name], words = split_text(file.read_text().replace(place, TMP), file.suffix[1:])
                said += [f"== {name}", words]
        stderr = ONCE.sub("", TIMES.sub("... s", done.stderr.replace(place, TMP)))
    words = "\n".join([*said, "== stderr", stderr]).replace(str(ROOT), "{ROOT}")
    parts = {"": (found, words)}
    for page in found.values():
        if isinstance(page, dict) and "packed-answer" in page:
            parts[".chooser"] = split_chooser("".join(page.pop("packed-answer")))
    return done.returncode, parts


def split_text(text: str, form: str) -> tuple[Any, str]:
    text = rename_mentions(text)
    if form == "json" and text.startswith("{"):
        words: list[str] = []
        return without_prose(json.loads(text), words), "\n".join(words)
    if form in ("csv", "folded"):
        return text.splitlines(), ""
    if form == "html":  # data and CSV stand in scripts; what is laid out follows from them
        scripts = [one for one in SCRIPT.findall(text) if not one[0].endswith(("svg", "rows"))]
        whole = SCRIPT.sub(lambda script: unpacked(script[2]), text)
        return {name: unpacked(body).splitlines() for name, body in scripts}, f"sha256 {digest(whole)}"
    rows = [line for line in text.splitlines() if line.startswith("|")]  # else it has no table
    return NUMBER.findall("\n".join(rows) or text), text


def unpacked(script: str) -> str:
    """Lines that are short enough to be read, of what a page may hold compressed."""
    text = script.strip()
    if PACKED.fullmatch(text):
        packed = base64.b64decode(text) if text.startswith("eN") else base64.b85decode(text.translate(SIGNS))
        text = with_parts(zlib.decompress(packed).decode())
    return re.sub(r",(?=[\"{\[])", ",\n", rename_mentions(text))


def with_parts(text: str) -> str:
    """JSON with each part where "@N" refers to it (tlsmem/report/packed_json.py); what has no parts as it is."""
    if not text.startswith('{"parts":'):
        return text
    found = json.loads(text)

    def restore(value: Any) -> Any:
        if isinstance(value, list):
            return [restore(one) for one in value]
        if isinstance(value, dict):
            return {key: restore(one) for key, one in value.items()}
        if isinstance(value, str) and value.startswith("@"):
            return value[1:] if value.startswith("@@") else restore(found["parts"][int(value[1:])])
        return value

    return json.dumps(restore(found["value"]), ensure_ascii=False, separators=(",", ":"))


def split_chooser(data: str) -> tuple[list[str], str]:
    """A line for each figure and name of a report's chooser, and one for each sentence."""
    values, words = [], []
    for key, found in json.loads(data).items():
        for row in found if key == "rows" else [found]:
            label = " ".join(str(row[name]) for name in ("stack", "suite", "role", "state")) if key == "rows" else key
            for path, leaf in leaves(row):
                is_prose = isinstance(leaf, str) and " " in leaf
                (words if is_prose else values).append(f"{label}: {path} = {leaf}")
    return values, "\n".join(words)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of JSON that holds no other, with the keys that lead to it; a pair of name and number is one."""
    if isinstance(value, list) and len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], int | float):
        yield f"{path} {value[0]}", value[1]
    elif isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(one, f"{path}.{key}".lstrip("."))
    else:
        yield path, value


def without_prose(value: Any, words: list[str]) -> Any:
    """Titles, captions, notes and why there is a hole go to the words."""
    if isinstance(value, list):
        return [without_prose(one, words) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {}
    for key, one in value.items():
        if key in PROSE:
            words += [f"{key}: {line}" for line in (one if isinstance(one, list) else str(one).splitlines())]
            one = None
        kept[key] = without_prose(one, words)
    return kept


# Dumps, and what differs between two.


def dump(directory: Path, jobs: int, only: str, like: Path | None, is_quick: bool) -> None:
    """ValueError and OSError with a sentence."""
    try:
        chosen = re.compile(only)
    except re.error as error:
        raise ValueError(f"--only {only!r} is no regular expression: {error}") from None
    if jobs < 1:
        raise ValueError("--jobs is at least 1")
    every = commands() if like is None else commands_like(like)
    every = once_each(every) if is_quick else every
    wanted = {name: argv for argv in every if chosen.search(name := name_of(argv))}
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
        code, parts = taken(wanted[name])
        took = round(time.monotonic() - started, 1)
        print(f"{took:6.1f} s  exit {code}  {name}", file=sys.stderr)
        outputs = {}
        for part, (values, words) in parts.items():
            text, words = json.dumps(values, indent=1, ensure_ascii=False), rename_prose(words)
            (directory / f"{name}{part}.values.json").write_text(text)
            (directory / f"{name}{part}.words.txt").write_text(words)
            digests = {"values": digest(text), "words": digest(words)}
            outputs[f"{name}{part}"] = {"argv": wanted[name], "exit": code, **digests, "s": took}
        return outputs

    with ThreadPoolExecutor(jobs) as pool:
        outputs = {name: one for made in pool.map(kept, wanted) for name, one in made.items()}
    made = {"only": only, "quick": is_quick, "recordings": hashes, "outputs": outputs}
    (directory / "manifest.json").write_text(json.dumps(made, indent=1))
    print(f"oracle: {directory}: {len(outputs)} outputs after {time.monotonic() - begun:.0f} s", file=sys.stderr)


def commands_like(directory: Path) -> list[Argv]:
    """Of a dump, as the one command takes them. ValueError with a sentence."""
    every = [translate_to_new(one["argv"]) for one in manifest(directory)["outputs"].values()]
    return list({name_of(argv): argv for argv in every}.values())


def manifest(directory: Path) -> dict[str, Any]:
    try:
        return json.loads((directory / "manifest.json").read_text())
    except (OSError, ValueError):
        raise ValueError(f"{directory} is no finished dump: it has no manifest.json that can be read") from None


def compare(old: Path, new: Path, limit: int) -> int:
    """ValueError with a sentence."""
    before, after = manifest(old), manifest(new)
    for name in sorted({name for name, _ in before["recordings"].items() ^ after["recordings"].items()}):
        print(f"recorded data differ: {name}")
    was, now = asked_of_both(before, after), asked_of_both(after, before)
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


def asked_of_both(dumped: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """Outputs of a dump that the other was asked for too. ValueError with a sentence."""
    outputs = {name: one for name, one in dumped["outputs"].items() if re.search(other["only"], name)}
    if any(translate_to_new(one["argv"]) != one["argv"] for one in outputs.values()):
        raise ValueError("outputs are named after scripts: an older oracle made this dump; make it again with this one")
    if not other.get("quick"):
        return outputs
    kinds = once_each(one["argv"] for one in dumped["outputs"].values())
    return {name: one for name, one in outputs.items() if one["argv"] in kinds}


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
    dumps.add_argument("--quick", action="store_true", help="one command of each kind")
    dumps.add_argument("--like", type=Path, metavar="DUMP", help="the commands of this dump")
    compares = verbs.add_parser("compare", help="list what differs between two dumps")
    compares.add_argument("old", type=Path)
    compares.add_argument("new", type=Path)
    compares.add_argument("--lines", type=int, default=24, help="of each diff at most (default: 24)")
    return made


def main() -> None:
    given = parser().parse_args()
    try:
        if given.verb == "compare":
            sys.exit(compare(given.old, given.new, given.lines))
        dump(given.directory, given.jobs, given.only, given.like, given.quick)
    except (ValueError, OSError) as error:
        print(f"oracle: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
