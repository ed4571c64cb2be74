"""Profiles that nobody took, two of which make a diff; and what tests look at of that."""

from tests.support.synthetic import record
from tlsmem.explore.diff.profile_diff import Diff, compare
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import BASE, CallstackTree, LiveHeap, Moment, Profile

AT = "established"
SSL = "openssl-src-300.5.5+3.5.5/openssl/ssl"
SERVER = (Frame("server_handshake", "memtest/frames.c", 69, "harness", 9), Frame("main", "main.c", 1, "harness", 9))
CLIENT = (Frame("client_handshake", "memtest/frames.c", 68, "harness", 8), Frame("main", "main.c", 1, "harness", 9))
MALLOC = Frame("CRYPTO_malloc", "openssl-src-300.5.5+3.5.5/openssl/crypto/mem.c", 213, "harness", 1)


def frame(function: str | None, line: int | None = 10, file: str | None = f"{SSL}/ssl_lib.c", module: str = "harness"):
    return Frame(function, file if function else None, line if function else None, module, 7)


BUFFER = (MALLOC, frame("ssl3_setup_read_buffer", 20), frame("ssl3_read_n", 30), *SERVER)
OTHER = (MALLOC, frame("SSL_new", 40), *CLIENT)


def profile(live: dict, stack: str | None = "openssl@3.5.5", **given) -> Profile:
    """`live`: bytes (and blocks, else 2) by frames at `established`; or by moment and frames. 2 sessions of a role."""
    moments = live if live and all(isinstance(name, str) for name in live) else {BASE: {}, AT: live}
    stacks, numbers = CallstackTree(), {(): 0}
    found = {}
    for name, held in moments.items():
        sizes = {}
        for frames, size in held.items():
            if frames not in numbers:
                numbers[frames] = stacks.add(stacks.place(frames), 0)
            sizes[numbers[frames]] = LiveHeap(*size) if isinstance(size, tuple) else LiveHeap(size, 2)
        found[name] = Moment(name, sum(one.bytes for one in sizes.values()), sizes)
    asked = given.pop("suite", "tls13-rsa-aes256"), given.pop("sessions", 4)
    run = record("openssl@3.5.5", *asked).model_copy(update={"stack": stack}) if stack else None
    made = {"tool": "heaptrack", "file": f"{stack or 'foreign'}.zst", "run": run}
    return Profile(**made | {"command": "", "stacks": stacks, "moments": found, "sessions_of_role": run and 2} | given)


def rows(diff: Diff) -> list[tuple]:
    return [(row.part, row.stage, row.old.bytes, row.new.bytes) for row in diff.rows]


def joined(old: tuple, new: tuple) -> list[str]:
    """The stages by which one stack of each was joined."""
    return [row.stage for row in compare(profile({old: 2}), profile({new: 4})).rows]
