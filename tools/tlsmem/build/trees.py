"""Stacks that are built from a commit or from a directory: `openssl@git:REF`, `rustls+ring@path:DIR`.

Such a name is resolved to one that records and files can have, `openssl@git-3f2a1b9c04de`, and its tree is copied below
build/trees; nothing is written where it came from. It is built by the steps of its library's newest stack that is not
above its release.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from tlsmem.base.errors import UserError
from tlsmem.base.nearest import suggest_nearest
from tlsmem.base.paths import ROOT
from tlsmem.build import shared_resources, tree_files
from tlsmem.build.tree_files import Listing
from tlsmem.config import definitions
from tlsmem.config.definitions import Stack, TreeSource, TreeStack
from tlsmem.config.toml_tables import parse_toml

Reader = Callable[[str], str | None]  # the text of a file of the tree, by its path; None where there is none
Sought = tuple[tuple[str, str | None], ...]  # a file, and what finds the release in it (None: it tells none)

CONFIGURE = r"AC_INIT\(\s*\[[^\]]+\],\s*\[([^\],\s]+)\]"
CARGO = "Cargo.toml"
MARKS: dict[str, Sought] = {  # of a library's tree: the first of these files that is there says its release
    "openssl": (("VERSION.dat", None), ("include/openssl/opensslv.h", r'OPENSSL_VERSION_TEXT\s+"OpenSSL ([^\s"]+)')),
    "boringssl": (("ssl/ssl_lib.cc", None), ("src/ssl/ssl_lib.cc", None)),
    "awslc": (("include/openssl/base.h", r'AWSLC_VERSION_NUMBER_STRING "([^"]+)"'),),
    "s2n": (("api/s2n.h", None),),
    "gnutls": (("configure.ac", CONFIGURE),),
    "wolfssl": (("wolfssl/version.h", r'LIBWOLFSSL_VERSION_STRING "([^"]+)"'), ("configure.ac", CONFIGURE)),
    "mbedtls": tuple(
        (f"include/mbedtls/{name}.h", r'MBEDTLS_VERSION_STRING +"([^"]+)"') for name in ("build_info", "version")
    ),
    "bearssl": (("inc/bearssl_ssl.h", None),),
    "rustls": (("rustls/Cargo.toml", CARGO), ("Cargo.toml", CARGO)),
}
DAT = re.compile(r'^(MAJOR|MINOR|PATCH|PRE_RELEASE_TAG)="?([^"\n]*)"?$', re.MULTILINE)
INSTEAD = {
    "openssl": "openssl@path with PREFIX=, in make mem, takes what you have installed",
    "go": "Go's crypto/tls is part of its toolchain: put the version into harness-go/go.mod",
    "libressl": "its steps unpack a release's archive",
}
NAMED = re.compile(r"([a-z0-9]+(?:\+[a-z0-9-]+)*)@(git|path):(.*)", re.DOTALL)
DIGITS = 12


class TreeRequest(NamedTuple):
    kind: str  # library and variants
    how: str  # git or path
    what: str  # a revision, or a directory


def parse_request(text: str) -> TreeRequest | None:
    """None of a stack's plain name; raises ValueError where nothing is named."""
    found = NAMED.fullmatch(text)
    if not found:
        return None
    if not found[3]:
        raise ValueError(
            f"{text}: what follows the colon is missing: {'a commit' if found[2] == 'git' else 'a directory'}"
        )
    return TreeRequest(*found.groups())


def resolve_stack(text: str, git: Path | None, like: str | None = None, root: Path = ROOT) -> str:
    """The name that it has in records, registered among definitions.stacks(); a plain one as it is.

    `git` is the clone that has the commit, `like` the stack whose steps are taken. Budgets and their baselines are no
    part of the tree. Raises ValueError with a sentence."""
    known = definitions.stacks()
    asked = parse_request(text)
    if not asked:
        if text not in known:
            raise ValueError(f"memtest/stacks.toml has no stack {text}{suggest_nearest(text, known)}")
        return text
    check_kind(asked.kind, known)
    first = base_library(asked.kind)
    if like:
        check_base(like, first, known)
    source = (source_from_commit if asked.how == "git" else source_from_directory)(asked, git, root)
    if not like:
        like = choose_definition(asked.kind, source.release, known)
    name = f"{asked.kind}@git-{source.git[:DIGITS]}" if source.git else f"{asked.kind}@path-{source.tree[:DIGITS]}"
    definitions.register_tree(
        name, TreeStack.model_validate(known[like].model_dump(exclude={"source"}) | {"source": source})
    )
    return name


