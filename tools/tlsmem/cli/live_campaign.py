"""Live runs of servers: which there are, which are recorded, and the tables of all."""

import argparse
import resource
import shlex
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from tlsmem.base import repository, stdout
from tlsmem.base.errors import UserError, raise_user_errors
from tlsmem.base.paths import shorten
from tlsmem.cli import server_campaign
from tlsmem.cli.campaign_plan import recording as recording_directory
from tlsmem.config import choices
from tlsmem.config import servers as definitions
from tlsmem.live import call_sites, client_run, live_run, own_configuration
from tlsmem.live.clients import SHARE
from tlsmem.live.live_run import LiveProvenance, LiveRun, require_ktls
from tlsmem.live.servers import MANY, Server, ServerError, choose_stack, find_program
from tlsmem.run.harness import utc_now
from tlsmem.schema.live_records import FOLDER, USUAL, LiveRecord, Transport, append_live, load_live
from tlsmem.schema.recording_files import is_recording, require_recording

SERIAL = "openssl-s_server"
SERIAL_WAY_OUT = "tools/tls-memtest heap run -- openssl s_server ... measures one"
NO_MALLOC = "it allocates by itself, without malloc"
GIB = 2**30
# Of one connection, rounded up: the server's, the kernel's for both ends, a client's with its state of TLS or without.
SERVER_BYTES, KERNEL_BYTES, CLIENT_BYTES, HOLLOW_BYTES = 65536, 16384, 98304, 8192


class Asked(NamedTuple):
    """A run that is asked for, and the server that makes it."""

    run: LiveRun
    provenance: LiveProvenance

    @property
    def key(self) -> str:
        """What identifies the run in a recording."""
        return str(self.provenance.declared(self.run)["key"])


def live_runs(given: argparse.Namespace, server: Server) -> list[LiveRun]:
    """Return a server's runs that are asked for: each number of connections plain and over TLS, under both meters."""
    if given.sites:
        return [name_sites(given, server)]
    runs = []
    for connections in given.n:
        most = min(connections, server.at_once or connections)
        windows = [most if one == "all" else min(one, most) for one in given.window]
        over: list[tuple[Transport, int]] = [] if server.no_plain else [("plain", connections)]
        over += [("tls", window) for window in dict.fromkeys(windows)]
        runs += [
            LiveRun(
                server.name,
                transport,
                meter,
                connections,
                window,
                waves=given.waves,
                idle_s=given.idle,
                settle_s=given.settle,
                hollow=given.hollow and transport == "tls",
                ktls=given.ktls and transport == "tls",
                stack=server.stack,
                **(vary(given) if transport == "tls" else {}),
            )
            for transport, window in over
            for meter in server.meters
        ]
    return runs


def vary(given: argparse.Namespace) -> dict[str, Any]:
    """Return how connections over TLS are made, as fields of a run; plain ones are the same whatever is asked for."""
    protocol = "TLSv1.2" if given.tls12 else USUAL.protocol
    return {"protocol": protocol, "mutual": given.mtls, "resumed": given.resumption}


def name_sites(given: argparse.Namespace, server: Server) -> LiveRun:
    """Return the run that names call sites: under massif, so of few connections, made as is asked for."""
    return LiveRun(
        *(server.name, "tls", "sites", call_sites.CONNECTIONS, call_sites.WINDOW),
        waves=0,
        idle_s=given.idle,
        settle_s=0.0,
        hollow=given.hollow,
        ktls=given.ktls,
        stack=server.stack,
        **vary(given),
    )


