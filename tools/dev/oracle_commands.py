"""What the oracle runs: every command that the pages are made by, every table, profile, picture and answer.

Commands are those of `tools/tls-memtest`, also where the tree has scripts instead: see oracle_names.py."""

import hashlib
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from oracle_names import COMMAND, translate_to_new

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tlsmem.config.topic import topics

ROOT = Path(__file__).resolve().parents[2]
TMP = "{TMP}"  # in an argument: a directory of the command's own, with the page that it names; gone afterwards
NUMBER = re.compile(r"(?<![\w.])[-+−±]?\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")
OFFICIAL = re.compile(
    r"(?:<!-- begin: |^Reproduce this figure: `)((?:tools/|tls-memtest ).*?)(?: -->|`$)", re.MULTILINE
)
NO_JSON = {"why", "help", "data", "show"}  # but tables; of pictures what is drawn is kept
ASKED = (  # the suites that people ask for
    "tls12-rsa-aes256",
    "tls13-rsa-aes256",
    "tls13-rsa-aes256-mutual",
    "tls13-rsa-aes256-pq",
    "tls13-ecdsa-aes256",
    "tls13-mldsa65-aes256",
)
FIRST, ALL, STACKS, TIMED = (
    "data/2026-11-21-amd-epyc",
    "data/2026-11-21-amd-epyc-2",
    "data/2026-11-22-amd-epyc",
    "data/2026-11-22-amd-epyc-2",
)
CHAINS = "data/2026-11-24-amd-epyc-p0457-chains"
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
EVERY_TABLE += ["in-use", "runtime", *(table.name for topic in topics() for table in topic.tables)]
WHOLE = f"show report --format files -o {TMP}/report"
MORE = f"""
show tables {ALL} --stack rustls+aws-lc@0.23.46 --stack openssl@3.5.5 --format json
show tables {ALL} --table peaks --n 100 --n 10000 --format csv
show tables {ALL} --roles split --process server --format json
show tables {ALL} --table interop --peer rustls+aws-lc@0.23.46 --format json
show tables {ALL} --allocator system --window all --env lab --cpu all --format json
show tables {STACKS} --campaign stacks --table stacks --format json
show mem {FIRST} -o {TMP}/memory --n 1000
show mem {ALL} -o {TMP}/memory
show mem {ALL} -o {TMP}/interop --campaign interop
show mem {ALL} -o {TMP}/law --campaign law
show mem {ALL} -o {TMP}/env --env lab --env deployed
show mem {STACKS} -o {TMP}/pq --campaign stacks --suite tls13-rsa-aes128-pq
show stacks {STACKS} -o {TMP}/clients --campaign stacks --suite tls12-rsa-aes256 --role client
show releases {STACKS} -o {TMP}/releases --campaign stacks --suite tls13-rsa-aes256
show versions {STACKS} -o {TMP}/aws-lc --library rustls+aws-lc
show versions {STACKS} -o {TMP}/idle --library rustls+ring --stage idle --role server
show parts {ALL} -o {TMP}/tls12 --suite tls12-rsa-aes256
show timing {TIMED} -o {TMP}/timing
diff recordings {FIRST} {ALL} --format json
diff recordings {FIRST} {ALL} --phase all --format csv
diff recordings {ALL} --by allocator system jemalloc --stack openssl@3.5.5 --meter rss --format json
diff recordings {STACKS} --by compiler gcc clang --role server --force --format json
diff recordings {TIMED} --by stack openssl@3.5.5 rustls+aws-lc@0.23.46 --force --format json
diff releases {STACKS} --library openssl --format json
diff releases {STACKS} --library openssl --stage idle --table buckets --format json
diff releases {STACKS} --library rustls+aws-lc --format json
diff releases {STACKS} --library rustls+ring --stage created --format json
why {ALL} --suite tls12-rsa-aes256
why {STACKS} --suite tls13-rsa-aes256 --stack openssl@3.5.5 --stack rustls+ring@0.23.46
gate docs/BUDGET.toml --list
gate docs/BUDGET.toml --recording {STACKS} --format json
gate docs/BUDGET.toml --recording {STACKS} --junit {TMP}/junit.xml --summary {TMP}/summary.md
plan memory --connections 10000 --rate 200 --rtt 50ms --stalled-rate 10 --timeout 10s --role both --format json
plan storm --clients 20000 --arrivals poisson --limit 500 --timeout 5s --format json -o {TMP}/limited
data sql --into {TMP}/docs/reference/records.md
data verify {FIRST}
data schema
stacks --format json
cost openssl@3.5.5 rustls gnutls --explain --format json
cost openssl rustls --recorded --format json
show tables {CHAINS} --table certificates --table certificate-sites --format json
show report {FIRST} {TIMED} --format json
{WHOLE}
show report {FIRST} -o {TMP}/first.html
show report -o {TMP}/report.html
"""
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
OF_KIND = re.compile(rf" --suite (?!(?:{'|'.join(ASKED)}) )\S+| --stack \S+| \S+@\S+| data/\S+\.zst")

