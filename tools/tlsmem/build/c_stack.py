"""The harness of a stack with a C interface: its library by the stack's own steps, then one driver linked to it.

Where ccache is installed, what was compiled before is not compiled again: most of a patched tree is as it was."""

import hashlib
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from tlsmem.build import cache, commands, compiler_flags, jobserver, shared_resources, sources, stamps, system_packages
from tlsmem.config.definitions import Stack, TreeSource, stacks, tree_place

LINKS = Path("/usr/lib/ccache")  # commands of the compilers' names, as Debian has them
HEADERS = {".h", ".hpp", ".inc", ".in", ".def"}
# The compiler takes this for the name of the directory it runs in, so that no object names the clone. No flag could
# say so: OpenSSL writes its flags, with the path in them, into the library.
HERE = {"PWD": "/proc/self/cwd"}
WRAPPED_FLAGS = "memtest/wrapped.flags"  # the core counts allocations that fail: memtest/allocations.c
CPP = ".cpp"
FOLLOW_PWD = ("cmake", "configure")  # they go to where PWD says from elsewhere, and take {maps}


@dataclass(frozen=True)
class BuiltLibrary:
    """What a harness is linked with, and what says that it has changed."""

    cflags: list[str]
    libraries: list[str]
    identity: dict[str, object]
    made: bool = False  # by its steps, just now


def split_step(text: str, **filled: str) -> list[str]:
    """One command of a stack's steps, as arguments: no shell, so a path may hold anything.

    A command that shares the jobserver's tokens is not told how many jobs to run."""
    program, *parts = shlex.split(text)
    if program == "ninja":
        program = jobserver.ninja()
    if jobserver.takes_part(program):
        parts = [part for part in parts if part != jobserver.JOBS_WORD]
    return [
        word
        for part in (program, *parts)
        for word in (shlex.split(filled["cflags"]) if part == "{cflags}" else [part.format(**filled)])
    ]


def files_to_compile(command: list[str], where: Path) -> int | None:
    """As make says itself when it only pretends; None for another command."""
    if command[0] != "make":
        return None
    try:
        return commands.read_output([*command, "-n"], where).count(commands.COMPILE_OPTION.decode())
    except commands.BuildFailed:
        return None


def compilers(stack: Stack) -> dict[str, str]:
    """As builds of all kinds read them from the environment."""
    return {"CC": stack.compiler, "CXX": compiler_flags.CXX[stack.compiler]}


def used(stack: Stack, root: Path, log: Path) -> BuiltLibrary | None:
    """The library that this one stands on, made if need be."""
    return from_source(stack.uses, stacks()[stack.uses], root, log) if stack.uses else None


def library_owner(name: str, stack: Stack) -> str:
    """The first table of the same library: what differs in its driver alone builds none of its own."""
    return next((one for one, other in stacks().items() if library_inputs(other) == library_inputs(stack)), name)


def library_inputs(stack: Stack) -> list[object]:
    keys = ("steps", "compiler", "uses", "libraries", "also")
    return [stack.source and sources.identity(stack.source), *(getattr(stack, key) for key in keys)]


def build_folder(name: str, stack: Stack, root: Path) -> Path:
    """Where it is built. Below its tree the name is the same for all trees: what is compiled names no other place then,
    and a compiler's cache knows it again."""
    if isinstance(stack.source, TreeSource):
        return tree_place(root / "build", stack.source.tree) / name.partition("@")[0]
    return root / "build/stacks" / name


def from_source(name: str, stack: Stack, root: Path, log: Path) -> BuiltLibrary:
    """Static libraries in build/stacks/NAME, made once per source, steps, flags and compiler."""
    name = library_owner(name, stack)
    with shared_resources.alone(root / "build/locks" / f"{name}.library", name):
        return from_source_alone(name, stack, root, log)


