#!/usr/bin/env python3
"""Pages for the browser's tests: `examples.py DIRECTORY`; of a recording, and by hand."""

import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOOLS))

# ruff: noqa: E402

from tests.support import planted
from tlsmem.explore.diff import profile_diff
from tlsmem.explore.flamegraph import write_flamegraph
from tlsmem.profile import sites_reader
from tlsmem.profile.frames import Frame
from tlsmem.profile.heap_profile import BASE, END, PEAK, CallstackTree, LiveHeap, Moment, Profile
from tlsmem.schema import read_records

RECORDING = TOOLS.parent / "data/2026-11-21-amd-epyc-2"
NEWER = TOOLS.parent / "data/2026-11-22-amd-epyc"
WICKED = '</script><script>document.title = "taken"</script><!-- <b>&amp;'
SESSIONS = 10  # of a role
ENTRANCES = ("client_", "server_")  # to a driver: of our own source


def read_run(stack: str, suite: str, recording: Path = RECORDING) -> Profile:
    runs = [
        run
        for run in read_records.load_file(recording / f"{stack}.jsonl")
        if (run.meter, run.suite) == ("sites", suite)
    ]
    return sites_reader.profile_from_record(max(runs, key=lambda run: run.sessions))


def by_hand() -> Profile:
    """Ten sessions of each role: 50 bytes for each client's, 70 for each server's, above what was there before; and
    what is no session's."""
    stacks = CallstackTree()

    def stack(*functions: str) -> int:
        caller = 0
        for line, function in enumerate(("main", *functions), start=1):
            file = "memtest/frames.c" if function.startswith(ENTRANCES) else f"it/{function[:4]}.c"
            caller = stacks.add(stacks.place((Frame(function, file, line, "it", line),)), caller)
        return caller

    context = stack("client_context_new", "CTX_new")
    client = stack("client_session_new", WICKED)
    server = stack("server_session_new", "SSL_new")
    harness = stack("report")
    before = {context: LiveHeap(1000, 4), client: LiveHeap(8, 1)}
    after = {context: LiveHeap(1000, 4), client: LiveHeap(508, 11), server: LiveHeap(700, 20), harness: LiveHeap(92, 1)}
    live = {
        BASE: before,
        "established": after,
        PEAK: after,
        "closed": before,
        "freed": {client: LiveHeap(3, 1), harness: LiveHeap(92, 1)},
    }
    live[END] = {client: LiveHeap(3, 1)}
    moments = {name: Moment(name, sum(held.bytes for held in one.values()), one) for name, one in live.items()}
    return Profile("heaptrack", "by-hand.zst", WICKED, stacks, moments, sessions_of_role=SESSIONS, warnings=[WICKED])


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    openssl, old = (
        read_run("openssl@3.5.5", "tls13-rsa-aes256"),
        read_run("openssl@3.5.5", "tls12-rsa-aes256"),
    )
    write_flamegraph.write(openssl, folder / "openssl.html", "established")
    write_flamegraph.write(read_run("rustls+aws-lc@0.23.46", "tls13-rsa-aes256"), folder / "rustls.html", "established")
    for stack, name in ("openssl@3.5.5", "newer"), ("openssl@4.0.3", "release"):
        write_flamegraph.write(read_run(stack, "tls13-rsa-aes256", NEWER), folder / f"{name}.html", "established")
    peaks = planted.run("sites", 200, momentary=planted.MOMENTARY)
    write_flamegraph.write(sites_reader.profile_from_record(peaks), folder / "both-peaks.html", "established")
    write_flamegraph.write(by_hand(), folder / "by-hand.html", "established")
    write_flamegraph.write_diff(profile_diff.compare(old, openssl, "established", force=True), folder / "diff.html")
    rustls = read_run("rustls+aws-lc@0.23.46", "tls13-rsa-aes256")
    write_flamegraph.write_diff(profile_diff.compare(openssl, rustls, "established"), folder / "purposes.html")


if __name__ == "__main__":
    main()
