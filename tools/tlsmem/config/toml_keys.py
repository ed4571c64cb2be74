"""Which keys the tables of memtest/*.toml may have, and of what type: checked before anything is installed or built.

definitions.py asks more of them (what is missing, ranges, patterns), once its packages are there; a test keeps the keys
and types here equal to those there. Standard library only.
"""

import re

TEXT, NUMBER, FLAG, TABLE = "text", "a whole number", "true or false", "a table"
TEXTS = f"a list of {TEXT}"
WIDTH, WIDTHS = f'{NUMBER} or "all"', 'a list of whole numbers or "all"'
SIZES, THREADS = "a list of whole numbers", 'a list of whole numbers, or "cpus"'
SCENARIOS = {"memory": "campaigns", "throughput": "timed", "handshake": "timed"}  # whose keys a campaign has


def table(value: object) -> bool:
    return isinstance(value, dict)


def text(value: object) -> bool:
    return isinstance(value, str)


def number(value: object) -> bool:
    return type(value) is int  # a boolean is an int too


def flag(value: object) -> bool:
    return isinstance(value, bool)


def width(value: object) -> bool:
    return number(value) or value == "all"


def every(fits):
    return lambda value: isinstance(value, list) and all(map(fits, value))


def threads(value: object) -> bool:
    return every(number)(value) or value == "cpus"


FITS = {TABLE: table, TEXT: text, NUMBER: number, FLAG: flag, TEXTS: every(text), WIDTH: width, WIDTHS: every(width)}
FITS |= {SIZES: every(number), THREADS: threads}

KEYS = {
    "stacks": {
        TEXT: "harness licence what driver family manifest binary pkg_config package brings compiler uses mask",
        TEXTS: "features needs include libraries link steps",
        NUMBER: "cpu_seconds",
        FLAG: "tls prefix",
        TABLE: "source expect",
    },
    "source": {TEXT: "crate debian suite version sha256 tree"},
    "expect": {
        TEXT: "missing_client_key group_from heap_varies",
        TEXTS: "refuses another_root another_name another_key missing_file not_sealed",
        NUMBER: "most_tickets",
    },
    "suites": {TEXT: "protocol cipher group certs auth store resume knobs", NUMBER: "tickets"},
    "allocators": {TEXT: "library package settings"},
    "campaigns": {
        TEXT: "scenario sites",
        TEXTS: "stacks suites allocators sessions roles peers envs cpus",
        NUMBER: "n repeats",
        WIDTH: "heap",
        WIDTHS: "windows",
        FLAG: "built_only rss",
    },
    "timed": {
        TEXT: "scenario",
        TEXTS: "stacks suites allocators cpus instructions",
        NUMBER: "repeats",
        SIZES: "sizes",
        THREADS: "threads",
        FLAG: "built_only",
    },
    "cpus": {TABLE: "no-avx512 no-aes baseline"},
    "rules": {TEXT: "bucket why source", TEXTS: "by within"},
}


def key_types(kind: str) -> dict[str, str]:
    """What each key must be, in words."""
    return {key: type_ for type_, keys in KEYS[kind].items() for key in keys.split()}


def check_keys(kind: str, tables: dict) -> None:
    """ValueError naming file, table and key at the first that is unknown or of another type."""
    for name, entry in tables.items():
        place = f"memtest/{kind}.toml: [{name}]"
        if kind == "campaigns" and table(entry):
            check_campaign(place, entry)
        else:
            check_table(kind, place, entry)


def check_campaign(place: str, entry: dict) -> None:
    scenario = entry.get("scenario", "memory")
    if not text(scenario) or scenario not in SCENARIOS:
        raise ValueError(f"{place}: scenario must be one of {', '.join(SCENARIOS)}")
    check_table(SCENARIOS[scenario], place, entry, f" with scenario = {scenario}" if "scenario" in entry else "")


def check_table(kind: str, place: str, entry: object, where: str = "") -> None:
    if not table(entry):
        raise ValueError(f"{place} must be {TABLE}")
    known = key_types(kind)
    for key, value in entry.items():
        if key not in known:
            raise ValueError(f"{place}: there is no key {key}{where}; there are: {', '.join(known)}")
        if not FITS[known[key]](value):
            raise ValueError(f"{place}: {key} must be {known[key]}")
        if known[key] == TABLE and key in KEYS:
            check_table(key, f"{place}: {key}", value)


def check_buckets(tables: dict) -> None:
    """Of memtest/buckets.toml, which has lists of rules; ValueError as check."""
    buckets = tables.get("buckets", {})
    if not table(buckets) or not all(map(text, buckets.values())):
        raise ValueError("memtest/buckets.toml: [buckets] must be a table of texts")
    for family, rules in tables.items():
        if family == "buckets":
            continue
        if not isinstance(rules, list):
            raise ValueError(f"memtest/buckets.toml: [[{family}]] must be a list of tables")
        for number, rule in enumerate(rules, start=1):
            check_rule(f"memtest/buckets.toml: [[{family}]], rule {number}", rule, buckets)


def check_rule(place: str, rule: object, buckets: dict) -> None:
    check_table("rules", place, rule)
    for key in ("bucket", "why", "source"):
        if not rule.get(key):
            raise ValueError(f"{place}: {key} is missing")
    if rule["bucket"] not in buckets:
        raise ValueError(f"{place}: no bucket {rule['bucket']}; there are: {'; '.join(buckets)}")
    if not (rule.get("by") or rule.get("within")):
        raise ValueError(f"{place}: by and within are missing; it needs one of them")
    for pattern in (*rule.get("by", ()), *rule.get("within", ())):
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{place}: {pattern!r} is no regular expression: {error}") from None
