"""What a run was made with, as its record keeps it: harness and library, allocator and machine."""

from typing import Annotated

from pydantic import Field, PositiveInt

from tlsmem.schema.harness_output import Cpu, Model

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
GitHash = Annotated[str, Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$")]  # of a repository of either kind


class Crate(Model):
    """A package of crates.io, and the SHA-256 of its file."""

    crate: str
    version: str
    sha256: Sha256


class DebianSource(Model):
    """A source package of Debian, the Debian suite that had it, and the SHA-256 of its .orig archive."""

    debian: str
    suite: str
    version: str
    sha256: Sha256


class Prefix(Model):
    """A library that the user built: the directory where it is installed."""

    prefix: str


class Commit(Model):
    """A commit of the library's repository, its tree, and the release that the tree names, if it names one."""

    git: GitHash
    tree: GitHash
    release: str | None


class Tree(Model):
    """A directory, by the hash that git would give such a tree; it need not be committed."""

    tree: GitHash
    release: str | None


SourceRecord = Crate | DebianSource | Prefix | Commit | Tree


class Peer(Model):
    """The client of a mixed pair: another stack's build."""

    stack: str
    reported: str | None
    binary_sha256: Sha256
    source: SourceRecord | None
    compiler: str
    flags: str
    licence: str


class CpuFeatures(Model):
    """The CPU features that the library was limited to, and the environment variables that did it.

    No variables: the library cannot be limited."""

    name: Cpu
    variables: dict[str, str]


class AllocatorRecord(Model):
    """The allocator of a run: its name, and version, settings and shared library where it has them."""

    name: str
    version: str | None
    settings: str | None
    library: str | None


class Machine(Model):
    """The machine that a run was made on."""

    cpu: str
    cpus: PositiveInt
    memory_bytes: PositiveInt
    kernel: str
    os: str
    libc: str
    governor: str | None
    thp_host: str
