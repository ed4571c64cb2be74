"""A real server, built from its pinned source on the library of a stack: [SERVER.build] of memtest/servers.toml.

The steps run in build/servers/SERVER/STACK, on a copy of the source. The stack's library stands in library/ there, and
all paths of it are relative, so that the program is the same in every clone."""

import os
import re
import shlex
import shutil
from pathlib import Path

from tlsmem.build import c_stack, cache, commands, compiler_flags, shared_resources, sources, stamps
from tlsmem.build.c_stack import BuiltLibrary
from tlsmem.build.commands import BuildFailed
from tlsmem.config.definitions import Stack, stacks
from tlsmem.config.libraries import libraries
from tlsmem.config.releases import version
from tlsmem.config.servers import Server, ServerBuild, library_name

LIBRARY = "library"  # of the build directory: include/ and lib/
TABLES = "memtest/servers.toml"
WAY_OUT = f"another version is pinned by its SHA-256 in {TABLES}"
HEADERS = {".h", ".inc", ".def"}


def provide_server(name: str, server: Server, stack: str, root: Path) -> Path:
    """Return the program of a server of servers.toml on a stack's library; both are built where they are not there.

    Raises ValueError with a sentence where it cannot be built on it, and BuildFailed where a step fails."""
    table, how = stacks()[stack], server.build
    if how is None:
        raise ValueError("is not built from source")
    options = how.options(stack, table)
    title, log = f"{name} on {stack}", root / "build/logs" / f"{name}-{stack}.log"
    folder = root / "build/servers" / f"{name}-{how.source.version}" / stack
    log.parent.mkdir(parents=True, exist_ok=True)
    with shared_resources.alone(root / "build/locks" / f"{name}-{stack}", title):
        built = c_stack.provide_library(stack, table, root, log)
        made_of: dict[str, object] = {
            "source": sources.identity(how.source),
            "steps": how.steps,
            "options": options,
            "flags": compiler_flags.cflags(table.compiler),
            "compiler": compiler_flags.compiler_version(table.compiler),
            "library": built.identity,
            "link": built.libraries[len(table.libraries) :],
        }
        program, stamp = folder / how.program, folder.with_name(f"{stack}.stamp")
        if stamps.is_current(stamp, made_of) and program.is_file():
            return program
        stamp.unlink(missing_ok=True)
        key = cache.entry_key(f"{name}-{stack}", made_of)
        if not cache.restore("server", key, folder, title):
            tree = sources.provide_tree(
                name, how.source, root / "build/sources", log, f"{TABLES}, [{name}.build]", WAY_OUT
            )
            make_program(title, how, options, table, built, tree, folder, log)
        stamps.write_stamp(stamp, made_of)
        cache.store("server", key, folder, [program])
    return program


def make_program(
    title: str,
    how: ServerBuild,
    options: str,
    table: Stack,
    built: BuiltLibrary,
    tree: Path,
    folder: Path,
    log: Path,
) -> None:
    """Run the steps in `folder`, new. Raises BuildFailed with the last lines of the log."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    lay_out_library(built, table, folder / LIBRARY)
    filled = {
        "source": os.path.relpath(tree, folder),
        "cflags": compiler_flags.cflags(table.compiler),
        "jobs": str(shared_resources.jobs_per_build()),
        "options": options,
    }
    for number, text in enumerate(how.steps, 1):
        command = c_stack.split_step(text, **filled)
        step = f"{title}: step {number} of {len(how.steps)}, {' '.join(Path(word).name for word in command[:2])}"
        variables = {} if Path(command[0]).name in c_stack.FOLLOW_PWD else c_stack.HERE
        total = c_stack.files_to_compile(command, folder)
        commands.run(command, log, step, folder, total, variables | c_stack.compilers(table))
    if not (folder / how.program).is_file():
        raise BuildFailed(f"{title}: its steps make no {how.program}; see {log}")


def lay_out_library(built: BuiltLibrary, table: Stack, place: Path) -> None:
    """Put the library's headers into include/ and its archives into lib/, as if it were installed.

    Each libX.a is a linker script, which names the archive and what it needs of the system: a server puts -lX where it
    wants, and knows nothing of a library in C++."""
    include, lib = place / "include", place / "lib"
    for flag in reversed(built.cflags):  # what is generated comes first in them, so it is copied last
        folder = Path(flag.removeprefix("-I"))
        if folder.is_dir():
            shutil.copytree(folder, include, ignore=ignore_others, dirs_exist_ok=True)
    lib.mkdir(parents=True)
    archives, needed = built.libraries[: len(table.libraries)], built.libraries[len(table.libraries) :]
    for archive in map(Path, archives):
        kept = f"{archive.stem}_archive.a"
        shutil.copy2(archive, lib / kept)
        words = shlex.join([f"-l{kept.removeprefix('lib').removesuffix('.a')}", *needed])
        (lib / archive.name).write_text(f"INPUT({words})\n")


def ignore_others(folder: str, names: list[str]) -> list[str]:
    """Return the names that are neither headers nor directories which may have some."""
    here = Path(folder)
    return [
        name
        for name in names
        if not ((here / name).is_dir() and name != ".git" and name != "CMakeFiles") and Path(name).suffix not in HEADERS
    ]


def ask_library(server: Server, stack: str, program: Path) -> str:
    """Return the library that the program says it runs on. Raises BuildFailed where that is not the stack's."""
    how = server.build
    assert how  # of a server that was built
    said = commands.read_both_outputs([str(program), how.asked])
    found = how.find_library(said)
    if found is None:
        raise BuildFailed(f"{program} {how.asked}: does not say what library it runs on")
    if not is_library(found, stack):
        raise BuildFailed(f"{program} {how.asked}: it runs on {found}, and was built on {stack}")
    return found


def is_library(said: str, stack: str) -> bool:
    """Return whether a server's words name the stack's library, in its version where they have one."""
    known = libraries()[library_name(stack)].name
    found = re.search(rf"{re.escape(known)}(?:\s+(?:FIPS\s+)?v?(\d[\w.]*))?", said)
    is_release = version(stack)[:1].isdigit()
    return found is not None and (not found[1] or not is_release or version(stack).startswith(found[1]))
