"""Which functions and files are TLS, and whose sizes are known: memtest/tls_shares.toml and memtest/tls_sizes.toml,
validated."""

import re
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PositiveInt, TypeAdapter, ValidationError, model_validator

from tlsmem.base.nearest import suggest_nearest
from tlsmem.config.campaigns import Definition, Pattern
from tlsmem.config.toml_tables import read_tables
from tlsmem.schema.harness_output import describe_error

SHARES, SIZES = "tls_shares", "tls_sizes"  # the files
LOADER = "loader"  # the table of the dynamic loader's functions
PATTERNS = (
    *("modules", "crypto_modules", "functions", "crypto_functions", "files", "sessions", "contexts", "process"),
    *("shared_names", "session_calls", "evidence"),
)


Patterns = Annotated[list[Pattern], Field(default=[])]


class BlockSize(Definition):
    """What is known about blocks of one size: whose they are, and who allocates them."""

    bytes: PositiveInt
    of: Literal["sessions", "contexts", "either"]
    by: list[str] = Field(min_length=1)  # functions, each with its buckets


class TlsLibrary(Definition):
    """How a library, or code of a program that calls one, is recognised in call stacks."""

    name: str = Field(min_length=1)
    wraps: bool = False
    family: str | None = None
    modules: Patterns
    crypto_modules: Patterns
    functions: Patterns
    crypto_functions: Patterns
    files: Patterns
    sessions: Patterns
    contexts: Patterns
    process: Patterns
    shared_names: Patterns
    session_calls: Patterns
    evidence: Patterns
    sizes: Annotated[list[BlockSize], Field(default=[])]
    version: Pattern | None = None

    @model_validator(mode="after")
    def recognises_something(self) -> Self:
        if not any((self.modules, self.functions, self.files, self.evidence)):
            raise ValueError("modules, functions, files and evidence are missing; a library needs one of them")
        if self.evidence and not self.family:
            raise ValueError("family is missing; evidence needs it")
        if self.version and re.compile(self.version).groups != 1:
            raise ValueError("version must have one group in brackets: the number")
        return self


BLOCK_SIZES = TypeAdapter(list[BlockSize])


def tls_libraries() -> dict[str, TlsLibrary]:
    """Return the tables of the file by key, in order. Raises ValueError with a sentence that names file, table and
    key."""
    return parse_libraries(read_tables(SHARES))


def parse_libraries(tables: dict[str, Any]) -> dict[str, TlsLibrary]:
    """As tls_libraries()."""
    file = f"memtest/{SHARES}.toml"
    found: dict[str, TlsLibrary] = {}
    for key, table in tables.items():
        try:
            found[key] = TlsLibrary.model_validate(table)
        except ValidationError as error:
            raise ValueError(f"{file}: [{key}]: {describe_error(error)}") from None
    for key, one in found.items():
        if one.family is not None and one.family not in found:
            near = suggest_nearest(one.family, found) or f"; there are: {', '.join(found)}"
            raise ValueError(f"{file}: [{key}]: family: no table {one.family}{near}")
    return found


def block_sizes() -> dict[str, list[BlockSize]]:
    """Return what is known of sizes, by library and release as `OpenSSL 3.0`. Raises as tls_libraries()."""
    file = f"memtest/{SIZES}.toml"
    found: dict[str, list[BlockSize]] = {}
    for series, table in read_tables(SIZES).items():
        try:
            found[series] = BLOCK_SIZES.validate_python(table.get("sizes"))
        except ValidationError as error:
            raise ValueError(f"{file}: [{series}]: {describe_error(error)}") from None
    return found
