"""The picture of a census over time: what it says, and that its areas are the looks."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot
from PIL import Image

from tlsmem.base.errors import UserError
from tlsmem.census.growth import Look
from tlsmem.plots.census_over_time import MIB, draw, name_finding, save_picture

FIRST = Look(
    seconds=0.0,
    processes=3,
    sessions=0,
    states={},
    connections=0,
    objects={"SSL_SESSION": 0, "X509": 5, "BIO": 0},
    anon_bytes=8 * MIB,
    tls_bytes=0,
    parts={
        "other_live": 4 * MIB,
        "cached": MIB // 2,
        "free": MIB // 2,
        "mmapped": MIB,
        "stacks": 0,
        "files": MIB,
        "other": MIB,
    },
)
BUSY = replace(
    FIRST,
    seconds=300.0,
    sessions=500,
    states={"established": 450, "half-open": 50},
    connections=600,
    anon_bytes=16 * MIB,
    tls_bytes=8 * MIB,
)
AFTER = replace(FIRST, seconds=600.0, sessions=20, states={"established": 20}, anon_bytes=8 * MIB)
LEAKED = replace(BUSY, seconds=600.0, connections=0, sockets={"closed": 500})
KEPT = replace(AFTER, parts=AFTER.parts | {"free": 9 * MIB})


@pytest.fixture
def figure():
    yield lambda looks: draw(looks, ["nginx"])
    pyplot.close("all")


@pytest.mark.parametrize(
    ("looks", "finding"),
    [
        ([FIRST, BUSY, AFTER], "500 TLS sessions held 8.0 MiB; with 20 left, malloc keeps 1.0 MiB"),
        ([FIRST, BUSY], "500 TLS sessions held 8.0 MiB, 50 % of what was resident"),
        (
            [FIRST, replace(AFTER, parts=AFTER.parts | {"free": 9 * MIB})],
            "20 TLS sessions held 0 B, 0 % of what was resident",
        ),
        ([FIRST], "No TLS sessions; 8.0 MiB are resident"),
        (
            [FIRST, LEAKED],
            "Sessions with a closed socket have grown from 0 to 500: they are not freed with their connection",
        ),
    ],
)
def test_the_title_is_the_finding(looks, finding):
    assert name_finding(looks) == finding


def tops(axes):
    """The upper edges of the areas of a panel at their last look, from below."""
    found = []
    for area in axes.collections:
        corners = area.get_paths()[0].vertices
        found.append(corners[corners[:, 0] == corners[:, 0].max()][:, 1].max())
    return found


def test_areas_are_sessions_and_parts_up_to_what_is_resident(figure):
    upper, lower = figure([FIRST, BUSY]).axes
    assert tops(upper) == [450, 500]
    assert tops(lower) == [8, 12, 13, 14, 16]
    (line,) = lower.lines
    assert np.array_equal(line.get_ydata(), [8, 16])
    (connections,) = upper.lines
    assert np.array_equal(connections.get_ydata(), [0, 600])


def test_connections_that_are_not_told_are_not_drawn(figure):
    upper, _ = figure([replace(FIRST, connections=None), BUSY]).axes
    assert not upper.lines


@pytest.mark.parametrize(
    ("seconds", "label"), [(90, "time, s"), (600, "time, min"), (20_000, "time, h"), (900_000, "time, days")]
)
def test_time_has_a_unit_that_fits(seconds, label, figure):
    assert figure([FIRST, replace(BUSY, seconds=float(seconds))]).axes[1].get_xlabel() == label


@pytest.mark.thorough
@pytest.mark.parametrize("looks", [[FIRST], [BUSY], [FIRST, BUSY, AFTER, LEAKED]], ids=["none", "one", "all"])
def test_all_texts_are_inside_the_picture(looks, figure):
    made = figure(looks)
    made.canvas.draw()
    inside = made.bbox.padded(1)
    for text in (*made.texts, *(label for axes in made.axes for label in (*axes.get_xticklabels(), axes.xaxis.label))):
        if text.get_text() and text.get_visible():
            box = text.get_window_extent()
            assert inside.x0 <= box.x0 and box.x1 <= inside.x1 and inside.y0 <= box.y0 and box.y1 <= inside.y1, text


@pytest.mark.thorough
def test_it_is_written_in_the_format_of_its_name(tmp_path):
    (written,) = save_picture([FIRST, BUSY], ["nginx"], tmp_path / "census.png")
    with Image.open(written) as image:
        assert image.size[0] == 1660
    both = save_picture([FIRST], ["nginx"], tmp_path / "both")
    assert [file.suffix for file in both] == [".png", ".svg"]


@pytest.mark.thorough
def test_a_picture_that_cannot_be_written_is_a_sentence(tmp_path):
    with pytest.raises(UserError, match=r"-o .*/missing/census\.png: No such file or directory"):
        save_picture([FIRST], ["nginx"], tmp_path / "missing/census.png")
