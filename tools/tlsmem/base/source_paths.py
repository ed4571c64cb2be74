"""Paths of source files, as debug information has them."""

import posixpath
import re

PACKED = re.compile(  # where packages lie
    r"^(.*/)?(cargo/registry/src/[^/]+|(?:\.\.|build/trees/[0-9a-f]+)/sources|rustc/[0-9a-f]{40})/"
)


def shorten_path(file: str) -> str:
    """Return the path from its package on, or from the root of the repository."""
    return posixpath.normpath(PACKED.sub("", file))
