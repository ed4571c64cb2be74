"""By which table of memtest/stacks.toml a tree is built: of its library's the newest that is not above its release."""

import re
from collections.abc import Callable, Iterable

from tlsmem.base.nearest import suggest_nearest
from tlsmem.config.definitions import Stack
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


def order(version: str) -> tuple:
    """1.1.1 < 1.1.1w, 3.6.0-dev < 3.6.0; what follows a + is none of it."""
    plain, _, tag = version.partition("+")[0].partition("-")
    numbers, letters = re.match(r"([\d.]*)(.*)", plain).groups()
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