Argv = list[str]
WHOLE_REPORT: Argv = [COMMAND, *WHOLE.split()]


def recordings() -> list[str]:
    return sorted({str(file.parent.relative_to(ROOT)) for file in (ROOT / "data").glob("*/*.jsonl*")})


def stacks() -> list[str]:
    return sorted({file.name.partition(".jsonl")[0] for file in (ROOT / "data").glob("*/*.jsonl*")})


def suites() -> list[str]:
    return list(tomllib.loads((ROOT / "memtest/suites.toml").read_text()))


def official() -> Iterator[Argv]:
    """Yield what the pages say they are made by: as it stands, and as JSON where there is that.

    Of the largest recording, which takes ten seconds to read, JSON is of all together: of TABLES and MORE."""
    pages = [file.read_text() for file in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))]
    for command in dict.fromkeys(command for page in pages for command in OFFICIAL.findall(page)):
        argv = translate_to_new([re.sub(r"^docs/(figures|slides)", TMP, part) for part in shlex.split(command)])
        yield argv
        has_json = argv[0] == COMMAND and (argv[1:3] == ["show", "tables"] or argv[1] not in NO_JSON)
        if has_json and not {STACKS, "--format", "--page", "-o"} & set(argv):
            yield [*argv, "--format", "json"]


def recording_commands(recording: str) -> Iterator[Argv]:
    tabulate = [COMMAND, "show", "tables"]
    tables = [part for name in TABLES.get(recording, "").split() for part in ("--table", name)]
    yield [*tabulate, recording, "--format", "json"]
    for form in ("json", "csv") if tables else ():
        yield [*tabulate, recording, *tables, "--format", form]
    smallest = min((ROOT / recording).glob("*.jsonl*"), key=lambda file: (file.stat().st_size, file.name))
    for name in EVERY_TABLE:  # one by one, with the sentence of each that has no rows
        yield [*tabulate, str(smallest.relative_to(ROOT)), "--table", name, "--format", "json"]


def profile_commands() -> Iterator[Argv]:
    profiles = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "data").glob("*/profiles/*.zst"))
    read = [COMMAND, "heap", "read"]
    for profile in profiles:
        for view in VIEWS.strip().splitlines():
            yield [*read, profile, *view.split()]
    for old, new in pairwise(profiles):
        yield [*read, "--diff", old, new, "--force", "--format", "json"]
    if len(profiles) > 1:
        diff = [*read, "--diff", profiles[0], profiles[-1], "--force"]
        yield [*diff, "--folded", f"{TMP}/diff.folded"]
        yield [*diff, "--flamegraph", f"{TMP}/diff.html"]
    yield [*read, STACKS, "--stack", "openssl@3.5.5", "--suite", "tls13-rsa-aes256", "--format", "json"]


def answer_commands() -> Iterator[Argv]:
    """Yield cost for all recorded stacks in each suite, and plan for each stack and role in the suites of ASKED."""
    for suite in dict.fromkeys([*ASKED, *suites()]):
        yield [COMMAND, "cost", "--suite", suite, "--format", "json", *stacks()]
    for suite in ASKED:
        for stack in dict.fromkeys(["openssl@3.5.5", *stacks()]):
            for role in ("server", "client"):
                asked = ["--suite", suite, "--stack", stack, "--role", role]
                yield [COMMAND, "plan", "memory", "--connections", "1000", *asked, "--format", "json"]


def commands() -> list[Argv]:
    """Return the arguments of all, each once; what takes longest first."""
    every = [argv for recording in recordings() for argv in recording_commands(recording)]
    every += [*official(), *profile_commands(), *answer_commands(), ["tools/dev/prove.py", FIRST]]
    every += [[COMMAND, *line.split()] for line in MORE.strip().splitlines()]
    every.sort(key=lambda argv: (argv[1:3] != ["show", "report"], STACKS not in argv))
    return list({name_of(argv): argv for argv in every}.values())


def once_each(every: Iterable[Argv]) -> list[Argv]:
    """Return one command of each kind: each table, picture, view of a profile, and answer. Commands of a kind differ in
    files, stacks and suites only. All recordings stay, as each has tables of its own, and the suites of ASKED. Left out
    are the files of a whole report, which take minutes: its page has their figures."""
    first: dict[str, Argv] = {}
    for argv in every:
        first.setdefault(OF_KIND.sub("", " ".join(argv)), argv)
    return [argv for argv in first.values() if argv != WHOLE_REPORT]


def name_of(argv: Argv) -> str:
    said = " ".join(argv).removeprefix(f"{COMMAND} ")
    said = re.sub(r"tools/|\.py\b|data/|\S*profiles/|\.1000\.heaptrack\.zst", "", said)
    name = re.sub(r"[^\w.+@-]+", "_", said)
    return name if len(name) < 120 else f"{name[:110]}-{digest(said)[:8]}"


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