def from_source_alone(name: str, stack: Stack, root: Path, log: Path) -> BuiltLibrary:
    folder = build_folder(name, stack, root)
    stamp = folder.with_name(f"{folder.name}.stamp")
    system_packages.require_packages([stack.compiler])
    below = used(stack, root, log)
    how: dict[str, object] = {
        "steps": stack.steps,
        "flags": compiler_flags.cflags(stack.compiler),
        "compiler": compiler_flags.compiler_version(stack.compiler),
    }
    how |= {"environment": commands.FIXED_VARIABLES | HERE | compilers(stack), "uses": below and below.identity}
    made_of = {"source": sources.identity(stack.built_from)} | how
    made_of |= {"also": {key: sources.identity(one) for key, one in stack.also.items()}} if stack.also else {}
    tree = sources.provide_tree(name, stack.built_from, root / "build/sources", log)
    for one in stack.also.values():
        sources.provide_tree(name, one, root / "build/sources", log)
    archives = [folder / library for library in stack.libraries]
    key, made = cache.entry_key(folder.name, made_of), False
    if not (stamps.is_current(stamp, made_of) and all(archive.is_file() for archive in archives)):
        stamp.unlink(missing_ok=True)
        if not cache.restore("library", key, folder, name):
            make(name, stack, folder, root, log)
            made = True
        stamps.write_stamp(stamp, made_of)
    cache.store("library", key, folder, cache.library_files(folder))
    link = [word.format(uses=uses(stack, root)) for word in stack.link]
    identity = made_of | stamps.hash_files(archives, root)
    return BuiltLibrary(include_flags(stack, folder, tree, root), [*map(str, archives), *link], identity, made)


def include_flags(stack: Stack, folder: Path, tree: Path, root: Path) -> list[str]:
    """What is generated comes before what it is generated from."""
    paths = [path.format(uses=uses(stack, root)) for path in stack.include]
    return list(dict.fromkeys(f"-I{above / path}" for path in paths for above in (folder, tree)))


def uses(stack: Stack, root: Path) -> Path | None:
    return root / "build/stacks" / stack.uses if stack.uses else None


def make(name: str, stack: Stack, folder: Path, root: Path, log: Path) -> None:
    system_packages.require_packages(stack.needs)
    at, of_tree = root / "build/sources", isinstance(stack.source, TreeSource)
    tree = sources.source_tree(stack.built_from, at)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    filled = {
        "source": os.path.relpath(tree, folder),  # __FILE__ is made of it
        "build": str(folder),
        "cflags": compiler_flags.cflags(stack.compiler),
        "maps": " ".join(maps(stack, root)),
        "cc": stack.compiler,
        "cxx": compiler_flags.CXX[stack.compiler],
        "uses": str(uses(stack, root)),
        "jobs": str(shared_resources.jobs_per_build()),
    }
    filled |= {key: os.path.relpath(sources.source_tree(one, at), folder) for key, one in stack.also.items()}
    for number, text in enumerate(stack.steps, 1):
        command = split_step(text, **filled)
        title = f"{name}: step {number} of {len(stack.steps)}, {' '.join(Path(word).name for word in command[:2])}"
        here = {} if Path(command[0]).name in FOLLOW_PWD else HERE
        variables = here | compilers(stack) | (ccache_variables(root, tree) if of_tree else {})
        commands.run(command, log, title, folder, files_to_compile(command, folder), variables)
    if of_tree:  # there may be many of them
        drop_objects(folder)


def maps(stack: Stack, root: Path) -> list[str]:
    """No path of the clone; of a tree none that would not be in another too. The last that matches counts."""
    ours = [f"-ffile-prefix-map={root}=."]
    if isinstance(stack.source, TreeSource):
        ours.append(f"-ffile-prefix-map={tree_place(root / 'build', stack.source.tree)}=..")
    return ours


def from_system(pkg_config: str, package: str) -> BuiltLibrary:
    """The shared libraries that pkg-config names."""
    system_packages.require_packages(["pkg-config", package])
    ask = ["pkg-config", pkg_config]
    cflags = shlex.split(commands.read_output([*ask, "--cflags"]))
    libraries = shlex.split(commands.read_output([*ask, "--libs"]))
    folder = Path(commands.read_output([*ask, "--variable=libdir"]))
    found = [folder / f"lib{library[2:]}.so" for library in libraries if library.startswith("-l")]
    sums = {str(path): stamps.sha256(path) for path in found if path.is_file()}
    # The harness's own bytes would not tell that the system's library was upgraded; its build id then does.
    build_id = hashlib.sha256("".join(sums.values()).encode()).hexdigest()[:40]
    return BuiltLibrary(cflags, [*libraries, f"-Wl,--build-id=0x{build_id}"], {**sums})


