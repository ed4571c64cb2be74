"""What a run was made with, as its record keeps it: of harness and library, allocator and machine."""

from typing import Annotated

from pydantic import Field, PositiveInt

from tlsmem.schema.harness_output import Cpu, Model

Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
GitHash = Annotated[str, Field(pattern="^([0-9a-f]{40}|[0-9a-f]{64})$")]  # of a repository of either kind


class Crate(Model):
    crate: str
    version: str
    sha256: Sha256


class DebianSource(Model):
    """A source package, and the suite of Debian's that had it."""

    debian: str
    suite: str
    version: str
    sha256: Sha256


class Prefix(Model):
    """A library of the user's own: where it was installed."""

    prefix: str


class Commit(Model):
    """A commit of the library's own repository, its tree, and the release that the tree calls itself, if it does."""

    git: GitHash
    tree: GitHash
    release: str | None


class Tree(Model):
    """A directory as it stood, by the hash that git would give such a tree; nothing of it need be committed."""

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
    """What the library was kept to, and by which variables; without any, it cannot be."""

    name: Cpu
    variables: dict[str, str]


class AllocatorRecord(Model):
    name: str
    version: str | None
    settings: str | None
    library: str | None


class Machine(Model):
    cpu: str
    cpus: PositiveInt
    memory_bytes: PositiveInt
    kernel: str
    os: str
    libc: str
    governor: str | None
    thp_host: str
