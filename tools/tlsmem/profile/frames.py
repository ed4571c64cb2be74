"""Frames of call stacks, whoever recorded them: what people read of one, whose session it worked for, who allocates."""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from tlsmem.config import toml_tables
from tlsmem.schema.roles import Owner

# The functions through which the core makes every call of a driver, and where they stand.
ENTRANCES = "frames.c"  # in memtest/; DHAT tells no directory
ENTRANCE = re.compile(
    r"(client|server)_(context_(?:new|free)|name_add|session_(?:new|free)|handshake|write|read|release)"
)

ALLOCATORS = (  # functions that allocate for others; who called them is what a reader looks for
    r"(__GI_)?(__libc_|__)?(malloc|calloc|realloc|memalign|aligned_alloc|posix_memalign|str(n)?dup)",
    r"__wrap_(\w*alloc|\w*memalign|reallocarray)",  # the core's: memtest/allocations.c
    r"CRYPTO_(\w*alloc|memdup|str(n)?dup)",
    r"(\w+_)?OPENSSL_(\w*alloc|memdup|str(n)?dup)",  # aws-lc's have a prefix
    r"__(rust|rdl|rg)_(alloc|alloc_zeroed|realloc)",
    r"<.* as core::alloc::(global::)?GlobalAlloc>::\w+",  # a program's own, such as that of the crate dhat
    r"<*alloc::.*|<T as alloc::.*|.*::to_vec(_in)?(::.*)?",  # Rust's own: Box, Vec, Arc
    r"\w+<(.*, )?alloc::alloc::Global>",  # the same as valgrind's tools name them, without where they are
    r"runtime\.(mallocgc\w*|newobject|newarray|makeslice\w*|growslice\w*)",  # Go's
    r"operator new(\[\])?\(.*\)",
    r"(std|__gnu_cxx)::(__new_allocator|new_allocator|allocator|allocator_traits)<.*",
    r"std::__cxx11::basic_string<.*>::_M_create\(.*",
)
RUST_FILE = re.compile(r"alloc\.rs|raw_vec\.rs|library/alloc/src/.*")  # DHAT tells no directory
ALLOCATOR = re.compile("|".join(f"(?:{one})" for one in ALLOCATORS))


class Frame(NamedTuple):
    """One function of a call stack; what is not known is None, and `str` is `function (file:line)`.

    `function` is demangled, without a hash; `file` begins at its package, or at the root of the repository; `module` is
    the program or library; `address` counts from where the module begins or, with `is_absolute`, is one that holds for
    that run only."""

    function: str | None
    file: str | None
    line: int | None
    module: str | None
    address: int | None
    is_absolute: bool = False

    def __str__(self) -> str:
        return format_frame(self)


def format_frame(frame: Frame, whole: bool = False) -> str:
    """`function (file:line)`; what has no name is where it is in its module."""
    file = frame.file if whole or not frame.file else frame.file.rpartition("/")[2]
    module = frame.module or "?"
    at = module if whole else module.rpartition("/")[2]
    where = f"{file}:{frame.line}" if file and frame.line else file or format_place(at, frame)
    return f"{frame.function or '?'} ({where})"


def format_place(module: str, frame: Frame) -> str:
    """`module+0x1234`, which addr2line finds in the module's file; or an address that means nothing after that run."""
    if frame.is_absolute:
        return module if frame.function else f"{module} at {frame.address or 0:#x} of that run"
    return f"{module}+{frame.address or 0:#x}"


def is_allocator_frame(frame: Frame) -> bool:
    return allocator(frame.function, frame.file)


@lru_cache(1 << 14)
def allocator(function: str | None, file: str | None) -> bool:
    """By its name; of Rust also by its file, since what was inlined may have a short name, or none."""
    return bool(ALLOCATOR.fullmatch(function or "") or RUST_FILE.fullmatch(file or ""))


def skip_allocators(frames: Sequence[Frame]) -> Sequence[Frame]:
    """From the first frame on that is no allocator's, innermost first; all of them where every one is."""
    inner = next((at for at, frame in enumerate(frames) if not is_allocator_frame(frame)), 0)
    return frames[inner:]


@cache
def container_pattern() -> re.Pattern[str]:
    """All functions of memtest/containers.toml; of C++ with arguments too."""
    tables = toml_tables.read_tables("containers")
    patterns = (f"(?:{one})" for table in tables.values() for one in table["functions"])
    return re.compile(rf"(?:{'|'.join(patterns)})(?:\(.*\))?")


@cache
def generic_pattern() -> re.Pattern[str]:
    """The functions of memtest/containers.toml that many callers reach their memory through."""
    tables = toml_tables.read_tables("containers")
    return re.compile("|".join(f"(?:{one})" for table in tables.values() for one in table.get("generic", ())) or "(?!)")


@lru_cache(1 << 14)
def is_generic(frame: Frame) -> bool:
    """Whether it says little of who wanted the memory: an allocator, a container, or generic code of a library."""
    name = frame.function
    return name is None or is_allocator_frame(frame) or is_container(name) or bool(generic_pattern().fullmatch(name))


@lru_cache(1 << 14)
def is_container(function: str) -> bool:
    return bool(container_pattern().fullmatch(function))


def skip_containers(frames: Sequence[Frame]) -> Sequence[Frame]:
    """From the first frame on that is neither an allocator's nor a library's own container's, innermost first.

    Without such a frame, and where the first one is the harness's, all but the allocators."""
    inner = skip_allocators(frames)
    for at, frame in enumerate(inner):
        if entrance_owner(frame) or frame.function is None:
            break
        if not is_allocator_frame(frame) and not is_container(frame.function):
            return inner[at:]
    return inner


def find_owner(frames: Iterable[Frame]) -> Owner:
    """Whose the memory is, by the outermost entrance to a driver among the frames."""
    found: Owner = "harness"
    for frame in frames:
        found = entrance_owner(frame) or found
    return found


def entrance_owner(frame: Frame) -> Owner | None:
    """Whom the driver is called for, if this is such a call; another program's function may have the same name."""
    return entered(frame.function, frame.file)


@lru_cache(1 << 14)
def entered(function: str | None, file: str | None) -> Owner | None:
    found = ENTRANCE.fullmatch(function or "")
    if not found or (file and file.rpartition("/")[2] != ENTRANCES):
        return None
    if found[2].startswith(("context", "name")):
        return "client context" if found[1] == "client" else "server context"
    return "client" if found[1] == "client" else "server"
