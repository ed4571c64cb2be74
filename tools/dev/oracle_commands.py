"""What the oracle runs: every command that the pages are made by, every table, profile and picture."""

import hashlib
import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TMP = "{TMP}"  # in an argument: a directory of the command's own, which is gone afterwards
NUMBER = re.compile(r"(?<![\w.])[-+−±]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")
OFFICIAL = re.compile(r"(?:<!-- begin: |^Reproduce this figure: `)(tools/.*?)(?: -->|`$)", re.MULTILINE)
NO_JSON = ("explain_buckets", "prove", "query")
FIRST, ALL, STACKS, TIMED = (
    "data/2026-11-21-amd-epyc",
    "data/2026-11-21-amd-epyc-2",
    "data/2026-11-22-amd-epyc",
    "data/2026-11-22-amd-epyc-2",
)
OF_MEMORY = "settings stacks peaks heap rss c10k bends law"
OF_SITES = "roles waterfall accounts sites closings buckets call-sites"
OF_TIME = "factor transfer handshakes sessions configurations threads latency instructions harness noise"
TABLES = {  # which a recording has rows for: one that has none would fail all others of the command
    FIRST: OF_MEMORY,
    ALL: f"{OF_MEMORY} {OF_SITES} interop deployed",
    STACKS: f"{OF_MEMORY} {OF_SITES} published account",
    TIMED: f"settings {OF_TIME}",
}
EVERY_TABLE = f"{OF_MEMORY} {OF_SITES} interop deployed published account {OF_TIME}".split()
MORE = f"""
tools/tabulate.py {ALL} --stack rustls+aws-lc@0.23.46 --stack openssl@3.5.5 --format json
tools/tabulate.py {ALL} --table peaks --n 100 --n 10000 --format csv
tools/tabulate.py {ALL} --roles split --process server --format json
tools/tabulate.py {ALL} --table interop --peer rustls+aws-lc@0.23.46 --format json
tools/tabulate.py {ALL} --allocator system --window all --env lab --cpu all --format json
tools/tabulate.py {STACKS} --campaign stacks --table stacks --format json
tools/plot_mem.py {FIRST} -o {TMP}/memory --n 1000
tools/plot_mem.py {ALL} -o {TMP}/memory
tools/plot_mem.py {ALL} -o {TMP}/interop --campaign interop
tools/plot_mem.py {ALL} -o {TMP}/law --campaign law
tools/plot_mem.py {ALL} -o {TMP}/env --env lab --env deployed
tools/plot_mem.py {STACKS} -o {TMP}/pq --campaign stacks --suite tls13-rsa-aes128-pq
tools/plot_stacks.py {STACKS} -o {TMP}/clients --campaign stacks --suite tls12-rsa-aes256 --role client
tools/plot_releases.py {STACKS} -o {TMP}/releases --campaign stacks --suite tls13-rsa-aes256
tools/plot_versions.py {STACKS} -o {TMP}/aws-lc --library rustls+aws-lc
tools/plot_versions.py {STACKS} -o {TMP}/idle --library rustls+ring --stage idle --role server
tools/plot_buckets.py {ALL} -o {TMP}/tls12 --suite tls12-rsa-aes256
tools/plot_timing.py {TIMED} --out {TMP}/timing
tools/compare.py {FIRST} {ALL} --format json
tools/compare.py {FIRST} {ALL} --phase all --format csv
tools/compare.py {ALL} --by allocator system jemalloc --stack openssl@3.5.5 --meter rss --format json
tools/compare.py {STACKS} --by compiler gcc clang --role server --force --format json
tools/compare.py {TIMED} --by stack openssl@3.5.5 rustls+aws-lc@0.23.46 --force --format json
tools/compare_versions.py {STACKS} --library openssl --format json
tools/compare_versions.py {STACKS} --library openssl --stage idle --table buckets --format json
tools/compare_versions.py {STACKS} --library rustls+aws-lc --format json
tools/compare_versions.py {STACKS} --library rustls+ring --stage created --format json
tools/explain_buckets.py {ALL} --suite tls12-rsa-aes256
tools/explain_buckets.py {STACKS} --suite tls13-rsa-aes256 --stack openssl@3.5.5 --stack rustls+ring@0.23.46
tools/gate.py docs/BUDGET.toml --list
tools/gate.py docs/BUDGET.toml --recording {STACKS} --format json
tools/gate.py docs/BUDGET.toml --recording {STACKS} --junit {TMP}/junit.xml --summary {TMP}/summary.md
tools/prove.py {FIRST}
tools/plan.py memory --connections 10000 --rate 200 --rtt 50ms --stalled-rate 10 --timeout 10s --role both --format json
tools/plan.py storm --clients 20000 --arrivals poisson --limit 500 --timeout 5s --format json -o {TMP}/limited
tools/query.py {TMP}/records.md
tools/report.py {FIRST} {TIMED} --format json
tools/report.py --format files -o {TMP}/report
tools/report.py {FIRST} -o {TMP}/first.html
"""
# report.html of the newest recordings shows the same as the files above, and takes a minute and a half: left out.
VIEWS = f"""
--format json
--format csv --buckets
--format json --phase peak --role server --by blocks --top 20
--format json --by temporary
--format json --phase end
--format json --callers --filter X509|ASN1|cert --role client
--format json --sizes
--folded {TMP}/stacks.folded
--speedscope {TMP}/speedscope.json
--flamegraph {TMP}/flames.svg
--flamegraph {TMP}/flames.html
"""

