"""A heap profile that nobody took: two sessions of each role, whose figures can be added up by hand."""

from collections import Counter

from tlsmem.profile.frames import ENTRANCE, Frame
from tlsmem.profile.heap_profile import AllocationTotals, CallstackTree, LiveHeap, Moment, Profile

MODULE = "build/harness/tls@1"


def frame(function: str | None, line: int | None = None, module: str = MODULE) -> Frame:
    file = "memtest/frames.c" if ENTRANCE.fullmatch(function or "") else f"src/{function}.c"
    return Frame(function, file if line else None, line, module, 0x1000 + (line or 0))


# Innermost first, as all stacks.
MAIN = [frame("main", 1)]
SESSION = {role: [frame(f"{role}_session_new", 9), frame("open_sessions", 8), *MAIN] for role in ("client", "server")}
CONTEXT = [frame("server_context_new", 7), *MAIN]
MALLOC = frame("malloc")

PATHS = {
    "client buffer": [
        MALLOC,
        frame("CRYPTO_zalloc", 2),
        frame("buffer_new", 20),
        frame("SSL_new", 30),
        *SESSION["client"],
    ],
    "server buffer": [
        MALLOC,
        frame("CRYPTO_zalloc", 2),
        frame("buffer_new", 20),
        frame("SSL_new", 30),
        *SESSION["server"],
    ],
    "server key": [MALLOC, frame("key_new", 21), frame("SSL_new", 31), *SESSION["server"]],
    "context": [MALLOC, frame("X509_parse", 40), *CONTEXT],
    "table": [MALLOC, frame("wires_new", 50), *MAIN],
    "unnamed": [Frame(None, None, None, "/usr/lib/libfoo.so.1", 0xBEEF), *SESSION["server"]],
    "nobody": [],
}

# Bytes and blocks; at `contexts` a warm-up session has left a key of 10 B.
LIVE = {
    "contexts": {"context": (700, 7), "server key": (10, 1), "table": (64, 1)},
    "sessions": {"context": (700, 7), "client buffer": (2000, 2), "server buffer": (3000, 4), "server key": (30, 3),
                 "table": (64, 1), "unnamed": (5, 1)},
    "peak": {"context": (700, 7), "client buffer": (4000, 4), "server buffer": (3000, 4), "server key": (10, 1),
             "table": (64, 1), "nobody": (226, 2)},
    "end": {"table": (64, 1)},
}  # fmt: skip
ALLOCATED = {"context": (8, 800, 1), "client buffer": (40, 9000, 36), "table": (1, 64, 0), "server key": (3, 30, 3)}


def profile(tool: str = "heaptrack", sessions: int | None = 2, counts: bool = True, moments=tuple(LIVE)) -> Profile:
    """`sessions` of each role; without counts no blocks, as massif has it."""
    stacks = CallstackTree()
    numbers = {name: number(stacks, path) for name, path in PATHS.items()}
    found = {name: moment(name, LIVE[name], numbers, counts) for name in moments}
    made = Profile(tool, "one.zst", "build/harness/tls@1 memory sessions=4", stacks, found)
    made.allocated = {numbers[name]: AllocationTotals(*one) for name, one in ALLOCATED.items()}
    made.sizes = Counter({0: 1, 1: 2, 16: 3, 17: 4, 1000: 9})
    made.runtime_s, made.sessions_of_role, made.of_one_pair = 1.25, sessions, tool == "sites"
    return made


def number(stacks: CallstackTree, path: list[Frame]) -> int:
    found = 0
    for one in reversed(path):
        found = stacks.add(stacks.place((one,)), found)
    return found


def moment(name: str, live: dict[str, tuple[int, int]], numbers: dict[str, int], counts: bool) -> Moment:
    held = {numbers[path]: LiveHeap(size, blocks if counts else None) for path, (size, blocks) in live.items()}
    return Moment(name, sum(size for size, _ in live.values()), held)


def foreign() -> Profile:
    """Of a program without roles or phases."""
    stacks = CallstackTree()
    held = {number(stacks, [MALLOC, frame(f"f{at}", at), *MAIN]): LiveHeap(100 * at, at) for at in range(1, 5)}
    return Profile("massif", "foreign.out", "prog", stacks, {"snapshot 3": Moment("snapshot 3", 1000, held)})
