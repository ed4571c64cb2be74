"""Which bytes of a profile are TLS: its sessions, its contexts, what the process keeps, cryptography alone, loading.

`TlsShares.share` tells it for one call stack. A harness of tls-memtest calls its drivers for an owner, who is known to
the byte. In any other program the functions and modules of the stack tell, by the rules of memtest/tls_shares.toml.
Libraries without names for their functions are recognised by their files. Where no name tells a session from a
context, two things may: the size of a block, if recordings know that only one of them has it (memtest/tls_sizes.toml),
and other blocks that the same call into the library allocated."""

import posixpath
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final, Literal, NamedTuple

from tlsmem.base.paths import ROOT
from tlsmem.config import tls_rules
from tlsmem.config.tls_rules import LOADER, BlockSize, TlsLibrary
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import BASE, CallstackTree, LiveHeap, Profile, add_live, subtract_live
from tlsmem.schema.roles import Owner

Share = Literal[
    "TLS sessions",
    "TLS contexts and certificates",
    "TLS, process-wide",
    "TLS, session or context",
    "crypto only",
    "library load",
    "other",
    "unknown",
]
SESSIONS: Final = "TLS sessions"
CONTEXTS: Final = "TLS contexts and certificates"
PROCESS: Final = "TLS, process-wide"
EITHER: Final = "TLS, session or context"
CRYPTO: Final = "crypto only"
LOAD: Final = "library load"
OTHER: Final = "other"
UNKNOWN: Final = "unknown"
MEANINGS: dict[Share, str] = {
    SESSIONS: "what connections hold",
    CONTEXTS: "contexts, their certificates and keys, caches of sessions",
    PROCESS: "tables that TLS code makes once: algorithms, error messages, a warm-up's caches",
    EITHER: "TLS; no name and no size tells a session from a context",
    CRYPTO: "cryptography that no TLS code called: hashes, random numbers, keys, stores of certificates",
    LOAD: "a TLS or crypto library as it is loaded",
    OTHER: "no function and no file of a TLS library is in the call stack",
    UNKNOWN: "no call stack is known",
}
TLS: tuple[Share, ...] = (SESSIONS, CONTEXTS, PROCESS, EITHER)
OWNERS: dict[Owner, Share] = {
    "client": SESSIONS,
    "server": SESSIONS,
    "client context": CONTEXTS,
    "server context": CONTEXTS,
}
LONGEST_VERSION_FILE = 64 << 20  # bytes of a library's file that are searched for its version
Level = Literal["tls", "crypto", "load"]


class Library(NamedTuple):
    """A table of memtest/tls_shares.toml by key, and the file that the code is in; None where it is not known."""

    key: str
    module: str | None


class Held(NamedTuple):
    """What the bytes of a call stack are, and of which library; None where it has none, or where it is not known."""

    share: Share
    library: Library | None


class Label(NamedTuple):
    """What one frame says of its call stack."""

    level: Level | None
    key: str | None  # of the library
    share: Share | None  # a session's, a context's, the process's
    is_shared_name: bool  # other libraries have functions of this name


class Context(NamedTuple):
    """What the frames of a call stack say together, from the outermost on."""

    tls: bool = False
    crypto: bool = False
    loading: bool = False
    share: Share | None = None
    called: Share | None = None  # what the library's calls of other files tell, where no name of its own does
    library: Library | None = None  # the innermost that speaks TLS
    crypto_library: Library | None = None
    loaded: Library | None = None  # what is loaded
    entry: int = 0  # the stack at which the innermost code of a TLS library was entered


