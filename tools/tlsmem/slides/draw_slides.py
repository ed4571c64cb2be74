"""Draws the slides of a talk from recordings."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from tlsmem.base.errors import Usage
from tlsmem.config.topic import Topic, TopicSlide, topics
from tlsmem.schema.recording_files import is_recording
from tlsmem.slides import every_stack, handshake_peak, heap_against_rss, post_quantum, reconnect_storm, why_openssl
from tlsmem.slides.slide import save_slide, style
from tlsmem.store import recordings

SLIDES: dict[str, Callable[[Sequence[Path]], Figure]] = {  # that join topics, or are of none
    "1-every-stack": every_stack.draw,
    "2-why-openssl": why_openssl.draw,
    "4-post-quantum": post_quantum.draw,
    "5-reconnect-storm": reconnect_storm.draw,
    "6-heap-and-rss": heap_against_rss.draw,
    "16-inside-the-handshake": handshake_peak.draw_openssl,
    "17-storm-by-purpose": handshake_peak.draw_storm,
}


def list_slides() -> dict[str, Callable[[Sequence[Path]], Figure]]:
    """Return who draws each slide, by its number and name, in the order of the talk."""
    of_topics = {f"{one.number}-{one.name}": topic.find(one.maker) for topic, one in list_topic_slides()}
    return dict(sorted((SLIDES | of_topics).items(), key=lambda slide: int(slide[0].partition("-")[0])))


def list_topic_slides() -> list[tuple[Topic, TopicSlide]]:
    """Return the slides of topics, each with its topic."""
    return [(topic, one) for topic in topics() for one in topic.slides]


def find_recordings(given: Path) -> list[Path]:
    """Return a recording, or those in a directory such as data/, the newest first. Raises Usage where there is
    none."""
    found = [given] if is_recording(given) else sorted(filter(is_recording, given.glob("20*/")), reverse=True)
    if not found:
        raise Usage("no recordings in this directory; the committed ones are in data/")
    return recordings.find_recordings(found)


def find_for_slide(name: str, given: Path) -> list[Path]:
    """Return the recordings that a slide is drawn from, of those in a directory. Raises Usage where there is none."""
    folders = {f"{one.number}-{one.name}": topic.folder for topic, one in list_topic_slides()}
    folder = folders.get(name)
    return recordings.find_within(given, folder) if folder else find_recordings(given)


def draw_from_arguments(given: argparse.Namespace) -> list[Path]:
    """Write every slide into a directory; return the files."""
    find_recordings(given.recording)
    given.output.mkdir(parents=True, exist_ok=True)
    written = []
    with style():
        for name, draw in list_slides().items():
            written += save_slide(draw(find_for_slide(name, given.recording)), given.output / name)
    return written
