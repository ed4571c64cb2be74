"""What compilers say of drivers in C."""

import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.build import c_stack, commands, shared_resources, sources
from tlsmem.config.definitions import Stack, check_definitions, stacks


def headers(name: str, stack: Stack, root: Path) -> list[str] | None:
    """The flags that find those of its library; None where they are not here."""
    if stack.source:
        folder, tree = (
            root / "build/stacks" / c_stack.library_owner(name, stack),
            sources.source_tree(stack.source, root / "build/sources"),
        )
        built = folder.with_name(f"{folder.name}.stamp").is_file() and tree.is_dir()
        return c_stack.include_flags(stack, folder, tree, root) if built else None
    if stack.prefix:
        return None
    try:
        return (
            shlex.split(commands.read_output(["pkg-config", "--cflags", stack.pkg_config])) if stack.pkg_config else []
        )
    except commands.BuildFailed:
        return None


def complaints(stack: Stack, cflags: list[str], root: Path) -> str:
    """What the compiler says: of whole compilations, as it looks for what is unused at their end."""
    command = [*c_stack.driver_command(stack, cflags, root), "-Werror", "-c", "-o", "/dev/null"]
    files = [root / "harness-c/main.c", *c_stack.driver_files(stack, root)]
    try:
        return "".join(subprocess.run([*command, file], capture_output=True, text=True).stderr for file in files)
    except FileNotFoundError:
        return f"memtest: {stack.compiler} is not installed\n"


def describe_left_out(drivers: set[str]) -> str:
    named = ", ".join(f"{driver}.c" for driver in sorted(drivers))
    way_out = "`tools/tls-memtest build STACK` makes them"
    return f"check: left out, as the headers of its library are not here: {named}; {way_out}"


def run() -> None:
    """Exits with 1 when a compiler says something."""
    check_definitions()
    found = {name: (stack, headers(name, stack, ROOT)) for name, stack in stacks().items() if stack.harness == "c"}
    here = [(stack, cflags) for stack, cflags in found.values() if cflags is not None]
    with ThreadPoolExecutor(shared_resources.jobs_per_build()) as pool:
        said = {*pool.map(lambda one: complaints(*one, ROOT), here)} - {""}
    print(*sorted(said), sep="", end="", file=sys.stderr)
    if without := {stack.driver for stack, _ in found.values()} - {stack.driver for stack, _ in here}:
        print(describe_left_out(without))
    sys.exit(1 if said else 0)
