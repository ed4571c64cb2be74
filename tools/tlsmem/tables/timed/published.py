"""Rates that others published, of the same stack and suite: of their machines, and by their harnesses."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.tables.table import Cell, missing_cell
from tlsmem.tables.timed.cells import format_number

OF_2023 = ROOT / "data/published/throughput-2023-12-18.csv"
REPORTS = ROOT / "data/published/throughput-reports.csv"
XEON = "Xeon E-2386G"  # of 2023 too, whose file does not say so
CIPHERS = {"AES128-GCM_SHA256": "aes128", "AES256-GCM_SHA384": "aes256", "CHACHA20_POLY1305": "chacha20"}
CIPHERS |= {"aes-128-gcm": "aes128", "aes-256-gcm": "aes256", "chacha20-poly1305": "chacha20"}
PARTS = {"sent": "send", "received": "receive", "sending": "send", "receiving": "receive"}
RESUMED = {"full": "", "session-id": "-id", "ticket": "-ticket"}
POST_QUANTUM = "2025"  # from this year on the reports' handshakes of TLS 1.3 are of X25519MLKEM768
BUILT = {"openssl": [], "boringssl": ["clang"], "rustls": ["aws-lc", "jemalloc-rust"]}  # of the reports, as they say
MANNER = {"clang": ("built by clang", "built by gcc"), "jemalloc-rust": ("with jemalloc", "without jemalloc")}
NUMBERED = ("openssl", "rustls")
NONE = "not published"

FULL_AMONG_RESUMED = "12,289 of these 32,768 handshakes were full ones (37.5 %), so it is no rate of resumption"
EITHER = "which of id and ticket is not said"
WITH, WITHOUT = "construction is timed too", "construction is not timed"


@dataclass(frozen=True)
class PublishedRate:
    library: str
    version: str
    variants: frozenset[str]
    date: str
    cpu: str
    suites: tuple[str, ...]
    part: str
    rate: float
    invalid: bool = False

    @property
    def numbers(self) -> tuple[int, ...] | None:
        return numbers(self.version)

    def remarks(self, stack: str, suite: str) -> list[str]:
        """What it is not alike in."""
        _, ours, version = split_stack_name(stack)
        differ = [MANNER[name][0] for name in sorted(self.variants - ours) if name in MANNER]
        differ += [MANNER[name][1] for name in sorted(ours - self.variants) if name in MANNER]
        said = [f"published {self.date}, of another machine ({self.cpu})"]
        if self.version != version:
            which = "nearest" if self.numbers else "newest"
            said.append(f"of {self.version}, the {which} version that was published")
        said += differ
        if self.part in ("client", "server"):
            said.append(WITH if self.library == "rustls" else WITHOUT)
        said += [EITHER] * (len(self.suites) > 1)
        return [*said, *[FULL_AMONG_RESUMED] * self.invalid]

    def cell(self, stack: str, suite: str) -> Cell:
        """In brackets where it is another version's, or is not what it says."""
        value = {"rate": self.rate, "version": self.version, "date": self.date, "machine": self.cpu}
        exact = self.version == split_stack_name(stack)[2]
        text = format_number(self.rate) if exact else f"({self.version}: {format_number(self.rate)})"
        return Cell(f"[{text}]" if self.invalid else text, value, "; ".join(self.remarks(stack, suite)))


def split_stack_name(stack: str) -> tuple[str, frozenset[str], str]:
    """Library, variants, version."""
    name, _, version = stack.partition("@")
    library, *variants = name.split("+")
    return library, frozenset(variants), version


def numbers(version: str) -> tuple[int, ...] | None:
    """None of what is not counted upwards: a commit."""
    return tuple(map(int, version.split("."))) if re.fullmatch(r"\d+\.\d+\.\d+", version) else None


