"""A harness that obeys, or misbehaves as its name says: what a test puts at build/harness/BEHAVIOUR@1."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

METERS = ("rss_bytes", "rss_anon_bytes", "rss_file_bytes", "rss_shmem_bytes", "peak_rss_bytes")
COUNTS = (*METERS, "minor_faults", "major_faults", "wire_bytes")
HEAP = ("live_bytes", "live_blocks", "peak_bytes", "peak_blocks", "cumulative_bytes", "cumulative_blocks")
BEFORE = ("contexts", "sessions", "client 1", "server 1", "established")
TRAFFIC = ("payload", "reply")
FULL = ("full payload", "full reply", "blocked")
AFTER = ("idle", "closed", "trimmed", "freed")
ROLES = ("client", "server", "client_context", "server_context", "harness", "total")
FREE = ("contexts", "closed", "trimmed", "freed")
SESSION = {"_bytes": 4072, "blocks": 3}  # as of the null stack; by the last letters of a figure's name
TIMED = {
    "handshake": ("client_new", "client", "client_free", "server_new", "server", "server_free"),
    "throughput": ("send", "receive"),
}
DEFAULTS = {"data": "short", "role": "both", "keep": "both", "threads": "1", "aslr": "off", "thp": "off"}


def say(record: str, **fields) -> None:
    print(json.dumps({"record": record, **fields}), flush=True)


def end_with(sentence: str, status: int) -> None:
    print(sentence, file=sys.stderr)
    sys.exit(status)


class Barrier:
    """A byte each way; alone there is nobody to wait for."""

    def __init__(self, asked: dict[str, str]) -> None:
        self.other = {"client": "server", "server": "client"}.get(asked["role"])
        self.socket = socket.socket(fileno=int(asked["barrier"])) if self.other else None
        if self.other:
            os.ftruncate(int(asked["wires"]), 4096)

    def meet(self) -> None:
        try:
            here = not self.socket or (self.socket.send(b"1"), self.socket.recv(1))[1]
        except OSError:
            here = b""
        if not here:
            end_with(f"memtest: pretender: the {self.other}'s process has ended", 1)


def timed_lines(asked: dict[str, str], behaviour: str, scenario: str) -> None:
    """Every interval takes 1,000 ns."""
    threads, rounds, cpus = int(asked["threads"]), int(asked["rounds"]), list(map(int, asked["cpus"].split(",")))
    fields = dict.fromkeys(("role", "keep"), "both") | {"aslr": "off", "thp": "off", "cpu": None, "notes": []}
    size = {"size_bytes": int(asked["size"])} if "size" in asked else {}
    fields |= {
        "schema": 4,
        "data": "short",
        "stack": "pretender",
        "reported": "pretender 1",
        "scenario": scenario,
        "meter": "time",
    }
    fields |= {"sessions": 2 * threads, "threads": threads, "window": "all", "rounds": rounds, "warmup_rounds": 1}
    say("run", **fields, **size, cpus=cpus)
    rounds //= 2 if behaviour in ("early", "lazy") else 1
    elapsed_ns = 10**9 * int(asked["seconds"]) if behaviour == "early" else 9000 * rounds
    resumed = rounds if asked["resume"] == "on" else 0
    parts = TIMED[scenario]
    timed = {"count": rounds, "total_ns": 1000 * rounds} | ({"bytes": rounds * 65536} if size else {})
    intervals = [[1000, rounds]]
    for thread in range(threads - (behaviour == "fewer")):
        told = [{"part": part, **timed, "histogram": intervals} for part in parts[behaviour == "short" :]]
        told += [{"part": part, "count": 1, "total_ns": 10} for part in ("wire_write", "wire_read", "clock")]
        mine = {"thread": thread, "cpu": cpus[thread % len(cpus)], "rounds": rounds, "elapsed_ns": elapsed_ns}
        say("thread", **mine, resumed=resumed - (behaviour == "miss"), preempted=0, parts=told)
    misbehave(behaviour)
    end_line(asked, behaviour)


def run_line(asked: dict[str, str], meter: str) -> None:
    sessions, window = int(asked["sessions"]), asked["window"]
    whole = window == "all" or int(window) >= sessions // 2
    thp = Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text().partition("[")[2].partition("]")[0]
    say(
        "run",
        schema=4,
        data=asked["data"],
        stack="pretender",
        reported="pretender 1",
        scenario="memory",
        sessions=sessions,
        role=asked["role"],
        keep=asked["keep"],
        threads=int(asked["threads"]),
        window="all" if whole else int(window),
        meter=meter,
        aslr=asked["aslr"],
        thp=thp if asked["thp"] == "host" else "off",
        cpu=int(asked["cpu"]) if "cpu" in asked else None,
        notes=[f"I am {asked['role']}"] if asked["role"] != "both" else [],
    )


def phase_line(phase: str, asked: dict[str, str], meter: str) -> None:
    sessions = int(asked["sessions"])
    fields = dict.fromkeys(COUNTS, 1_000_000 + 10_000 * sessions) | {"rss_file_bytes": 0, "rss_shmem_bytes": 0}
    held = () if phase in FREE else ("client", "server") if asked["role"] == "both" else (asked["role"],)
    if meter != "rss":
        pairs = {role: sessions // 2 if role in held else 0 for role in ROLES}
        pairs["total"] = sum(pairs.values())
        fields["heap"] = {role: {name: SESSION[name[-6:]] * pairs[role] for name in HEAP} for role in ROLES}
    if meter == "sites":
        live = [{"role": role, "since": "sessions", "stack": 0, "blocks": 3, "bytes": 4072} for role in held]
        alike = dict.fromkeys(("pairs", "alike", "identical"), sessions // 2)
        fields["sites"] = {"pair": 0, **alike, "live": live, "stack_bytes": {"client": 1, "server": None}}
        freed = held if phase == "sessions" else ()
        fields["sites"]["temporary"] = [{"role": role, "stack": 0, "blocks": 1, "bytes": 8} for role in freed]
        fields["sites"] |= {"peak": live, "peak_bytes": {role: 4072 * (role in held) for role in ("client", "server")}}
    say("phase", phase=phase, process=asked["role"], **fields)


def misbehave(behaviour: str) -> None:
    if behaviour == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if behaviour == "realtime":  # a signal that has no name
        os.kill(os.getpid(), 40)
    if behaviour == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
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
        end_with("a first word\nmemtest: pretender: handshakes incomplete after 10 steps", 1)
    if behaviour == "silent":
        sys.exit(0)


def retries(asked: dict[str, str]) -> bool:
    """A client that begins with another group than the server's."""
    offered = asked.get("client_groups", asked["group"])
    return offered != "library" and offered.partition(":")[0] != asked["group"]


