"""Draws the slides of a talk from recordings."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.base.errors import Usage
from tlsmem.plan import recordings
from tlsmem.schema.recording_files import is_recording
from tlsmem.slides import (
    every_stack,
    handshake_peak,
    heap_against_rss,
    post_quantum,
    reconnect_storm,
    record_layer,
    why_openssl,
)
from tlsmem.slides.slide import save_slide, style
from tlsmem.topics.chains import slide as client_certificates
from tlsmem.topics.churn import slide as churn
from tlsmem.topics.contexts import slide as client_contexts
from tlsmem.topics.live import slide as live_servers
from tlsmem.topics.million import slide as million
from tlsmem.topics.post_quantum import slide as mldsa
from tlsmem.topics.resumption import slide as session_stores
from tlsmem.topics.stall import hello_slide as large_hellos
from tlsmem.topics.stall import slide as stalled_peers

SLIDES: dict[str, Callable[[Sequence[Path]], Figure]] = {
    "1-every-stack": every_stack.draw,
    "2-why-openssl": why_openssl.draw,
    "3-openssl-3.2": record_layer.draw,
    "4-post-quantum": post_quantum.draw,
    "5-reconnect-storm": reconnect_storm.draw,
    "6-heap-and-rss": heap_against_rss.draw,
    "7-stalled-peers": stalled_peers.draw,
    "8-large-hellos": large_hellos.draw,
    "9-post-quantum-certificates": mldsa.draw,
    "10-client-certificates": client_certificates.draw,
    "11-contexts": client_contexts.draw,
    "12-session-stores": session_stores.draw,
    "13-churn": churn.draw,
    "14-live-servers": live_servers.draw,
    "15-million": million.draw,
    "16-inside-the-handshake": handshake_peak.draw_openssl,
    "17-storm-by-purpose": handshake_peak.draw_storm,
}


def find_recordings(given: Path) -> list[Path]:
    """Return a recording, or those in a directory such as data/, the newest first. Raises Usage where there is
    none."""
    found = [given] if is_recording(given) else sorted(filter(is_recording, given.glob("20*/")), reverse=True)
    if not found:
        raise Usage("no recordings in this directory; the committed ones are in data/")
    return recordings.find_recordings(found)


def draw_from_arguments(given: argparse.Namespace) -> list[Path]:
    """Write every slide into a directory; return the files."""
    among = find_recordings(given.recording)
    given.output.mkdir(parents=True, exist_ok=True)
    written = []
    with style():
        for name, draw in SLIDES.items():
            written += save_slide(draw(among), given.output / name)
    return written
