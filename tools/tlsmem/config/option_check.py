"""Check what was asked for, before anything is installed or built: `names.py N=10000 STACKS="openssl@3.5.5"`.

Exit 2 and one sentence for a name or a number that cannot be, and for a table of memtest/*.toml with an unknown key or
a value of another type. Needs the standard library only.
"""

import argparse
import difflib
import os
import pickle
import re
import signal
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:
    sys.exit(f"memtest: Python 3.11 or later is needed; python3 is {sys.version.split()[0]}")

from tlsmem.base import repository, stdout
from tlsmem.base.paths import ROOT
from tlsmem.config import releases, toml_keys
from tlsmem.config.inheritance import resolve_tables
from tlsmem.config.options import (
    ALL_OPTIONS,
    CAMPAIGN_KEYS,
    CHOICES,
    COMPARE_DEFAULTS,
    FIXED_DEFAULTS,
    MEMORY_OPTIONS,
    NAME_LISTS,
    NUMBER_LISTS,
    PROFILE_DEFAULTS,
    REPORT_DEFAULTS,
    SINGLE_VALUED,
    TIME_MULTIPLIER,
    TIMED_DEFAULTS,
    TREE_STACK_NAME,
    VERSION_DEFAULTS,
    check_combination,
    check_directory,
    check_multiplier,
    check_number,
    check_numbers,
    check_prefix,
    check_resumed,
)

DEFINITIONS = ROOT / "memtest"
ALL_STACKS = "all"  # stacks


class Unreadable(ValueError):
    """A file of memtest/*.toml that cannot be read, or is not TOML."""


