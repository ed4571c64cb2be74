"""Models made of recorded ones: a proxy's connection of two sessions, and connections under another allocator."""

from collections.abc import Sequence
from dataclasses import replace

from tlsmem.plan.connection_model import (
    BY_RATIO,
    RSS_CLOSED,
    SUMMED,
    SYSTEM,
    ConnectionModel,
    find_series,
    fit_slope,
    select_runs,
    share,
)
from tlsmem.stats import memory_model
from tlsmem.stats.series import limit_to_common_sessions
from tlsmem.store.record import Record


def add_roles(server: ConnectionModel, client: ConnectionModel) -> ConnectionModel:
    """Return the model of a proxy's connection: the sum of both sessions, in one process."""
    known = server.handshake is not None and client.handshake is not None
    peak = server.peak + client.peak
    return replace(
        server,
        role="both",
        how=SUMMED,
        fixed=max(server.fixed, client.fixed),
        connection=server.connection + client.connection,
        handshake=(server.handshake or 0.0) + (client.handshake or 0.0) if known else None,
        widest=min(server.widest, client.widest),
        narrowest=max(server.narrowest, client.narrowest),
        has_record_buffer=server.has_record_buffer and client.has_record_buffer,
        handshake_retention=max(server.handshake_retention, client.handshake_retention),
        closed_retention=share(server.closed_retention * server.peak + client.closed_retention * client.peak, peak),
        left_out=tuple(dict.fromkeys(server.left_out + client.left_out)),
        live=add_known(server.live, client.live),
        in_use=add_known(server.in_use, client.in_use),
    )


def add_known(first: float | None, second: float | None) -> float | None:
    """Return the sum; None where one is not known."""
    return None if first is None or second is None else first + second


def convert_allocator(found: ConnectionModel, allocator: str, runs: Sequence[Record]) -> ConnectionModel | None:
    """Return a model of glibc malloc for another allocator, by the ratio of peak RSS with both ends in one process.

    None where the recording has no such runs."""
    selection = select_runs(runs, found.stack, found.suite)
    wide = [find_series(selection, name, "both") for name in (SYSTEM, allocator)] if selection else [None]
    series = [one for one in wide if one]
    if len(series) < 2:
        return None
    system, other = limit_to_common_sessions(series)
    before, peak = (fit_slope(one, memory_model.handshake_peak_rss) for one in (system, other))
    closed = fit_slope(other, RSS_CLOSED)
    if not before or not peak or not closed:
        return None
    ratio = peak.each / before.each
    return replace(
        found,
        allocator=allocator,
        how=BY_RATIO,
        fixed=max(0.0, found.fixed + peak.fixed - before.fixed),
        connection=ratio * found.connection,
        handshake=None if found.handshake is None else ratio * found.handshake,
        in_use=None if found.in_use is None else ratio * found.in_use,
        widest=min(found.widest, peak.widest),
        closed_retention=share(closed.each, peak.each),
        live=None,
    )