class Rules:
    """The patterns of memtest/tls_shares.toml, compiled."""

    def __init__(self, libraries: Mapping[str, TlsLibrary]) -> None:
        self.libraries = libraries
        self.patterns = {
            key: {name: compiled(getattr(one, name)) for name in tls_rules.PATTERNS} for key, one in libraries.items()
        }

    def matches(self, key: str, name: str, text: str | None) -> bool:
        found = self.patterns[key][name]
        return bool(text and found and found.fullmatch(text))

    @lru_cache(1 << 16)  # noqa: B019  # there is one set of rules in a process
    def label(self, function: str | None, module: str | None, file: str | None) -> Label:
        """Return what a frame says; `module` is the name of the file, without its directory."""
        level, key = self.level(function, module, file)
        return Label(level, key, self.share(function), key is not None and self.matches(key, "shared_names", function))

    def level(self, function: str | None, module: str | None, file: str | None) -> tuple[Level | None, str | None]:
        if self.matches(LOADER, "functions", function):
            return "load", None
        for key in self.libraries:
            if self.matches(key, "crypto_modules", module):
                return "crypto", key
            if self.matches(key, "modules", module):
                return ("crypto" if self.matches(key, "crypto_functions", function) else "tls"), key
        for key, one in self.libraries.items():
            if one.family or key == LOADER:  # a fork has the functions of its family
                continue
            if self.matches(key, "functions", function) or self.matches(key, "files", file):
                return "tls", key
            if self.matches(key, "crypto_functions", function):
                return "crypto", key
        return None, None

    def share(self, function: str | None) -> Share | None:
        for key in self.libraries:
            for name, share in KINDS.items():
                if self.matches(key, name, function):
                    return share
        return None


KINDS: dict[str, Share] = {"sessions": SESSIONS, "contexts": CONTEXTS, "process": PROCESS}
HOLDERS: dict[str, Share] = {"sessions": SESSIONS, "contexts": CONTEXTS, "either": EITHER}


def compiled(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(f"(?:{one})" for one in patterns)) if patterns else None


@cache
def read_rules() -> Rules:
    """Raises ValueError with a sentence."""
    return Rules(tls_rules.tls_libraries())


@cache
def read_sizes() -> dict[str, dict[int, BlockSize]]:
    """What is known of block sizes, by release as `OpenSSL 3.0` and by size in bytes."""
    return {series: {one.bytes: one for one in sizes} for series, sizes in tls_rules.block_sizes().items()}