def end_line(asked: dict[str, str], behaviour: str) -> None:
    agreed = {
        "protocol": asked["protocol"],
        "cipher": "NULL" if behaviour == "weak" else asked["cipher"],
        "group": asked["group"].lower(),
        "group_from": "offer",
        "resumed": behaviour == "resumed" or asked.get("resume") == "on",
        "retried": retries(asked),
        "client_verified": None if asked["role"] == "server" else True,
        "server_verified": None if asked["role"] == "client" else False,
    }
    say("end", status="measured", negotiated=agreed, elapsed_ns=1)


def main() -> None:
    behaviour = Path(sys.argv[0]).name.partition("@")[0]
    asked = DEFAULTS | dict(word.partition("=")[::2] for word in sys.argv[2:])
    preloaded = "heapmeter" in os.environ.get("LD_PRELOAD", "")
    meter = ("sites" if os.environ.get("HEAPMETER_SITES") else "heap") if preloaded else "rss"
    if behaviour == "refuse":
        end_with("pretender: no TLS at all", 77)
    if behaviour == "foreign":
        return say("run", schema=3, stack="pretender")
    if sys.argv[1] in TIMED:
        return timed_lines(asked, behaviour, sys.argv[1])
    barrier = Barrier(asked)
    run_line(asked, meter)
    if meter == "sites":
        say("stack", stack=0, frames=[f"{sys.argv[0]}+0x10"])
    used = (*TRAFFIC, *(FULL if asked["data"] == "full" else ()))
    phases = [*BEFORE, *(used if asked["keep"] == "both" else ()), *AFTER]
    for phase in phases[:-1] if behaviour == "short" else phases:
        phase_line(phase, asked, meter)
        if phase == "trimmed":
            misbehave(behaviour)
        barrier.meet()
    end_line(asked, behaviour)


if __name__ == "__main__":
    main()