def resolve_named(given: argparse.Namespace) -> None:
    """Put the names of records in the place of the trees among `stacks`, a list, and `stack`, one name or a list.

    Raises UserError with exit status 2 where a tree is not to be found, or cannot be built like that."""
    named = {name: value for name in ("stacks", "stack") if (value := getattr(given, name, None))}
    several = {name: [value] if isinstance(value, str) else value for name, value in named.items()}
    asked = [one for some in several.values() for one in some if parse_request(one)]
    try:
        clone = find_clone(asked, given.git.expanduser() if given.git else None) if asked else None
        names = {word: resolve_stack(word, clone, given.like) for word in asked}
    except ValueError as error:
        raise UserError(str(error), status=2) from None
    for name, value in named.items():
        found = [names.get(one, one) for one in several[name]]
        setattr(given, name, found[0] if isinstance(value, str) else found)


def source_from_commit(asked: TreeRequest, clone: Path | None, root: Path) -> TreeSource:
    text = f"{asked.kind}@git:{asked.what}"
    if not clone:
        raise ValueError(f"{text}: no clone that could have it; name one with GIT=DIRECTORY, or start in the clone")
    if not clone.is_dir():
        raise ValueError(f"GIT={clone} is not a directory")
    if not tree_files.is_repository(clone):
        raise ValueError(f"GIT={clone} is no clone of git's")
    try:
        found = tree_files.git(
            clone, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{asked.what}^{{commit}}"
        )
    except ValueError:
        there = tree_files.git(clone, "for-each-ref", "--format=%(refname:short)").decode(errors="replace").split()
        raise ValueError(f"{text}: no commit {asked.what} in {clone}{suggest_nearest(asked.what, there)}") from None
    commit = found.decode().strip()
    return copy_source(asked, tree_files.list_commit(clone, commit), None, root, commit)


def source_from_directory(asked: TreeRequest, _: Path | None, root: Path) -> TreeSource:
    folder = Path(asked.what).expanduser()
    if not folder.is_dir():
        raise ValueError(
            f"{asked.kind}@path:{asked.what}: {'not a directory' if folder.exists() else 'no such directory'}"
        )
    return copy_source(asked, tree_files.list_directory(folder), folder, root, None)


def copy_source(
    asked: TreeRequest, listing: Listing, folder: Path | None, root: Path, commit: str | None
) -> TreeSource:
    """The tree, copied unless it is there already."""
    listing = tree_files.leave_out_budgets(listing, folder)
    first, sum = base_library(asked.kind), tree_files.tree_hash(listing)
    place = definitions.tree_place(root / "build", sum) / definitions.SOURCES_FOLDER / first
    try:
        release = find_release(first, make_reader(listing, folder))
    except ValueError as error:
        raise ValueError(f"{asked.kind}@{asked.how}:{asked.what} is {error}") from None
    with shared_resources.alone(
        root / "build/locks" / f"tree-{sum[:DIGITS]}", f"{asked.kind}@{asked.how}:{asked.what}"
    ):
        if not place.is_dir():
            tree_files.copy_tree(listing, folder, place)
    lacking = tuple(tree_files.submodules(listing))
    return TreeSource(library=first, tree=sum, git=commit, release=release, lacking=lacking)


def make_reader(listing: Listing, folder: Path | None) -> Callable[[str], str | None]:
    """Return what reads single files, before the whole is copied."""

    def read(path: str) -> str | None:
        if path not in listing:
            return None
        one = {path: listing[path]}
        return next(content for _, content in tree_files.read_contents(one, folder)).decode(errors="replace")

    return read


def find_clone(texts: Iterable[str], given: Path | None) -> Path | None:
    """Where commits are looked for: GIT=, else the work tree that a directory beside them is in, else this one."""
    if given:
        return given
    for asked in filter(None, map(parse_request, texts)):
        folder = Path(asked.what).expanduser()
        if asked.how == "path" and folder.is_dir() and (top := tree_files.work_tree(folder)):
            return top
    here = tree_files.work_tree(Path.cwd())
    return None if not here or os.path.samefile(here, ROOT) else here


