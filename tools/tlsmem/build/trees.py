"""Stacks that are built from a commit or from a directory: `openssl@git:REF`, `rustls+ring@path:DIR`.

Such a name is resolved to one that records and files can have, `openssl@git-3f2a1b9c04de`, and its tree is copied below
build/trees; nothing is written where it came from.
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
from tlsmem.build import shared_resources, tree_files, tree_stack_table
from tlsmem.build.tree_files import Listing
from tlsmem.config import definitions
from tlsmem.config.definitions import TreeSource, TreeStack

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
    tree_stack_table.check_kind(asked.kind, known)
    first = tree_stack_table.base_library(asked.kind)
    if like:
        tree_stack_table.check_base(like, first, known)
    source = (source_from_commit if asked.how == "git" else source_from_directory)(asked, git, root)
    if not like:
        like = tree_stack_table.choose_definition(asked.kind, source.release, known)
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
    first, sum = tree_stack_table.base_library(asked.kind), tree_files.tree_hash(listing)
    place = definitions.tree_place(root / "build", sum) / definitions.SOURCES_FOLDER / first
    try:
        release = tree_stack_table.find_release(first, make_reader(listing, folder))
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
