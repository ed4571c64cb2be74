"""What can be measured and how: the tables of memtest/*.toml, validated."""

import shlex
import string
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    GetPydanticSchema,
    PlainValidator,
    PositiveInt,
    RootModel,
    Strict,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from tlsmem.base.errors import UserError
from tlsmem.base.nearest import suggest_beginning, suggest_nearest
from tlsmem.base.paths import IS_WHEEL, ROOT
from tlsmem.config import tls_rules
from tlsmem.config.campaigns import Campaign, Definition, Pattern, TimedCampaign, parse_campaign
from tlsmem.config.suite_variants import LIBRARY, Suites, is_ticket_count
from tlsmem.config.toml_tables import DEFINITIONS, parse_toml, read_tables, resolve_tables
from tlsmem.schema import machine_path
from tlsmem.schema.harness_output import Cpu, describe_error

SWITCHES = ("store", "tickets", "resume")  # keys of a suite that are a feature when they are on
FULL = "full"  # the feature of a suite whose handshakes are full ones


def words(text: str) -> str:
    """The features of a suite, separated by spaces."""
    if not text.split():
        raise ValueError("a suite to refuse has no words")
    return text


class Expectations(Definition):
    """What a stack refuses and what it says then. The lists of texts hold alternatives: a message has one of them."""

    refuses: list[Annotated[str, AfterValidator(words)]] | None = None  # None: it depends on the machine
    another_root: list[str] = Field(default=[])
    another_name: list[str] = Field(default=[])
    another_key: list[str] = Field(default=[])
    missing_file: list[str] = Field(default=[])
    missing_client_key: str | None = None  # the file that it names instead
    most_tickets: PositiveInt | None = None
    not_sealed: list[Literal["aes128", "aes256", "chacha20"]] = Field(default=[])
    group_from: Literal["session", "offer"] = "session"
    heap_varies: str = ""  # why two equal runs differ

    def refusal_of(self, features: frozenset[str], tickets: int | str = 0) -> str | None:
        """The key and entry that say that a suite with these features is refused; None where nothing does."""
        if self.most_tickets and tickets != LIBRARY and int(tickets) > self.most_tickets:
            return f"most_tickets = {self.most_tickets}"
        entry = next((entry for entry in self.refuses or () if features.issuperset(entry.split())), None)
        return entry and f'refuses = "{entry}"'


PLACEHOLDERS = (
    "source",
    "build",
    "cflags",
    "maps",
    "cc",
    "cxx",
    "uses",
    "jobs",
)  # in, by c_stack.py; and names of `also`


def step(text: str) -> str:
    """A command that c_stack.py can split and fill in."""
    try:
        words = shlex.split(text)
        holes = [hole for word in words for _, *hole in string.Formatter().parse(word) if hole[0] is not None]
    except ValueError as error:
        raise ValueError(f"{text!r} is not a command: {error}") from None
    if not words:
        raise ValueError("an empty command")
    if odd := next((hole for hole in holes if hole[1] or hole[2]), None):
        raise ValueError(f"{text!r}: the placeholder {{{odd[0]}}} has no format or conversion")
    return text


def placeholders(text: str) -> set[str]:
    """What a command of the steps is filled in with."""
    return {hole for word in shlex.split(text) for _, hole, _, _ in string.Formatter().parse(word) if hole is not None}


Kind = TypeVar("Kind", bound=BaseModel)


class Source(Definition):
    """A crate, a wheel of PyPI's, or a source or binary package of Debian's with its suite there; `tree` is the place
    in it of the upstream tree, or of what the binary package installs."""

    crate: str | None = None
    debian: str | None = None  # a source package
    package: str | None = None  # a binary one: the library is as Debian ships it
    wheel: str | None = None  # a program for x86-64, as PyPI has it
    suite: str | None = None
    version: str
    sha256: str = Field(pattern="^[0-9a-f]{64}$")  # of the .crate file, .orig archive, .deb or .whl
    tree: str = "."

    @model_validator(mode="after")
    def check_origin(self) -> Self:
        if len([one for one in (self.crate, self.debian, self.package, self.wheel) if one]) != 1:
            raise ValueError("needs one of crate, debian, package and wheel, and no two")
        if bool(self.crate or self.wheel) == bool(self.suite):
            raise ValueError("debian and package need suite, and suite needs one of them")
        return self

    @property
    def registry_name(self) -> str:
        """Return the name of the crate, wheel or package."""
        return str(self.crate or self.wheel or self.debian or self.package)

    @property
    def in_debian(self) -> tuple[str, str]:
        """Return the package and its suite. Raises ValueError for a crate."""
        if not self.suite:
            raise ValueError(f"{self.registry_name} is no package of Debian's")
        return self.registry_name, self.suite