class TlsShares:
    """Of one profile: the share of each call stack, and sums that add up to all that is live at a moment."""

    def __init__(self, profile: Profile) -> None:
        self.profile, self.rules = profile, read_rules()
        self.contexts: dict[int, Context] = {0: Context()}
        self.run_library = library_of_run(profile)
        self.has_owners = profile.run is None or self.run_library is not None  # not in a harness without TLS
        self.forks = find_forks(profile.stacks, self.rules)
        self.owners_of_shared_names = find_owners_of_shared_names(profile.stacks, self.rules)
        self.speakers = self.find_speakers()
        self.telling = self.find_telling_places()
        self.versions: dict[Library, str | None] = {}
        self.by_entry = self.find_shares_of_entries()

    def share(self, stack: int, held: LiveHeap) -> Held:
        """Return what a call stack's bytes are and of which library; `held` says how large its blocks are."""
        stacks = self.profile.stacks
        owner = stacks.owner(stack)
        found = self.context(stack)
        library = self.speaker(found.library or found.crypto_library)
        if self.has_owners and owner in OWNERS:
            return Held(OWNERS[owner], self.run_library or library)
        if not stacks.places[stacks.nodes[stack][0]] and not any(stacks.places[one] for one in stacks.walk(stack)):
            return Held(UNKNOWN, None)
        if found.loading and found.loaded:
            return Held(LOAD, self.speaker(found.loaded))
        if found.tls:
            share = found.share or self.share_by_size(library, held) or self.by_entry.get(found.entry)
            return Held(share or EITHER, library)
        return Held(CRYPTO, found.crypto_library) if found.crypto else Held(OTHER, None)

    def context(self, stack: int) -> Context:
        """Return what the frames of a stack say; each stack is looked at once, after its caller."""
        if not self.telling:
            return self.contexts[0]
        unknown = []
        nodes = self.profile.stacks.nodes
        while stack not in self.contexts:
            unknown.append(stack)
            stack = nodes[stack][1]
        found = self.contexts[stack]
        for one in reversed(unknown):
            place = nodes[one][0]
            if place in self.telling:
                for frame in reversed(self.profile.stacks.places[place]):
                    found = self.extend(found, frame, one)
            self.contexts[one] = found
        return found

    def extend(self, found: Context, frame: Frame, stack: int) -> Context:
        """Return what is known with one more frame, which the others called."""
        module = posixpath.basename(frame.module) if frame.module else None
        label = self.label(frame)
        level = label.level
        if label.share:
            found = found._replace(share=label.share)
        if level is None or (label.key is None and level != "load"):
            return found
        if level == "load":
            return found._replace(loading=True, loaded=None)
        library = self.library(label, module)
        if found.loading and library:
            found = found._replace(loaded=library)
        if level == "crypto":
            called = found.called
            if found.library and self.rules.matches(found.library.key, "session_calls", frame.function):
                called = SESSIONS
            return found._replace(crypto=True, crypto_library=library, called=called)
        entry = found.entry if found.tls and found.library == library else stack
        return found._replace(tls=True, library=library or found.library, entry=entry)

    def find_telling_places(self) -> set[int]:
        """Return the places that `extend` has to look at: by far the most frames are of no TLS library."""
        found = set()
        for number, place in enumerate(self.profile.stacks.places):
            labels = [self.label(frame) for frame in place]
            if any(label.level or label.share for label in labels):
                found.add(number)
        return found

    def label(self, frame: Frame) -> Label:
        return self.rules.label(frame.function, posixpath.basename(frame.module) if frame.module else None, frame.file)

    def library(self, label: Label, module: str | None) -> Library | None:
        """Return the library of a frame in a module; None where the table is of code that calls one."""
        key = label.key or ""
        if self.rules.libraries[key].wraps:
            return None
        if label.is_shared_name:
            key = self.owners_of_shared_names.get(module, key)
        key = self.forks.get((key, module), key)
        return self.run_library if self.run_library and self.run_library.key == key else Library(key, module)

    def find_speakers(self) -> dict[str, Library]:
        """Return the libraries that speak TLS in the profile, by key; without those that several files have."""
        found: dict[str, set[Library]] = defaultdict(set)
        for frame in (frame for place in self.profile.stacks.places for frame in place):
            label = self.label(frame)
            module = posixpath.basename(frame.module) if frame.module else None
            if label.level == "tls" and (library := self.library(label, module)):
                found[library.key].add(library)
        return {key: libraries.pop() for key, libraries in found.items() if len(libraries) == 1}

    def speaker(self, library: Library | None) -> Library | None:
        """Return the file of a library that speaks TLS in place of its file with cryptography. Where only code of the
        program shows that a call stack is TLS, it is the library of the profile, if there is one."""
        if library is None:
            return next(iter(self.speakers.values())) if len(self.speakers) == 1 else None
        return self.speakers.get(library.key, library)

    def share_by_size(self, library: Library | None, held: LiveHeap) -> Share | None:
        """Return whose blocks of this size are, where recordings of the library know it and agree."""
        known = self.known_sizes(library, held)
        shares = {HOLDERS[one.of] for one in known.values()}
        return shares.pop() if len(shares) == 1 and EITHER not in shares else None

    def known_sizes(self, library: Library | None, held: LiveHeap) -> dict[str, BlockSize]:
        """Return what recordings say of blocks of this size, by release: of the library's own release where its file
        says which it is, else of all its releases. Nothing where the blocks of a call stack are not of one size."""
        if library is None or not held.blocks or held.bytes % held.blocks:
            return {}
        table = self.rules.libraries[library.key]
        size, name, version = held.bytes // held.blocks, table.name, self.version(library)
        of_all_releases = [(name, one) for one in table.sizes if one.bytes == size]
        series = f"{name} {'.'.join(version.split('.')[:2])}" if version else f"{name} "
        fitting = {one: sizes for one, sizes in read_sizes().items() if one == series or one.startswith(f"{name} ")}
        fitting = {series: fitting[series]} if series in fitting else {} if version else fitting
        return dict(of_all_releases) | {one: sizes[size] for one, sizes in fitting.items() if size in sizes}

    def find_shares_of_entries(self) -> dict[int, Share]:
        """Return whose the blocks are that a call into a TLS library allocated, where the sizes of some tell, or what
        the library called for them, all say the same, and no name does: a function that makes a session's read buffer
        works for a session."""
        found: dict[int, set[Share]] = defaultdict(set)
        if not self.telling:
            return {}
        for moment in self.profile.moments.values():
            for stack, held in moment.live.items():
                context = self.context(stack)
                if not context.tls or context.share:
                    continue
                share = context.called or self.share_by_size(context.library, held)
                if share:
                    found[context.entry].add(share)
        return {entry: shares.pop() for entry, shares in found.items() if len(shares) == 1}

    def sums(self, moment: str) -> dict[tuple[Held, Owner], LiveHeap]:
        """Return what is live at a moment, by share, library and owner: sums that add up to the moment's stacks. What
        was live of a harness's sessions before the first one, its warm-up left: it is the process's."""
        found: dict[tuple[Held, Owner], LiveHeap] = {}
        live = self.profile.live(moment)
        base = self.profile.moments[BASE].live if BASE in self.profile.moments and moment != BASE else {}
        for stack in dict.fromkeys((*live, *base)):
            held, owner = live.get(stack, LiveHeap(0, 0)), self.profile.stacks.owner(stack)
            share = self.share(stack, held)
            parts = [(share, held)]
            if owner in OWNERS and share.share == SESSIONS and stack in base:
                parts = [(share, subtract_live(held, base[stack])), (share._replace(share=PROCESS), base[stack])]
            for share, part in parts:
                found[share, owner] = add_live(found.get((share, owner), LiveHeap(0, 0)), part)
        return {key: held for key, held in found.items() if held.bytes or held.blocks}

    def describe_library(self, library: Library | None) -> str | None:
        """Return `OpenSSL 3.0.19 (libssl.so.3)`; of a harness the library without its file."""
        if library is None:
            return None
        if library == self.run_library:
            return describe_run(self.profile)
        name = " ".join(filter(None, (self.rules.libraries[library.key].name, self.version(library))))
        return f"{name} ({library.module})" if library.module else name

    def version(self, library: Library) -> str | None:
        """Return the version of a library that its files say, of those that are the files that were profiled."""
        if library not in self.versions:
            words = self.rules.libraries[library.key].version
            files = self.files(library) if words else ()
            found = {version for file in files for version in find_versions(file, words or "")}
            self.versions[library] = found.pop() if len(found) == 1 else None
        return self.versions[library]

    def files(self, library: Library) -> set[str]:
        """Return the library's file and those of the same key with cryptography: libssl does not say its version."""
        found = set()
        for frame in (frame for place in self.profile.stacks.places for frame in place):
            if frame.module and not frame.file and not frame.is_absolute:
                module = posixpath.basename(frame.module)
                if module == library.module or self.rules.matches(library.key, "crypto_modules", module):
                    found.add(frame.module)
        return found


