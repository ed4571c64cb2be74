"""A harness that obeys, or misbehaves as its name says: what a test puts at build/harness/BEHAVIOUR@1."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

METERS = ("rss_bytes", "rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes", "peak_rss_bytes")
COUNTS = (*METERS, "minor_faults", "major_faults", "wire_bytes")
HEAP = ("live_bytes", "live_blocks", "peak_bytes", "peak_blocks", "cumulative_bytes", "cumulative_blocks")
PHASES = (
    "contexts",
    "sessions",
    "client 1",
    "server 1",
    "established",
    "payload",
    "reply",
    "idle",
    "closed",
    "trimmed",
    "freed",
)
ROLES = ("client", "server", "client_context", "server_context", "harness", "total")


def say(record: str, **fields) -> None:
    print(json.dumps({"record": record, **fields}), flush=True)


def run_line(asked: dict[str, str], meter: str) -> None:
    sessions, window = int(asked["sessions"]), asked["window"]
    whole = window == "all" or int(window) >= sessions // 2
    say(
        "run",
        schema=2,
        stack="pretender",
        reported="pretender 1",
        scenario="memory",
        sessions=sessions,
        role="both",
        keep="both",
        threads=1,
        window="all" if whole else int(window),
        meter=meter,
        aslr="off",
        thp="off",
        cpu=int(asked["cpu"]),
        notes=[],
    )


def phase_line(phase: str, sessions: int, meter: str) -> None:
    fields = dict.fromkeys(COUNTS, 1_000_000 + 10_000 * sessions)
    heap = {"heap": {role: dict.fromkeys(HEAP, 4072 * sessions) for role in ROLES}} if meter == "heap" else {}
    say("phase", phase=phase, process="both", **fields, **heap)


def main() -> None:
    behaviour = Path(sys.argv[0]).name.partition("@")[0]
    asked = dict(word.partition("=")[::2] for word in sys.argv[2:])
    meter = "heap" if "heapmeter" in os.environ.get("LD_PRELOAD", "") else "rss"
    if behaviour == "refuse":
        print("pretender: no TLS at all", file=sys.stderr)
        sys.exit(77)
    if behaviour == "foreign":
        return say("run", schema=3, stack="pretender")
    run_line(asked, meter)
    for phase in PHASES[:-1] if behaviour == "short" else PHASES:
        phase_line(phase, int(asked["sessions"]), meter)
    if behaviour == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if behaviour in ("hang", "slow"):
        time.sleep(3600 if behaviour == "hang" else 0.2)
    if behaviour == "garbage":
        print("Segmentation fault (not really)")
    if behaviour == "flood":
        while True:
            print("." * 1024 * 1024)
    if behaviour == "torrent":
        os.execvp("cat", ["cat", "/dev/zero"])
    if behaviour == "orphan":  # in a session of its own, with the pipes open
        subprocess.Popen(["sleep", "8"], start_new_session=True)
    if behaviour == "mutter":
        print(*(f"Invalid conf pair: {number}" for number in range(7)), sep="\n", file=sys.stderr)
    if behaviour == "fail":
        print("a first word\nmemtest: pretender: handshakes incomplete after 10 steps", file=sys.stderr)
        sys.exit(1)
    if behaviour == "silent":
        return
    cipher = "NULL" if behaviour == "weak" else asked["cipher"]
    agreed = {
        "protocol": asked["protocol"],
        "cipher": cipher,
        "group": asked["group"].lower(),
        "group_from": "offer",
        "resumed": False,
        "client_verified": True,
        "server_verified": False,
    }
    say("end", status="measured", negotiated=agreed, elapsed_ns=1)


if __name__ == "__main__":
    main()