class ManifestTarget(NamedTuple):
    """What cargo or go builds: a manifest, as a path below the root, and a binary of it."""

    manifest: str
    binary: str


# pydantic takes a table's source for a Source; a TreeStack, which no table is, has a TreeSource.
AnySource = Annotated["Source | TreeSource", GetPydanticSchema(lambda _, handler: handler(Source))]


class Stack(Definition):
    """A TLS implementation and how its harness is made."""

    harness: Literal["c", "rust", "go"]
    licence: str
    what: str = ""  # it is, for people
    tls: bool = True  # false: of no protocol, and no suite but `none`
    driver: str | None = None
    family: list[str] = Field(default=[])  # files of harness-c/families/ that are compiled with its driver
    compiler: Literal["gcc", "clang"] = "gcc"
    uses: str | None = None  # another stack, whose build directory is {uses} in the steps
    mask: str | None = None  # how CPU= reaches the library: a table of memtest/cpus.toml
    prefix: bool = False  # linked with what is installed at PREFIX=
    manifest: str | None = None
    binary: str | None = None
    features: list[str] = Field(default=[])
    needs: list[str] = Field(default=[])
    defines: list[str] = Field(default=[])  # macros for its driver
    include: list[str] = Field(default=[])
    libraries: list[str] = Field(default=[])
    link: list[str] = Field(default=[])
    steps: list[Annotated[str, AfterValidator(step)]] = Field(default=[])
    pkg_config: str | None = None
    package: str | None = None
    brings: str | None = None  # an allocator of its own, by the name of its books, which the heap meter cannot see
    source: AnySource | None = None
    also: dict[str, Source] = Field(default={})  # what the library stands on, by placeholder
    expect: Expectations = Expectations()

    @property
    def is_shipped(self) -> bool:
        """Whether the library is as a distributor built it: without frame pointers, so without call sites."""
        return self.pinned is not None and self.pinned.package is not None

    @property
    def pinned(self) -> Source | None:
        """The crate or the package of Debian's that its library is from; None for a tree, or where none is pinned."""
        return self.source if isinstance(self.source, Source) else None

    @property
    def built_from(self) -> "Source | TreeSource":
        """Return the source that its steps build. Raises ValueError where none is pinned."""
        if not self.source:
            raise ValueError("no source of its library is pinned")
        return self.source

    @property
    def manifest_target(self) -> ManifestTarget:
        """Return what cargo or go builds. Raises ValueError for a stack in C."""
        if not self.manifest or not self.binary:
            raise ValueError(f"a stack with harness = {self.harness!r} has no manifest and binary")
        return ManifestTarget(self.manifest, self.binary)

    @property
    def how_built(self) -> dict[str, Any]:
        """Return the keys that a harness is made by; a key that came later counts where a stack has it."""
        keys = self.model_dump(exclude={"expect"} if self.also else {"expect", "also"})
        if self.pinned and not self.is_shipped:
            del keys["source"]["package"]
        return keys

    @model_validator(mode="after")
    def check_required_keys(self) -> Self:
        for key in {"c": ["driver"], "rust": ["manifest", "binary"], "go": ["manifest", "binary"]}[self.harness]:
            if not getattr(self, key):
                raise ValueError(f"{key} is missing; a stack with harness = {self.harness!r} needs it")
        if self.steps and not self.source:
            raise ValueError("source is missing; steps need it")
        known = [*PLACEHOLDERS, *self.also]
        for text in self.steps:
            for name in sorted(placeholders(text) - set(known)):
                there = ", ".join(f"{{{one}}}" for one in known)
                raise ValueError(f"steps: {text!r}: unknown placeholder {{{name}}}; known: {there}")
        if self.pkg_config and not self.package:
            raise ValueError("package is missing; pkg_config needs it")
        return self


class TreeSource(Definition):
    """A commit of a library's repository, or a directory as it stood; copied to tree_place(), by its tree's hash."""

    library: str
    tree: str  # its hash, as git has it
    git: str | None = None  # the commit
    release: str | None = None  # that the tree calls itself
    lacking: tuple[str, ...] = ()  # submodules that are not checked out


class TreeStack(Stack):
    """A stack whose library is built from such a tree, and all else as the table says that it is like."""

    source: TreeSource


SOURCES_FOLDER = "sources"  # of a tree's place: its copy, by the library's name; beside it is what is built of it
registered_trees: dict[str, TreeStack] = {}


def register_tree(name: str, stack: TreeStack) -> None:
    """From now on stacks() has it, in this process."""
    registered_trees[name] = stack


def tree_place(build: Path, tree: str) -> Path:
    return build / "trees" / tree[:12]


def parse_tickets(value: object) -> int | str:
    """A number, or `library`."""
    if not is_ticket_count(value):
        raise ValueError("must be library, or a number")
    return value