def base_library(name: str) -> str:
    """`rustls` of `rustls+ring@0.23.46`."""
    return re.split(r"[+@]", name)[0]


def buildable(name: str, stack: Stack) -> bool:
    """Whether another tree can stand in for its source."""
    return (
        base_library(name) in MARKS
        and not stack.is_shipped
        and (bool(stack.steps) or (stack.harness == "rust" and stack.tls))
    )


def kinds(known: dict[str, Stack]) -> list[str]:
    """What may stand before the @, each once."""
    return list(dict.fromkeys(name.partition("@")[0] for name, stack in known.items() if buildable(name, stack)))


def check_kind(kind: str, known: dict[str, Stack]) -> None:
    """ValueError with what can be done instead."""
    if kind in kinds(known):
        return
    first = base_library(kind)
    if first in INSTEAD and not any(base_library(one) == first for one in kinds(known)):
        raise ValueError(f"{kind}: no tree of it can be built here: {INSTEAD[first]}")
    raise ValueError(
        f"{kind}: no tree of it can be built here; there are: "
        f"{', '.join(kinds(known))}{suggest_nearest(kind, kinds(known))}"
    )


def find_release(first: str, read: Reader) -> str | None:
    """What the tree calls itself; raises ValueError when it is no tree of this library."""
    for file, pattern in MARKS[first]:
        text = read(file)
        if text is None:
            continue
        if file == "VERSION.dat":
            return release_from_dat(text)
        if pattern == CARGO:
            if not (package := release_from_cargo(text, first)):
                continue
            return package
        found = re.search(pattern, text) if pattern else None
        if found or not pattern:
            return found[1] if found else None
    sought = " or ".join(file for file, _ in MARKS[first])
    raise ValueError(f"no tree of {first}: it has no {sought} that says so")


def release_from_dat(text: str) -> str | None:
    """OpenSSL's, from 3.0 on: 3.6.0-dev."""
    told = dict(DAT.findall(text))
    if not {"MAJOR", "MINOR", "PATCH"} <= told.keys():
        return None
    tag = told.get("PRE_RELEASE_TAG")
    return ".".join(told[one] for one in ("MAJOR", "MINOR", "PATCH")) + (f"-{tag}" if tag else "")


def release_from_cargo(text: str, crate: str) -> str | None:
    """None when it is the manifest of another crate."""
    try:
        package = parse_toml(text.encode()).get("package", {})
    except ValueError:
        return None
    version = package.get("version") if package.get("name") == crate else None
    return version if isinstance(version, str) else None


def order(version: str) -> tuple[tuple[int, ...], bool, str, tuple[int, ...]]:
    """1.1.1 < 1.1.1w, 3.6.0-dev < 3.6.0; what follows a + is none of it."""
    plain, _, tag = version.partition("+")[0].partition("-")
    letters = plain.lstrip("0123456789.")
    numbers = plain.removesuffix(letters)
    parts = tuple(int(one) if one.isdigit() else 0 for one in re.split(r"[.-]", tag))
    return tuple(map(int, filter(None, numbers.split(".")))), not tag, letters, parts


def choose_definition(kind: str, found: str | None, known: dict[str, Stack]) -> str:
    """The stack of this kind (`openssl+clang`) whose steps fit this release; raises ValueError where all are newer."""
    ours = [name for name in known if name.partition("@")[0] == kind and buildable(name, known[name])]
    below = [name for name in ours if not found or order(name.partition("@")[2]) <= order(found)]
    if below:
        return newest(below)
    oldest = min(ours, key=lambda name: order(name.partition("@")[2]))
    raise ValueError(
        f"{kind}: release {found} is older than all that there are steps for; LIKE={oldest} tries the oldest one's"
    )


def newest(names: Iterable[str]) -> str:
    return max(names, key=lambda name: order(name.partition("@")[2]))


def check_base(like: str, first: str, known: dict[str, Stack]) -> None:
    """Raises ValueError when a tree of this library cannot be built as that stack is."""
    fitting = [name for name in known if base_library(name) == first and buildable(name, known[name])]
    if like not in fitting:
        raise ValueError(
            f"LIKE={like} is no stack that a tree of {first} can be built like; "
            f"there are: {', '.join(fitting)}{suggest_nearest(like, fitting)}"
        )