def read_tables(kind: str) -> dict:
    """The tables of memtest/KIND.toml by name, whole; Unreadable naming file and line when it is not TOML."""
    path = DEFINITIONS / f"{kind}.toml"
    try:
        return resolve_tables(pickle.loads(parsed(path.read_text(encoding="utf-8"))))
    except ValueError as error:
        raise Unreadable(f"memtest/{path.name}: {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"memtest/{path.name} cannot be read: {error}") from None


@cache
def parsed(text: str) -> bytes:
    """Its tables, pickled: each caller gets tables of its own. A command asks for the same text some ten times."""
    return pickle.dumps(tomllib.loads(text))


def suggest_nearest(name: str, known) -> str:
    """What may have been meant: "; did you mean A, B or C?", or nothing."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(filter(None, [', '.join(near[:-1]), near[-1]]))}?" if near else ""


def split_names(names: str) -> list[str]:
    """`a b` and `a,b` alike."""
    return [name for name in re.split(r"[\s,]+", names) if name]


def expand_stacks(text: str, prefix: str | None = None) -> list[str]:
    """What STACKS names, each once; ALL are all but, without a prefix, what is linked with a library there."""
    if split_names(text) != [ALL_STACKS]:
        return list(dict.fromkeys(split_names(text)))
    return [name for name, entry in read_tables("stacks").items() if prefix or not entry.get("prefix")]


def check_names(knob: str, value: str) -> None:
    kind = NAME_LISTS[knob]
    known = read_tables(f"{kind}s")
    if knob == "STACKS" and ALL_STACKS in split_names(value):
        if split_names(value) != [ALL_STACKS]:
            raise ValueError(f"STACKS={value}: {ALL_STACKS} is every stack already; leave the others out")
        return
    if not split_names(value):
        raise ValueError(f"{knob} names no {kind}; they are listed in memtest/{kind}s.toml")
    if knob in SINGLE_VALUED and len(split_names(value)) > 1:
        raise ValueError(f"{knob}={value} is more than one; {SINGLE_VALUED[knob]}")
    sought = [*known, ALL_STACKS] if knob == "STACKS" else known
    for name in split_names(value):
        if kind == "stack" and TREE_STACK_NAME.fullmatch(name):
            raise ValueError(f"{knob}: {name} is a build of `make compare` only, as A= or B=; make stacks lists others")
        if name not in known:
            raise ValueError(f"no {kind} {name} among those of memtest/{kind}s.toml{suggest_nearest(name, sought)}")


def check_build(knob: str, value: str) -> None:
    """One side of a comparison; whether its tree is there is found when it is read."""
    known, found = read_tables("stacks"), TREE_STACK_NAME.fullmatch(value)
    if not found:
        if value in known:
            return
        hint = suggest_nearest(value, known) or "; or it is LIBRARY@git:REVISION or LIBRARY@path:DIRECTORY"
        raise ValueError(f"{knob}: no stack {value} among those of memtest/stacks.toml{hint}")
    kind, how, what = found.groups()
    kinds = list(dict.fromkeys(name.partition("@")[0] for name in known))
    if kind not in kinds:
        raise ValueError(
            f"{knob}={value}: no library {kind} among those of memtest/stacks.toml{suggest_nearest(kind, kinds)}"
        )
    if not what.strip():
        raise ValueError(f"{knob}={value}: {'a revision' if how == 'git' else 'a directory'} is missing after {how}:")
    if how == "path":
        check_directory(knob, what)
        if not Path(what).expanduser().exists():
            raise ValueError(f"{knob}={value}: there is no {what}")


def check_library(value: str) -> None:
    known = releases.group_by_library(read_tables("stacks"), least=2)
    if value not in known:
        raise ValueError(f"LIB={value} has no several releases in memtest/stacks.toml{suggest_nearest(value, known)}")


def check_knob(knob: str, value: str, known: Iterable[str] = ALL_OPTIONS) -> None:
    if knob not in known:
        raise ValueError(f"no knob {knob} among those of `make help`{suggest_nearest(knob.upper(), known)}")
    if knob in NAME_LISTS:
        check_names(knob, value)
    elif knob in ("OUT", "PREFIX", "GIT"):
        check_directory(knob, value)
    elif knob in ("A", "B"):
        check_build(knob, value)
    elif knob == "LIB":
        check_library(value)
    elif knob in ("VERSIONS", "RECORDINGS"):
        pass  # by who reads its library, or them
    elif knob in NUMBER_LISTS:
        check_numbers(knob, value)
    elif knob == TIME_MULTIPLIER:
        check_multiplier(value)
    elif knob in CHOICES:
        if value not in CHOICES[knob]:
            *first, last = CHOICES[knob]
            raise ValueError(
                f"{knob}={value} must be {', '.join(first)} or {last}{suggest_nearest(value, CHOICES[knob])}"
            )
    else:
        check_number(knob, value)


def check_campaigns() -> None:
    """What their tables name is there."""
    kinds = {"stacks": "stacks", "peers": "stacks", "allocators": "allocators"}
    kinds |= dict.fromkeys(("suites", "instructions"), "suites")
    known = {kind: read_tables(kind) for kind in kinds.values()}
    for name, campaign in read_tables("campaigns").items():
        for key, kind in kinds.items():
            for one in campaign.get(key, ()):
                if one not in known[kind]:
                    said = f"no {kind[:-1]} {one} among those of memtest/{kind}.toml{suggest_nearest(one, known[kind])}"
                    raise ValueError(f"memtest/campaigns.toml: [{name}]: {key}: {said}")


def check_place() -> None:
    """LD_PRELOAD splits at spaces and colons, and so do makefiles of stacks."""
    if re.search(r"[\s:]", str(ROOT)):
        raise ValueError(
            f"{ROOT}: there is a space or a colon in this path, and preloading takes neither; move the clone"
        )


def check_options(knobs: dict[str, str], known: Iterable[str] = MEMORY_OPTIONS) -> None:
    """ValueError with one sentence at the first knob, none but `known` being any, or definition that cannot be."""
    check_place()
    for kind in ("stacks", "suites", "allocators", "campaigns", "cpus"):
        toml_keys.check_keys(kind, read_tables(kind))
    toml_keys.check_buckets(read_tables("buckets"))
    check_campaigns()
    for knob, value in knobs.items():
        check_knob(knob, value, known)
    known_stacks = read_tables("stacks")
    check_combination(knobs, {name for name, entry in known_stacks.items() if entry.get("tls") is False})
    check_prefix(knobs, named_stacks(knobs), known_stacks)


def named_stacks(knobs: dict[str, str]) -> list[str]:
    """Every stack that these knobs ask for."""
    kinds = (knob for knob in knobs if NAME_LISTS.get(knob) == "stack")
    sides = [knobs[knob] for knob in ("A", "B") if knob in knobs and not TREE_STACK_NAME.fullmatch(knobs[knob])]
    return [*sides, *(name for knob in kinds for name in expand_stacks(knobs[knob], knobs.get("PREFIX")))]


def check_taken(knobs: Iterable[str], taken: list[str]) -> None:
    """ValueError with one sentence at the first knob that this target of make does not have."""
    for knob in knobs:
        if knob in ALL_OPTIONS and knob not in taken:
            near = suggest_nearest(knob, taken) or f"; it takes {', '.join(taken)}"
            raise ValueError(f"{knob} is no knob of this target{near}")


def check_options_or_exit(knobs: dict[str, str], taken: list[str] | None = None) -> None:
    """As check, for commands: exits with 2 and the sentence."""
    try:
        taken = list(MEMORY_OPTIONS) if taken is None else taken
        check_taken(knobs, taken)
        check_options(knobs | from_environment(taken), ALL_OPTIONS)
        resumed = {name for name, entry in read_tables("suites").items() if entry.get("resume") == "on"}
        check_resumed(knobs, resumed, taken)
    except ValueError as error:
        print(f"memtest: {error}", file=sys.stderr)
        sys.exit(2)


def from_environment(taken: list[str]) -> dict[str, str]:
    """As make exports it, which was given it on its command line or in its environment."""
    value = os.environ.get(TIME_MULTIPLIER, "")
    return {TIME_MULTIPLIER: value} if value and TIME_MULTIPLIER in taken else {}


def memory_defaults() -> dict[str, str]:
    """Of `make mem`, as text."""
    mem = {"roles": ["together"], "envs": ["lab"], "cpus": ["all"]} | read_tables("campaigns").get("mem", {})
    campaign = {knob: mem.get(CAMPAIGN_KEYS.get(knob, knob.lower()), "") for knob in MEMORY_OPTIONS}
    text = {
        knob: " ".join(map(str, value)) if isinstance(value, list) else str(value) for knob, value in campaign.items()
    }
    return text | FIXED_DEFAULTS


def show_choices(target: str) -> None:
    targets = {
        "mem": memory_defaults,
        "timed": lambda: TIMED_DEFAULTS,
        "profile": lambda: PROFILE_DEFAULTS,
        "compare": lambda: COMPARE_DEFAULTS,
    }
    targets |= {"versions": lambda: VERSION_DEFAULTS, "report": lambda: REPORT_DEFAULTS}
    shown = targets[target]()
    width = max(12, *(len(knob) + 2 for knob in shown))
    for knob, default in shown.items():
        print(f"  {knob:<{width}}{ALL_OPTIONS[knob]}\n{'':{width + 2}}default: {default}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("knobs", nargs="*", metavar="KNOB=VALUE", help="as given to make")
    parser.add_argument("--takes", type=split_names, metavar="KNOBS", help="refuse others (default: all are taken)")
    targets, shows = (
        ("mem", "timed", "profile", "compare", "versions", "report"),
        "show the knobs of a target (default: mem) with meanings and defaults",
    )
    parser.add_argument("--list", choices=targets, const="mem", nargs="?", help=shows)
    parser.add_argument("--default", choices=PROFILE_DEFAULTS, help="show the default of a knob of profile")
    given = parser.parse_args()
    if given.default:
        print(PROFILE_DEFAULTS[given.default])
        return
    knobs = dict(knob.partition("=")[::2] for knob in given.knobs)
    check_options_or_exit(knobs, given.takes)
    if "OUT" in knobs and "RECORDINGS" not in (given.takes or ()):  # a report records nothing
        repository.check_recording_or_exit(Path(knobs["OUT"]))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a reader that has seen enough is no error
    if given.list:
        with stdout.exit_on_write_error():
            show_choices(given.list)