def rate_from_2023(row: dict[str, str]) -> PublishedRate:
    found = re.fullmatch(r"(.*)_(1\.\d)_ECDHE_RSA_(.*)_([a-z]+)", row["scenario"])
    assert found
    kind, tls, cipher, part = found.groups()
    resumed = RESUMED[kind.removeprefix("handshake-")] if kind != "bulk" else ""
    variants = [row["provider"]] * bool(row["provider"]) + ["clang"] * (row["compiler"] == "clang")
    variants += ["jemalloc-rust"] * (row["allocator"] == "jemalloc")
    return PublishedRate(
        library=row["library"],
        version=row["version"],
        variants=frozenset(variants),
        date=row["date"],
        cpu=XEON,
        suites=(f"tls{tls.replace('.', '')}-rsa-{CIPHERS[cipher]}{resumed}",),
        part=PARTS.get(part, part),
        rate=float(row["value"]),
        invalid=(row["library"], kind, tls) == ("openssl", "handshake-session-id", "1.3"),
    )


def rate_from_report(row: dict[str, str]) -> PublishedRate:
    kind, tls, *key, part = row["scenario"].split(", ")
    cipher = CIPHERS[key[0]] if kind == "transfer" else "aes256"
    certificates = key[0] if kind == "full handshakes" else "rsa"
    hybrid = "-pq" if kind != "transfer" and tls == "1.3" and row["date"] >= POST_QUANTUM else ""
    suite = f"tls{tls.replace('.', '')}-{certificates}-{cipher}{hybrid}"
    return PublishedRate(
        library=row["library"],
        version=row["version"],
        variants=frozenset(BUILT[row["library"]]),
        date=row["date"],
        cpu=row["cpu"],
        suites=(f"{suite}-id", f"{suite}-ticket") if kind == "resumed handshakes" else (suite,),
        part=PARTS.get(part, part),
        rate=float(row["value"]),
    )


def rows(file: Path) -> Iterator[dict[str, str]]:
    with file.open(newline="") as lines:
        yield from csv.DictReader(lines)


@cache
def figures() -> list[PublishedRate]:
    return [*map(rate_from_2023, rows(OF_2023)), *map(rate_from_report, rows(REPORTS))]


def provider(variants: frozenset[str]) -> frozenset[str]:
    return variants - MANNER.keys()


def nearest_published_cell(stack: str, suite: str, part: str, cpu: str) -> Cell:
    """Of this very version, else of a machine like this one the nearest version's, of several the one that is most like
    the stack and the first; or a hole."""
    library, variants, version = split_stack_name(stack)
    found = [one for one in figures() if one.library == library and suite in one.suites and one.part == part]
    found = [one for one in found if provider(one.variants) == provider(variants)]

    def unlike(one: PublishedRate) -> tuple[bool, bool, list[int], int, str]:
        far = (one.version != version, is_arm(one.cpu) != is_arm(cpu), version_distance(one, version))
        return (*far, len(one.variants ^ variants), one.date)

    best = min((one for one in found if is_same_release_line(one, version)), key=unlike, default=None)
    return best.cell(stack, suite) if best else missing_cell(NONE)


def is_arm(cpu: str) -> bool:
    """Others are x86-64. Linux says no more than the architecture of most of these."""
    return bool(re.search("aarch64|Ampere|Neoverse", cpu))


def is_same_release_line(one: PublishedRate, version: str) -> bool:
    """The same line of releases: 3.x, or 0.23.x; commits are all of one."""
    theirs, ours = one.numbers, numbers(version)
    if one.library not in NUMBERED:
        return True
    if not theirs or not ours:
        return False
    return theirs[: line(ours)] == ours[: line(ours)]


def line(version: tuple[int, ...]) -> int:
    return 2 if version[0] == 0 else 1


def version_distance(one: PublishedRate, version: str) -> list[int]:
    """How far two versions are; commits, which have no place, by how old they are."""
    if one.library not in NUMBERED:
        return [-int(first(one.library, one.version).replace("-", ""))]
    theirs, ours = one.numbers, numbers(version)
    assert theirs and ours  # they are of one line of releases
    return [abs(a - b) for a, b in zip(theirs, ours, strict=True)]


@cache
def first(library: str, version: str) -> str:
    """The day on which it was first published."""
    return min(one.date for one in figures() if (one.library, one.version) == (library, version))