def check_descriptors(runs: list[LiveRun], server: Server) -> None:
    """Raise UserError where the limit on open files, or a server's configuration, is too low for the largest run."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    clients = hard - live_run.SPARE if hard < SHARE + live_run.SPARE else MANY  # several processes, if need be
    largest = min(server.largest(hard), clients)
    most = max(run.connections for run in runs)
    if server.configured and most > server.configured:
        raise UserError(
            f"N={most}: {server.name} is configured for {server.configured} connections at most, by "
            f"memtest/live_servers.toml; the largest N that fits is {server.configured}",
            status=2,
        )
    if hard != resource.RLIM_INFINITY and most > largest:
        raise UserError(
            f"N={most} is more than the limit of {hard:,} open files allows; the largest N that fits is {largest}"
        )


def check_memory(runs: list[LiveRun]) -> None:
    """Raise UserError where the largest run needs more memory than there is."""
    available = read_available_bytes()
    for one in runs:
        is_small = one.hollow or one.transport == "plain"
        each = SERVER_BYTES + KERNEL_BYTES + (HOLLOW_BYTES if is_small else CLIENT_BYTES)
        need = one.connections * each
        if need > available:
            raise UserError(
                f"{one} needs about {need / GIB:.1f} GiB, and {available / GIB:.1f} GiB are available; "
                f"the largest N that fits is {available // each}"
            )


def read_available_bytes() -> int:
    """Return what Linux says that new programs can have."""
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    return next(int(words[1]) * 1024 for words in lines if words[0] == "MemAvailable:")


def find_servers(given: argparse.Namespace) -> list[Server]:
    """Return the servers that are asked for, each on each stack. Raises UserError, with exit status 77 where this
    machine or server cannot do it, and 2 where a server cannot be built on a stack."""
    stacks = given.stack or [choices.PACKAGED]
    names = choices.EVERY_SERVER if given.server == [choices.ALL_SERVERS] else given.server
    servers = [find_server(given, name) for name in names]
    if given.sites and any(one.role == "client" for one in servers):
        refuse("--sites: call sites are those of servers; name no clients")
    if given.sites:
        left_out = {one.name: one.no_sites or NO_MALLOC for one in servers if one.no_sites or "heap" not in one.meters}
        servers = [one for one in servers if one.name not in left_out]
        why = "; ".join(f"{name}: {reason}" for name, reason in left_out.items())
        if not servers:
            refuse(f"--sites: massif names no call sites of {why}")
        if left_out:
            print(f"memtest: left out: {why}", file=sys.stderr)
    return [
        server if stack == choices.PACKAGED else choose_stack(server, stack)
        for server in servers
        for stack in (list_stacks(server) if stacks == [choices.ALL_SERVERS] else stacks)
    ]


def list_stacks(server: Server) -> list[str]:
    """Return what all stacks of a server are: the library that it is packaged with, and those that it was tried on."""
    known = definitions.servers().get(server.name)
    return [choices.PACKAGED, *(known.build.tried if known and known.build else ())]


def find_server(given: argparse.Namespace, name: str) -> Server:
    """Return a server as it is packaged. Raises UserError as `find_servers` does."""
    if name == SERIAL:
        refuse(f"openssl s_server serves one connection at a time: idle ones cannot be held; {SERIAL_WAY_OUT}")
    server = own_configuration.find_server(name)
    if given.mtls and not server.has_mutual:
        refuse(f"--mtls: {name} asks for no client certificates as it is configured here; nginx and haproxy do")
    if given.resumption and (server.client or server.has_own_certificate):
        refuse(f"--resumption: clients of {name} make new sessions only; those of nginx, haproxy, go and rustls resume")
    if given.tls12 and server.has_own_certificate:
        refuse(f"--tls12: {name} has a configuration of its own, which says which version it takes")
    if given.ktls and not server.has_ktls:
        refuse(f"--ktls: {server.name} does not ask for kTLS as it is configured here; nginx does")
    try:
        if given.ktls:
            require_ktls()
    except ServerError as error:
        refuse(f"--ktls: {error}")
    return server


def refuse(sentence: str) -> NoReturn:
    """Raise UserError with exit status 77: it cannot be had here."""
    raise UserError(sentence, status=77)


def run(given: argparse.Namespace) -> int:
    """Return the exit status."""
    recording = recording_directory(given)
    repository.check_recording(recording, named=bool(given.out))
    servers = find_servers(given)
    for server in servers:
        check_descriptors(live_runs(given, server), server)
    asked = [
        Asked(run, provenance)
        for server in servers
        for provenance in [LiveProvenance(server, find_program(server))]
        for run in live_runs(given, server)
    ]
    to_go = server_campaign.select_to_go(asked, load_live(recording), given.fresh)
    if given.list:
        server_campaign.print_list(asked, to_go, recording)
        return 0
    print(f"memtest: {server_campaign.describe(asked, to_go, recording)}", file=sys.stderr)
    check_memory([one.run for one in to_go])
    server_campaign.prepare(recording, FOLDER)
    failures = server_campaign.measure_all(
        to_go,
        lambda one: measure_one(one.run, one.provenance),
        lambda record: append_live(recording, record),
        lambda one: one.run.connections,
    )
    show_runs(recording, load_runs(recording, keys={one.key for one in asked}))
    return 1 if failures else 0


def measure_one(run: LiveRun, provenance: LiveProvenance) -> LiveRecord:
    """Return the record of a run, failed or not."""
    timeline = live_run.Timeline()
    started_at, begin, reason, negotiated = utc_now(), time.monotonic_ns(), None, None
    try:
        measure = client_run.measure_client if provenance.server.role == "client" else live_run.measure
        negotiated = measure(run, provenance.server, provenance.program, timeline)
    except ServerError as error:
        reason = str(error)
    return provenance.record(run, timeline, negotiated, started_at, time.monotonic_ns() - begin, reason)


def show(recording: Path, servers: Sequence[str] | None, stacks: Sequence[str] | None, form: str | None) -> None:
    """Print the tables of the live runs of a recording, or of these servers and stacks in it. Raises UserError where
    there are none."""
    with raise_user_errors(recording):
        recording = require_recording(recording)
    if not recording.is_dir():
        raise UserError(f"{recording} is a file; live runs are read from the directory of a recording")
    records = load_runs(recording)
    if not records:
        raise UserError(f"{shorten(recording)}: no live runs here; {way_to_record(recording, servers)}")
    every = servers in (None, [choices.ALL_SERVERS])
    selected = [one for one in records if every or one.server in (servers or ())]
    if not selected:
        there = ", ".join(dict.fromkeys(one.server for one in records))
        raise UserError(f"{shorten(recording)} has no live runs of --server={','.join(servers or ())}; it has: {there}")
    built = list(dict.fromkeys(one.stack or choices.PACKAGED for one in selected))
    stacks = None if stacks == [choices.ALL_SERVERS] else stacks
    selected = [one for one in selected if stacks is None or (one.stack or choices.PACKAGED) in stacks]
    if not selected:
        raise UserError(
            f"{shorten(recording)} has no live runs of these servers on {', '.join(stacks or ())}; "
            f"it has: {', '.join(built)}"
        )
    show_runs(recording, selected, form)


def load_runs(recording: Path, keys: Collection[str] | None = None) -> list[LiveRecord]:
    """Return the live runs of a recording, or those with these keys. Raises UserError where they cannot be read."""
    with raise_user_errors(recording):
        return [one for one in load_live(recording) if keys is None or one.key in keys]


def show_runs(recording: Path, records: Sequence[LiveRecord], form: str | None = None) -> None:
    """Print the tables of these runs of a recording."""
    from tlsmem.store.recordings import find_recordings
    from tlsmem.tables import render
    from tlsmem.topics.live import added as live_added
    from tlsmem.topics.live import libraries as live_libraries
    from tlsmem.topics.live import prediction as live_prediction
    from tlsmem.topics.live import runtimes as live_runtimes
    from tlsmem.topics.live import sites as live_sites
    from tlsmem.topics.live import table as live

    among = list(dict.fromkeys([*([recording] if is_recording(recording) else []), *find_recordings(None)]))
    with stdout.raise_write_errors():
        tables = [live_libraries.library_table(records, among), live_added.added_table(records)]
        tables += [live_sites.sites_table(records), *live.build(records)]
        tables += [live_runtimes.runtime_table(records)]
        tables += [live.rss_table(records), live_prediction.prediction_table(records, among)]
        render.print_all([table for table in tables if table.rows or table.without], form)
        if form in (None, choices.TABLE, choices.MARKDOWN):
            print(f"\nrecording: {shorten(recording)}")


def way_to_record(recording: Path, servers: Sequence[str] | None) -> str:
    """Return the end of a sentence: the command that makes live runs, in this recording if it takes runs."""
    known = [one for one in servers or () if one in choices.LIVE_SERVERS]
    command = f"make live SERVER={','.join(known or choices.LIVE_SERVERS[:1])}"
    try:
        repository.check_recording(recording)
    except ValueError:
        return f"`{command}` makes some"
    return f"`{command} OUT={shlex.quote(shorten(recording))}` makes some"