GROUPS_LIBRARY = "library"  # of client_groups: what the library offers unless it is told otherwise


@cache
def list_certificates() -> list[str]:
    """Return the directories of memtest/certs, sorted; there are a hundred suites that name one."""
    return sorted(file.parent.name for file in (ROOT / "memtest/certs").glob("*/root.pem"))


def certificates(name: str) -> str:
    """A directory of memtest/certs. A wheel has none of them, and suites that were checked before."""
    there = list_certificates()
    if not IS_WHEEL and name not in (NO_CERTIFICATES, *there):
        near = suggest_nearest(name, there) or f"; there are: {NO_CERTIFICATES}, {', '.join(there)}"
        raise ValueError(f"memtest/certs has no {name!r}{near}")
    return name


NO_CERTIFICATES = "none"  # of the suite without TLS


class Suite(Definition):
    """A protocol configuration; its fields are the harness's keys."""

    protocol: str
    cipher: str
    group: str  # the server's
    client_groups: str | None = None  # the client's, with colons between, or GROUPS_LIBRARY; None: the server's alone
    certs: Annotated[str, AfterValidator(certificates)]
    auth: Literal["server", "mutual", "none"] = "server"
    tickets: Annotated[int | str, PlainValidator(parse_tickets)] = 0  # library: as it does unless it is told otherwise
    store: Literal["off", "on"] = "off"
    resume: Literal["off", "on"] = "off"
    options: Literal["default", "low-memory", "drop-peer-chain"] = "default"
    client_certs: Literal["same", "each"] = "same"  # all clients have one certificate, or one each

    @model_validator(mode="after")
    def check_client_groups(self) -> Self:
        names = self.client_groups.lower().split(":") if self.client_groups is not None else [self.group.lower()]
        if self.client_groups != GROUPS_LIBRARY and ("" in names or self.group.lower() not in names):
            raise ValueError(
                f"client_groups must be {GROUPS_LIBRARY}, or names with colons between, of which one is the group"
                f" {self.group}"
            )
        return self

    @property
    def expects_retry(self) -> bool | None:
        """Whether handshakes begin with a HelloRetryRequest; None: it depends on what the library offers of itself."""
        if self.client_groups == GROUPS_LIBRARY:
            return None
        first = (self.client_groups or self.group).split(":")[0]
        return self.protocol == "TLSv1.3" and first.lower() != self.group.lower()

    @property
    def features(self) -> frozenset[str]:
        """What a stack must have to do it: the words of `refuses` in stacks.toml."""
        features = {key for key in SWITCHES if getattr(self, key) not in (0, LIBRARY, "off")}
        features |= {STATELESS} if "tickets" in features and "store" not in features else set()
        features |= {self.protocol, self.cipher, self.group, self.certs, self.auth, self.options}
        features |= {self.client_certs} - {"same"}
        features |= {self.certs.split("-")[0]}
        if self.client_groups:
            features |= {"client_groups", f"client_groups={self.client_groups}", *self.client_groups.split(":")}
        return frozenset(features if self.resume == "on" else features | {FULL})

    @property
    def harness_keys(self) -> dict[str, object]:
        """Its keys and values in a harness's argv. What every suite had before a key was there is left out, so that the
        runs of these suites stay the same."""
        keys = self.model_dump()
        return {key: value for key, value in keys.items() if (key, value) not in UNSPOKEN}


STATELESS = "stateless"  # the feature of tickets that hold the session, where the server keeps none
UNSPOKEN = (("client_certs", "same"), ("client_groups", None))  # the harness's own defaults of keys that came later


class Allocator(Definition):
    """The system's (no library), or a library to preload."""

    library: str | None = None
    package: str | None = None
    settings: str | None = None  # the variable that the user may set
    environment: Annotated[str, Field(pattern=r"^\w+=\S+$")] | None = None  # VARIABLE=value, which every run has

    @model_validator(mode="after")
    def check_library(self) -> Self:
        if bool(self.library) != bool(self.package):
            there, missing = ("library", "package") if self.library else ("package", "library")
            raise ValueError(f"{missing} is missing; {there} needs it")
        return self


class BucketRule(Definition):
    """Which call stacks a bucket takes: by who called the allocator, by any function of the stack, or both."""

    bucket: str = Field(min_length=1)
    why: str = Field(min_length=1)
    source: str = Field(min_length=1)
    by: list[Pattern] = Field(default=[])
    within: list[Pattern] = Field(default=[])

    @model_validator(mode="after")
    def takes_something(self) -> Self:
        if not self.by and not self.within:
            raise ValueError("by and within are missing; a rule needs one of them")
        return self