def provide_library(name: str, stack: Stack, root: Path, log: Path) -> BuiltLibrary:
    if stack.source:
        return from_source(name, stack, root, log)
    if stack.pkg_config and stack.package:
        return from_system(stack.pkg_config, stack.package)
    return BuiltLibrary([], [], {})


def driver_files(stack: Stack, root: Path) -> list[Path]:
    """Its own file, and those of its family."""
    return [driver_file(stack, root), *(root / f"harness-c/families/{name}.c" for name in stack.family)]


def driver_file(stack: Stack, root: Path) -> Path:
    """In C, or in C++ where the library has no interface in C."""
    file = root / f"harness-c/drivers/{stack.driver}.c"
    return file if file.exists() else file.with_suffix(CPP)


def source_said(stack: Stack) -> list[str]:
    """For a library that does not know its own release: a driver may say SOURCE, which is `boring-sys 5.4.0`."""
    if isinstance(stack.source, TreeSource):
        return [f'-DSOURCE="{stack.source.library} tree {stack.source.tree[:12]}"']
    return [f'-DSOURCE="{stack.source.registry_name} {stack.source.version}"'] if stack.source else []


def driver_command(stack: Stack, cflags: list[str], root: Path) -> list[str]:
    """The compiler of a driver with all but files."""
    return [
        *(stack.compiler, *shlex.split(compiler_flags.driver_cflags(stack.compiler)), *maps(stack, root)),
        *source_said(stack),
        *(f"-D{macro}" for macro in stack.defines),
        *(f"-I{root / folder}" for folder in ("memtest", "harness-c/families")),
        *cflags,
    ]


def harness_files(stack: Stack, root: Path) -> list[str]:
    """What a harness is made of, but for its library."""
    sources = [root / "harness-c/main.c", *driver_files(stack, root)]
    return [*map(str, sources), str(root / "build/core/libmemtest.a")]


def compile_cpp(name: str, stack: Stack, built: BuiltLibrary, file: Path, place: Path, root: Path, log: Path) -> Path:
    """The object of a driver in C++, in `place`."""
    compiler, _, *flags = driver_command(stack, built.cflags, root)  # without the C standard
    made = place / f"{file.stem}.o"
    command = [compiler_flags.CXX[compiler], compiler_flags.CPP_STANDARD, *flags, "-c", str(file), "-o", str(made)]
    commands.run(command, log, f"{name}: driver in C++", root)
    return made


def link(name: str, stack: Stack, built: BuiltLibrary, binary: Path, root: Path, log: Path) -> None:
    files = harness_files(stack, root)
    if (driver := driver_file(stack, root)).suffix == CPP:
        made = compile_cpp(name, stack, built, driver, binary.parent, root, log)
        files = [str(made) if file == str(driver) else file for file in files]
    command = [
        *driver_command(stack, built.cflags, root),
        *(*files, f"@{root / WRAPPED_FLAGS}"),
        *(*built.libraries, "-ldl", "-lpthread", "-o", str(binary)),
    ]
    commands.run(command, log, f"{name}: driver", root)


def ccache_variables(root: Path, tree: Path) -> dict[str, str]:
    """Of a build's environment; none without ccache.

    A result is known by what was read for it, which cannot tell of a header that is new and would be found first:
    so the headers' names are a part of it too. No settings of the user's count."""
    if not shutil.which("ccache") or not LINKS.is_dir():
        return {}
    place = (cache.directory() or root / "build") / "ccache"
    return {
        "PATH": f"{LINKS}:{os.environ.get('PATH', os.defpath)}",
        "CCACHE_DIR": str(place),
        "CCACHE_CONFIGPATH": os.devnull,
        "CCACHE_SLOPPINESS": "",
        "CCACHE_MAXSIZE": "2G",
        "CCACHE_EXTRAFILES": str(headers(tree)),
    }


def headers(tree: Path) -> Path:
    """The file that lists them, beside the tree's copy."""
    listed = tree.with_name(f"{tree.name}.headers")
    found = sorted(str(file.relative_to(tree)) for file in tree.rglob("*") if file.suffix in HEADERS)
    listed.write_text("".join(f"{name}\n" for name in found))
    return listed


def drop_objects(folder: Path) -> None:
    """Of a library that is made: its archives and headers stay."""
    for file in folder.rglob("*"):
        if file.suffix in (".o", ".d") and file.is_file():
            file.unlink()
