"""Rates that others published, of the same stack and suite: of their machines, and by their harnesses."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tlsmem.base.paths import ROOT
from tlsmem.stats.missing import Missing
from tlsmem.stats.timed_selection import TimedSeries
from tlsmem.tables.table import Cell
from tlsmem.tables.timed_cells import format_number

OF_2023 = ROOT / "data/published/throughput-2023-12-18.csv"
REPORTS = ROOT / "data/published/throughput-reports.csv"
XEON = "Xeon E-2386G"  # of 2023 too, whose file does not say so
CIPHERS = {"AES128-GCM_SHA256": "aes128", "AES256-GCM_SHA384": "aes256", "CHACHA20_POLY1305": "chacha20"}
CIPHERS |= {"aes-128-gcm": "aes128", "aes-256-gcm": "aes256", "chacha20-poly1305": "chacha20"}
PARTS = {"sent": "send", "received": "receive", "sending": "send", "receiving": "receive"}
RESUMED = {"full": "", "session-id": "-id", "ticket": "-ticket"}
POST_QUANTUM = "2025"  # from this year on the reports' handshakes of TLS 1.3 are of X25519MLKEM768
BUILT = {"openssl": [], "boringssl": ["clang"], "rustls": ["aws-lc", "jemalloc-rust"]}  # of the reports, as they say
BUILDS = {"clang": ("built by clang", "built by gcc"), "jemalloc-rust": ("with jemalloc", "without jemalloc")}
NUMBERED = ("openssl", "rustls")
NOT_PUBLISHED = Missing("not published")

FULL_AMONG_RESUMED = "12,289 of these 32,768 handshakes were full ones (37.5 %), so this is not a resumption rate"
EITHER = "not stated whether by id or by ticket"
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


@dataclass(frozen=True)
class Published:
    """A published rate beside a stack of ours, whose version may be another."""

    rate: PublishedRate
    stack: str

    @property
    def is_exact(self) -> bool:
        """Whether it is of the very version."""
        return self.rate.version == split_stack_name(self.stack)[2]

    @property
    def remarks(self) -> list[str]:
        """Where the two are not alike."""
        ours, rate = split_stack_name(self.stack)[1], self.rate
        said = [f"published {rate.date}, on another machine ({rate.cpu})"]
        if not self.is_exact:
            which = "nearest" if rate.numbers else "newest"
            said.append(f"for {rate.version}, the {which} published version")
        said += [BUILDS[name][0] for name in sorted(rate.variants - ours) if name in BUILDS]
        said += [BUILDS[name][1] for name in sorted(ours - rate.variants) if name in BUILDS]
        if rate.part in ("client", "server"):
            said.append(WITH if rate.library == "rustls" else WITHOUT)
        return [*said, *[EITHER] * (len(rate.suites) > 1), *[FULL_AMONG_RESUMED] * rate.invalid]


def published_cell(published: Published) -> Cell:
    """In brackets where it is another version's, or is not what it says."""
    rate = published.rate
    value = {"rate": rate.rate, "version": rate.version, "date": rate.date, "machine": rate.cpu}
    number = format_number(rate.rate)
    text = number if published.is_exact else f"({rate.version}: {number})"
    return Cell(f"[{text}]" if rate.invalid else text, value, "; ".join(published.remarks))


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
    return variants - BUILDS.keys()


def nearest_published(series: TimedSeries, part: str) -> Published | Missing:
    """Of this very version, else of a machine like this one the nearest version's, of several the one that is most like
    the stack and the first."""
    library, variants, version = split_stack_name(series.stack)

    def is_of_stack(one: PublishedRate) -> bool:
        same = (one.library, one.part, provider(one.variants)) == (library, part, provider(variants))
        return same and series.work.suite in one.suites and is_same_release_line(one, version)

    def unlike(one: PublishedRate) -> tuple[bool, bool, list[int], int, str]:
        far = (one.version != version, is_arm(one.cpu) != is_arm(series.cpu), version_distance(one, version))
        return (*far, len(one.variants ^ variants), one.date)

    best = min(filter(is_of_stack, figures()), key=unlike, default=None)
    return Published(best, series.stack) if best else NOT_PUBLISHED


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