BUCKETS = "buckets"  # the table of their meanings, beside the rules of each family
MEANINGS = TypeAdapter(dict[str, Annotated[str, Strict()]])


def flag(name: str) -> str:
    if name not in machine_path.FLAGS:
        raise ValueError(f"{name!r} is no flag of a machine's path{suggest_nearest(name, machine_path.FLAGS)}")
    return name


class HiddenFeatures(Definition):
    """The variables of a process that keep a library from features of the CPU, and the flags that these are."""

    variables: dict[str, str] = Field(min_length=1)
    hides: list[Annotated[str, AfterValidator(flag)]] = Field(min_length=1)


class Mask(RootModel[dict[Cpu, HiddenFeatures]]):
    """How a library is kept from features of the CPU, by what CPU= takes."""


def read(file: Path, validate: Callable[[object], Kind]) -> dict[str, Kind]:
    """The tables of one file by name. Raises UserError with a sentence that names file, table and key."""
    try:
        about = file.stat()
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from None
    return dict(read_version(file, validate, about.st_mtime_ns, about.st_size))


@cache
def read_version(file: Path, validate: Callable[[object], Kind], mtime_ns: int, size: int) -> dict[str, Kind]:
    """The file as it was at this time: a report asks for the stacks some hundred times."""
    try:
        tables = resolve_tables(parse_toml(file.read_bytes()))
    except (OSError, ValueError) as error:
        raise UserError(f"{file}: {getattr(error, 'strerror', None) or error}") from None
    return {name: table(file, name, entry, validate) for name, entry in tables.items()}


def table(file: Path, name: str, entry: object, validate: Callable[[object], Kind]) -> Kind:
    try:
        return validate(entry)
    except ValidationError as error:
        raise UserError(f"{file}: [{name}]: {describe_error(error)}") from None


def check_definitions() -> None:
    """All of them: raises UserError at the first that is wrong, before time is spent on the others."""
    for definitions in (stacks, suites, allocators, cpus, campaigns):
        definitions()
    try:
        bucket_tables()
        tls_rules.tls_libraries()
        tls_rules.block_sizes()
    except ValueError as error:
        raise UserError(str(error)) from None


def stacks() -> dict[str, Stack]:
    """Those of stacks.toml, and what was registered."""
    return read(DEFINITIONS / "stacks.toml", Stack.model_validate) | registered_trees


def suites() -> dict[str, Suite]:
    """Those of suites.toml, and their variants."""
    return Suites(read(DEFINITIONS / "suites.toml", Suite.model_validate))


def describe_unknown_suite(name: str) -> str:
    """Return that there is no such suite, and suggest suites with TLS."""
    known = [suite for suite, about in suites().items() if about.protocol != "none"]
    near = suggest_beginning(name, known) or "; that file lists them"
    return f"memtest/suites.toml has no suite {name}{near}"


def allocators() -> dict[str, Allocator]:
    return read(DEFINITIONS / "allocators.toml", Allocator.model_validate)


def cpus() -> dict[str, Mask]:
    return read(DEFINITIONS / "cpus.toml", Mask.model_validate)


def campaigns() -> dict[str, Campaign | TimedCampaign]:
    return read(DEFINITIONS / "campaigns.toml", parse_campaign)


class BucketTables(NamedTuple):
    """memtest/buckets.toml: what each bucket means, and the rules of each family, in order."""

    meanings: dict[str, str]
    rules: dict[str, list[BucketRule]]


def bucket_tables() -> BucketTables:
    """Raises ValueError with a sentence that names file, table, rule and key."""
    return parse_buckets(read_tables(BUCKETS))


def parse_buckets(tables: dict[str, Any]) -> BucketTables:
    """As bucket_tables()."""
    file = f"memtest/{BUCKETS}.toml"
    try:
        meanings = MEANINGS.validate_python(tables.get(BUCKETS, {}))
    except ValidationError as error:
        raise ValueError(f"{file}: [{BUCKETS}] must be a table of texts: {describe_error(error)}") from None
    found: dict[str, list[BucketRule]] = {}
    for family, rules in tables.items():
        if family == BUCKETS:
            continue
        if not isinstance(rules, list):
            raise ValueError(f"{file}: [[{family}]] must be a list of tables")
        found[family] = []
        for number, rule in enumerate(rules, start=1):
            place = f"{file}: [[{family}]], rule {number}"
            try:
                one = BucketRule.model_validate(rule)
            except ValidationError as error:
                raise ValueError(f"{place}: {describe_error(error)}") from None
            if one.bucket not in meanings:
                near = suggest_nearest(one.bucket, meanings) or f"; there are: {'; '.join(meanings)}"
                raise ValueError(f"{place}: unknown bucket {one.bucket}{near}")
            found[family].append(one)
    return BucketTables(meanings, found)
