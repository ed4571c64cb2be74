"""What a run was made with, as its record keeps it: harness and library, allocator and machine."""

from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from tlsmem.schema.harness_output import Cpu, Model, NonNegativeInt, PositiveInt
from tlsmem.schema.machine_path import path_digest

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


class DebianPackage(Model):
    """A binary package of Debian, the Debian suite that had it, and the SHA-256 of its .deb: a library as shipped."""

    package: str
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


SourceRecord = Crate | DebianSource | DebianPackage | Prefix | Commit | Tree


class Peer(Model):
    """The client of a mixed pair: another stack's build."""

    stack: str
    reported: str | None
    binary_sha256: Sha256
    source: SourceRecord | None
    compiler: str
    flags: str
    licence: str


class Extended(Model):
    """A value of which later schemas say more. What an older line lacks is left out when it is written again."""

    @model_serializer(mode="wrap")
    def leave_out_unrecorded(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Return the fields without those that the line did not have."""
        fields: dict[str, Any] = serialize(self)
        return {name: value for name, value in fields.items() if value is not None or name not in SINCE_SCHEMA_6}


SINCE_SCHEMA_6 = ("hides", "path", "context")


class CpuFeatures(Extended):
    """The CPU features that the library was limited to, and the environment variables that did it.

    No variables: the library cannot be limited."""

    name: Cpu
    variables: dict[str, str]
    hides: list[str] | None = None  # flags of the machine's path that the library then does not see


class AllocatorRecord(Model):
    """The allocator of a run: its name, and version, settings and shared library where it has them."""

    name: str
    version: str | None
    settings: str | None
    library: str | None


class MachinePath(Model):
    """What of a machine decides which code a run executes; with the number of CPUs it tells machines apart."""

    vendor: str | None
    family: str | None
    model: str | None
    xcr0: str | None
    libc_build_id: str | None
    page_bytes: PositiveInt
    flags: str


class MachineContext(Model):
    """What a reader may want to know of a machine besides; none of it makes another machine."""

    stepping: str | None
    microcode: str | None
    caches: str
    kernel_build: str
    overcommit_memory: NonNegativeInt | None
    cgroup_memory_bytes: NonNegativeInt | None
    open_files_soft: NonNegativeInt | None
    open_files_hard: NonNegativeInt | None
    max_map_count: NonNegativeInt | None
    mthp: str


class Machine(Extended):
    """The machine that a run was made on."""

    cpu: str
    cpus: PositiveInt
    memory_bytes: PositiveInt
    kernel: str
    os: str
    libc: str
    governor: str | None
    thp_host: str
    path: MachinePath | None = None  # None: not recorded, of schemas before 6
    context: MachineContext | None = None

    @property
    def path_name(self) -> str | None:
        """The name of its path, as runs in the lab on all of its CPU have it; None where none is recorded."""
        return path_digest(self.path.model_dump(), self.cpus) if self.path else None
