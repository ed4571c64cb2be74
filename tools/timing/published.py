"""Rates that others published, of the same stack and suite: of their machines, and by their harnesses."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from definitions import ROOT
from tables import Cell, hole
from timing.figures import number

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
class Published:
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
        _, ours, version = named(stack)
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
        exact = self.version == named(stack)[2]
        text = number(self.rate) if exact else f"({self.version}: {number(self.rate)})"
        return Cell(f"[{text}]" if self.invalid else text, value, "; ".join(self.remarks(stack, suite)))


def named(stack: str) -> tuple[str, frozenset[str], str]:
    """Library, variants, version."""
    name, _, version = stack.partition("@")
    library, *variants = name.split("+")
    return library, frozenset(variants), version


def numbers(version: str) -> tuple[int, ...] | None:
    """None of what is not counted upwards: a commit."""
    return tuple(map(int, version.split("."))) if re.fullmatch(r"\d+\.\d+\.\d+", version) else None


def of_2023(row: dict[str, str]) -> Published:
    kind, tls, cipher, part = re.fullmatch(r"(.*)_(1\.\d)_ECDHE_RSA_(.*)_([a-z]+)", row["scenario"]).groups()
    resumed = RESUMED[kind.removeprefix("handshake-")] if kind != "bulk" else ""
    variants = [row["provider"]] * bool(row["provider"]) + ["clang"] * (row["compiler"] == "clang")
    variants += ["jemalloc-rust"] * (row["allocator"] == "jemalloc")
    return Published(
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


def of_report(row: dict[str, str]) -> Published:
    kind, tls, *key, part = row["scenario"].split(", ")
    cipher = CIPHERS[key[0]] if kind == "transfer" else "aes256"
    certificates = key[0] if kind == "full handshakes" else "rsa"
    hybrid = "-pq" if kind != "transfer" and tls == "1.3" and row["date"] >= POST_QUANTUM else ""
    suite = f"tls{tls.replace('.', '')}-{certificates}-{cipher}{hybrid}"
    return Published(
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
def figures() -> list[Published]:
    return [*map(of_2023, rows(OF_2023)), *map(of_report, rows(REPORTS))]


def provider(variants: frozenset[str]) -> frozenset[str]:
    return variants - MANNER.keys()


def beside(stack: str, suite: str, part: str) -> Cell:
    """Of this version, of several the one most like the stack; else of the nearest version; or a hole."""
    library, variants, version = named(stack)
    found = [one for one in figures() if one.library == library and suite in one.suites and one.part == part]
    found = [one for one in found if provider(one.variants) == provider(variants)]
    exact = [one for one in found if one.version == version]
    if exact:
        return min(exact, key=lambda one: (len(one.variants ^ variants), one.date)).cell(stack, suite)
    near = nearest(found, version) if library in NUMBERED else max(found, key=lambda one: one.date, default=None)
    return near.cell(stack, suite) if near else hole(NONE)


def nearest(found: list[Published], version: str) -> Published | None:
    """Of the same line of releases: 3.x, or 0.23.x."""
    ours = numbers(version)
    if not ours:
        return None
    line = 2 if ours[0] == 0 else 1
    near = [one for one in found if one.numbers and one.numbers[:line] == ours[:line]]
    apart = {one: [abs(a - b) for a, b in zip(one.numbers, ours, strict=True)] for one in near}
    return min(near, key=lambda one: (apart[one], one.date), default=None)
