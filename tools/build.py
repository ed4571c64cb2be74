#!/usr/bin/env python3
"""Build the harnesses of stacks: build/harness/STACK with its manifest STACK.json. What has not changed is kept."""

# ruff: noqa: E402

import environment

environment.activate()

import argparse
import fcntl
import importlib
import json
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from rich.console import Console
from rich.table import Column, Table

import definitions
import flags
import names
import packages
import stack_c
import stamps
import stdout
from commands import CONSOLE, Failed
from definitions import ROOT, Stack, campaigns, stacks
from sources import sha256

PIPE_WIDTH = 1000  # columns: no line of a list is so long


def whole(stack: Stack) -> ModuleType:
    """The room that builds such a harness in one piece, library and all."""
    return importlib.import_module(f"stack_{stack.harness}")


def compiled(stack: Stack) -> dict[str, str]:
    """By what and how: the part that a manifest repeats."""
    if stack.harness != "c":
        return whole(stack).compiled()
    return {"compiler": flags.version(stack.compiler), "flags": flags.CFLAGS if stack.source else flags.DRIVER_CFLAGS}


def manifest(name: str, stack: Stack, binary: Path) -> dict:
    told = {"crate", "debian", "suite", "version", "sha256"}
    source = stack.source and stack.source.model_dump(include=told, exclude_none=True)
    made = {"stack": name, "binary_sha256": sha256(binary), "source": source}
    return made | compiled(stack) | {"licence": stack.licence}


def build(name: str, stack: Stack, root: Path = ROOT) -> bool:
    """True when there was something to do. Failed or ValueError say what went wrong."""
    log, folder = root / "build/logs" / f"{name}.log", root / "build/harness"
    binary, said, stamp = (folder / f"{name}{suffix}" for suffix in ("", ".json", ".stamp"))
    log.unlink(missing_ok=True)
    built = stack_c.library(name, stack, root, log) if stack.harness == "c" else None
    made_of = made_from(stack, built, root)
    if stamps.holds(stamp, made_of) and binary.is_file() and said.is_file():
        return False
    folder.mkdir(parents=True, exist_ok=True)
    for old in (stamp, said):  # from here on until the end, there is no harness
        old.unlink(missing_ok=True)
    partial = folder / f"{name}.partial"
    if built:
        stack_c.link(name, stack, built, partial, root, log)
    else:
        whole(stack).build(name, stack, partial, root, log)
    partial.replace(binary)
    said.write_text(json.dumps(manifest(name, stack, binary), indent=1) + "\n")
    stamps.write(stamp, made_of)
    return True


def made_from(stack: Stack, built: stack_c.Built | None, root: Path) -> dict:
    core = [root / "build/core/libmemtest.a", *(root / "memtest").glob("*.h")]
    if built:
        families = (root / "harness-c/families").glob("*.h") if stack.family else ()
        ours = [root / "harness-c/main.c", *stack_c.drivers(stack, root), *families]
        made = {"library": built.identity, "driver": flags.DRIVER_CFLAGS}
    else:
        ours, made = [], {"sources": whole(stack).inputs(stack, root)}
    return made | compiled(stack) | {"table": stack.model_dump(), "files": stamps.contents([*core, *ours], root)}


@contextmanager
def alone(root: Path, name: str):
    """One build of a stack at a time in a clone."""
    (root / "build/locks").mkdir(parents=True, exist_ok=True)
    with open(root / "build/locks" / name, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            CONSOLE.print(f"{name}: waiting for another build of it in this clone to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def show_all(known: dict[str, Stack]) -> None:
    """Names are whole, however narrow the terminal; a pipe has no width."""
    table = Table(Column("stack", no_wrap=True, overflow="ignore"), "harness", "built", "licence", box=None)
    for name, stack in known.items():
        built = (ROOT / "build/harness" / f"{name}.stamp").is_file()
        table.add_row(name, stack.harness, "yes" if built else "no", stack.licence)
    Console(highlight=False, width=None if stdout.is_terminal() else PIPE_WIDTH).print(table)


def arguments(known: dict[str, Stack]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stacks", nargs="*", metavar="STACK", help="as in memtest/stacks.toml; all when none is named")
    parser.add_argument("--campaign", help="the stacks of this table of memtest/campaigns.toml")
    parser.add_argument("--list", action="store_true", help="show every stack, whether it is built, and its licence")
    given = parser.parse_args()
    known_campaigns = campaigns()
    if given.campaign and given.campaign not in known_campaigns:
        parser.error(
            f"no campaign {given.campaign} in memtest/campaigns.toml{names.nearest(given.campaign, known_campaigns)}"
        )
    given.stacks = names.listed(" ".join(given.stacks))
    asked = known_campaigns.get(given.campaign)
    given.stacks = list(dict.fromkeys([*given.stacks, *(asked.stacks + asked.peers if asked else ())]))
    for name in given.stacks:
        if name not in known:
            parser.error(f"no stack {name} among those of memtest/stacks.toml{names.nearest(name, known)}")
    return given


def run(chosen: list[str], known: dict[str, Stack]) -> None:
    if not (ROOT / "build/core/libmemtest.a").is_file():
        raise Failed("build/core/libmemtest.a is not there: run `make core` first")
    packages.require_cargo_for(chosen)
    for name in chosen:
        with alone(ROOT, name):
            if not build(name, known[name]):
                CONSOLE.print(f"{name}: up to date")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what a build has started ends with it
    definitions.check()
    known = stacks()
    given = arguments(known)
    try:
        show_all(known) if given.list else run(given.stacks or list(known), known)
    except (Failed, ValueError) as error:
        print(f"memtest: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        sys.exit(f"memtest: {error.filename or 'build'}: {os.strerror(error.errno)}")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