def find_versions(file: str, words: str) -> set[str]:
    try:
        with open(ROOT / file, "rb") as content:
            return {one.decode() for one in re.findall(words.encode(), content.read(LONGEST_VERSION_FILE))}
    except OSError:
        return set()


def find_forks(stacks: CallstackTree, rules: Rules) -> dict[tuple[str, str | None], str]:
    """Return which library of a family a module has, by key of the family and the module: the first of which a
    function tells."""
    functions: dict[str | None, set[str]] = defaultdict(set)
    for place in stacks.places:
        for frame in place:
            if frame.function:
                functions[posixpath.basename(frame.module) if frame.module else None].add(frame.function)
    found: dict[tuple[str, str | None], str] = {}
    for module, names in functions.items():
        for key, one in rules.libraries.items():
            if one.family and any(rules.matches(key, "evidence", name) for name in names):
                found.setdefault((one.family, module), key)
    return found


def find_owners_of_shared_names(stacks: CallstackTree, rules: Rules) -> dict[str | None, str]:
    """Return the key of the library whose functions with shared names a module has: of the modules in which all other
    names are of one library. Mbed TLS in a program has `ssl_tls13_parse_certificate` and `rsa_alloc_wrap` too, as
    OpenSSL could."""
    found: dict[str | None, set[str]] = defaultdict(set)
    for frame in (frame for place in stacks.places for frame in place):
        module = posixpath.basename(frame.module) if frame.module else None
        label = rules.label(frame.function, module, frame.file)
        if label.key and not label.is_shared_name and not rules.libraries[label.key].wraps:
            found[module].add(label.key)
    return {module: keys.pop() for module, keys in found.items() if len(keys) == 1}


def library_of_run(profile: Profile) -> Library | None:
    """Return the library of the harness that was profiled; None of any other program, and of a harness without TLS."""
    if profile.run is None:
        return None
    from tlsmem.config.libraries import libraries, library_key

    key = library_key(profile.run.stack)
    return Library(key, None) if key in libraries() else None


def describe_run(profile: Profile) -> str:
    from tlsmem.config.libraries import libraries, library_key, stack_title

    assert profile.run
    stack, reported = profile.run.stack, profile.run.reported
    number = re.search(r"\d+(\.\d+)+", reported or "")
    if stack.endswith("@system") and number:
        return f"{libraries()[library_key(stack)].name} {number[0]}"
    return stack_title(stack)
