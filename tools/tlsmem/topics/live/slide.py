"""Slide 14: what an idle connection to a real server costs, the kernel's part included."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.schema.live_records import LiveRecord, load_live
from tlsmem.slides.slide import create_slide
from tlsmem.topics.live import picture as live_servers


def find_newest(among: Sequence[Path]) -> list[LiveRecord]:
    """Return the live runs of the newest recording with any that can be drawn."""
    for recording in among:
        records = load_live(recording)
        if live_servers.select_costs(records):
            return records
    raise ValueError("no recording has live runs of real servers (make live SERVER=nginx)")


def draw(among: Sequence[Path]) -> Figure:
    """Draw three bars of each server."""
    made, (axes,) = create_slide()
    live_servers.draw(made, axes, find_newest(among))
    return made
