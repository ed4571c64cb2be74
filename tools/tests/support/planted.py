"""Recordings in which it is known where every byte of a session is from, so that what is planted must be found."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.support import synthetic
from tlsmem.schema.records import RecordLine

STACK, SUITE = "openssl@3.5.5", "tls13-rsa-aes256"
Sites = dict[str, dict[str, tuple[int, int]]]  # by role and function: bytes and blocks of a session
SITES: Sites = {
    "client": {"SSL_new": (9_000, 3), "tls_construct_client_hello": (5_100, 37)},
    "server": {"SSL_new": (10_000, 20), "tls_construct_server_hello": (4_116, 20)},
}
NAMES = [name for sites in SITES.values() for name in sites]
TEMPORARY: Sites = {"client": {"tls_parse_certificate": (900, 9)}, "server": {"tls_sign": (640, 5)}}  # freed at once
MOMENTARY: Sites = {"client": {"EVP_PKEY_verify": (7_000, 4)}, "server": {"tls_sign": (640, 5)}}  # at the peak alone
PEAK_PHASE = "client 1"  # the phase with that peak; in every other one the peak is what is live
COUNTS = (20, 200)


def with_sites(role: str, **changed: tuple[int, int]) -> Sites:
    """SITES, but for these."""
    return SITES | {role: SITES[role] | changed}


def sums(sites: dict[str, tuple[int, int]]) -> tuple[int, int]:
    return tuple(map(sum, zip(*sites.values(), strict=True)))


def heap(now: tuple[int, int], made: tuple[int, int]) -> dict[str, int]:
    """What is live, of what was ever made."""
    size, blocks = now
    live = {"live_bytes": size, "live_blocks": blocks, "peak_bytes": size, "peak_blocks": blocks}
    return live | {"cumulative_bytes": made[0], "cumulative_blocks": made[1]}


def peak_heap(counts: dict[str, int], momentary: dict[str, tuple[int, int]]) -> dict[str, int]:
    """With what each session holds for a moment: one after the other, so the process has it once."""
    size, blocks = sums(momentary)
    more = {"peak_bytes": size, "peak_blocks": blocks, "cumulative_bytes": size, "cumulative_blocks": blocks}
    return {name: count + more.get(name, 0) for name, count in counts.items()}


def list_blocks(sites: Sites, names: list[tuple[str, str]], **fields: str) -> list[dict]:
    """Entries of call stacks with a session's blocks."""
    return [
        {"role": role, **fields, "stack": names.index((role, function)), "blocks": blocks, "bytes": size}
        for role, of_role in sites.items()
        for function, (size, blocks) in of_role.items()
        if blocks
    ]


def phase(
    name: str,
    pairs: int,
    sites: Sites,
    meter: str,
    known: Sites,
    rest_bytes: int = 0,
    temporary: Sites | None = None,
    momentary: Sites | None = None,
) -> dict:
    """`known`: what call stacks tell of a pair; `rest_bytes` of each session are of no call stack, the client's;
    `temporary`: what a session allocates and frees when it is made, None where that is not recorded; `momentary`: what
    it also has at its peak in PEAK_PHASE, None where call stacks at peaks are not recorded."""
    made = synthetic.phase(name, synthetic.SHAPES[STACK], 2 * pairs, meter, 0)
    if meter == "rss":
        return made
    there = name in synthetic.MADE
    nothing = heap((0, 0), (0, 0))
    heaps = dict.fromkeys(("client_context", "server_context", "harness"), nothing)
    for role, of_role in sites.items():
        size, blocks = sums(of_role)
        size += rest_bytes if role == "client" else 0
        freed = sums(temporary[role]) if temporary and temporary.get(role) else (0, 0)
        made_in_all = tuple(pairs * (here + gone) for here, gone in zip((size, blocks), freed, strict=True))
        now = (pairs * size, pairs * blocks) if there else (0, 0)
        heaps[role] = heap(now, (0, 0) if name == "contexts" else made_in_all)
        if momentary and name == PEAK_PHASE:
            heaps[role] = peak_heap(heaps[role], momentary[role])
    heaps["total"] = {key: sum(one[key] for one in heaps.values()) for key in nothing}
    made["heap"] = heaps
    if meter == "sites":
        names = functions(known) + functions(temporary or {}) + functions(momentary or {})
        live = list_blocks(known, names, since="sessions") if there else []
        made["sites"] = synthetic.alike(pairs) | {"live": live}
        if temporary is not None:
            made["sites"]["temporary"] = list_blocks(temporary, names) if name == "sessions" else []
        if momentary is not None:
            more = list_blocks(momentary, names, since=name) if name == PEAK_PHASE else []
            made["sites"] |= peak([*live, *more])
    return made


def peak(blocks: list[dict]) -> dict:
    """Of a phase's sites: these blocks, live at the peaks."""
    counted = {role: sum(one["bytes"] for one in blocks if one["role"] == role) for role in ("client", "server")}
    return {"peak": blocks, "peak_bytes": counted}


def functions(sites: Sites) -> list[tuple[str, str]]:
    return [(role, name) for role, of_role in sites.items() for name in of_role]


def stacks(*sites: Sites) -> dict:
    """function < ROLE_handshake < main."""
    known = [one for some in sites for one in functions(some)]
    names = list(dict.fromkeys(name for _, name in known))
    inner = ["CRYPTO_malloc", *names, "client_handshake", "server_handshake", "main"]
    frames = [
        {"function": name, "file": "memtest/frames.c" if name.endswith("_handshake") else "openssl/ssl/ssl.c"}
        | {"line": 10 + at, "module": "build/harness/openssl@3.5.5", "offset": at}
        for at, name in enumerate(inner)
    ]
    found = [[0, inner.index(name), inner.index(f"{role}_handshake"), len(inner) - 1] for role, name in known]
    return {"frames": frames, "stacks": found}


def run(
    meter: str,
    sessions: int,
    sites: Sites = SITES,
    known: Sites | None = None,
    rest_bytes: int = 0,
    temporary: Sites | None = None,
    momentary: Sites | None = None,
    **kind,
) -> RecordLine:
    known = known or sites
    args = (sessions // 2, sites, meter, known, rest_bytes, temporary, momentary)
    phases = [phase(name, *args) for name in synthetic.PHASES]
    told = stacks(known, temporary or {}, momentary or {})
    made = {"phases": phases} | ({"sites": told} if meter == "sites" else {}) | kind
    stack, suite = made.pop("stack", STACK), made.pop("suite", SUITE)
    return synthetic.record(stack, suite, sessions, meter, **made)


def counted(sites: Sites = SITES, known: Sites | None = None, rest_bytes: int = 0, **kind) -> list[RecordLine]:
    """Heap runs at two N and a sites run."""
    runs = [run("heap", sessions, sites, rest_bytes=rest_bytes, **kind) for sessions in COUNTS]
    return [*runs, run("sites", COUNTS[-1], sites, known, rest_bytes, **kind)]


def resident(factors: Sequence[float], counts: Sequence[int] = (100, 1000, 5000), **kind) -> list[RecordLine]:
    """RSS runs, a repeat for each factor."""
    runs = ((sessions, repeat, factor) for repeat, factor in enumerate(factors, start=1) for sessions in counts)
    return [synthetic.scaled(run("rss", sessions, **kind), factor, repeat) for sessions, repeat, factor in runs]


def write(recording: Path, *runs: Iterable[RecordLine]) -> Path:
    return synthetic.write(recording, [one for some in runs for one in some])