Argv = list[str]


def recordings() -> list[str]:
    return sorted({str(file.parent.relative_to(ROOT)) for file in (ROOT / "data").glob("*/*.jsonl*")})


def official() -> Iterator[Argv]:
    """What the pages say they are made by: as it stands, and as JSON where there is that.

    Of the largest recording, which takes ten seconds to read, JSON is of all together: of TABLES and MORE."""
    pages = [file.read_text() for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))]
    for command in dict.fromkeys(command for page in pages for command in OFFICIAL.findall(page)):
        argv = [re.sub(r"^docs/figures", TMP, part) for part in shlex.split(command)]
        yield argv
        if "plot_" not in argv[0] and STACKS not in argv and not any(name in argv[0] for name in NO_JSON):
            yield [*argv, "--format", "json"]


def recording_commands(recording: str) -> Iterator[Argv]:
    tabulate = ["tools/tabulate.py", recording]
    tables = [part for name in TABLES.get(recording, "").split() for part in ("--table", name)]
    yield [*tabulate, "--format", "json"]
    for form in ("json", "csv") if tables else ():
        yield [*tabulate, *tables, "--format", form]
    smallest = min((ROOT / recording).glob("*.jsonl*"), key=lambda file: (file.stat().st_size, file.name))
    for name in EVERY_TABLE:  # one by one, with the sentence of each that has no rows
        yield ["tools/tabulate.py", str(smallest.relative_to(ROOT)), "--table", name, "--format", "json"]


def profile_commands() -> Iterator[Argv]:
    profiles = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "data").glob("*/profiles/*.zst"))
    inspect = "tools/inspect_heaptrack.py"
    for profile in profiles:
        for view in VIEWS.strip().splitlines():
            yield [inspect, profile, *view.split()]
    for old, new in pairwise(profiles):
        yield [inspect, "--diff", old, new, "--force", "--format", "json"]
    if len(profiles) > 1:
        diff = [inspect, "--diff", profiles[0], profiles[-1], "--force"]
        yield [*diff, "--folded", f"{TMP}/diff.folded"]
        yield [*diff, "--flamegraph", f"{TMP}/diff.html"]
    yield [inspect, STACKS, "--stack", "openssl@3.5.5", "--suite", "tls13-rsa-aes256", "--format", "json"]


def commands() -> dict[str, Argv]:
    """By name; what takes longest first."""
    every = [argv for recording in recordings() for argv in recording_commands(recording)]
    every += [*official(), *profile_commands(), *(line.split() for line in MORE.strip().splitlines())]
    every.sort(key=lambda argv: ("report" not in argv[0], STACKS not in argv))
    return {name_of(argv): argv for argv in every}


def name_of(argv: Argv) -> str:
    said = re.sub(r"tools/|\.py\b|data/|\S*profiles/|\.1000\.heaptrack\.zst", "", " ".join(argv))
    name = re.sub(r"[^\w.+@-]+", "_", said)
    return name if len(name) < 120 else f"{name[:110]}-{digest(said)[:8]}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
