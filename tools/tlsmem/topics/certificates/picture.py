"""A picture of what one certificate costs: a bar for each library, stacked by kind, place by place."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from tlsmem.config.libraries import stack_title
from tlsmem.config.releases import newest_of_each_build
from tlsmem.config.suite_variants import DROP_PEER_CHAIN
from tlsmem.plots import bucket_panel
from tlsmem.plots.bucket_panel import BucketStyle
from tlsmem.plots.frame import INK, THICK, add_frame, create_rows, describe_records, list_rows, points, write_beside
from tlsmem.plots.stack_colours import library_colour
from tlsmem.stats.missing import Missing
from tlsmem.topics.certificates.kinds import OTHER
from tlsmem.topics.certificates.table import CLIENT_CHAIN, NAME, PLACES, TRUST_STORE, CertificateCost

AROUND, HEADING, OFFSET = 2.2, 1.0, 0.3  # inches around the rows; the room of a heading, and of a bar below it, in rows
KIND_STYLES = (  # from the left: what was sent first. Colours are Okabe and Ito's
    BucketStyle("encoding", "encoding", "#BBBBBB", ".."),
    BucketStyle("key", "key", "#D55E00", "---"),
    BucketStyle("name", "name", "#0072B2"),
    BucketStyle("extensions", "extensions", "#F0E442"),
    BucketStyle("structure", "structure", "#56B4E9", "//"),
    BucketStyle("private key", "private key", "#882255"),
    BucketStyle("context", "context", "#777777", "++"),
    BucketStyle(OTHER, OTHER, "#000000"),
)
UNDIVIDED: dict[str, Any] = {"facecolor": "white", "edgecolor": "#777777", "linewidth": 0.8}
HEADINGS = {
    CLIENT_CHAIN: "A certificate of a client's chain, kept by its server",
    TRUST_STORE: "One more root in a client's trust store",
    NAME: "One more name of a server: a certificate, its intermediate and its private key",
}


def select_costs(costs: Sequence[CertificateCost]) -> list[CertificateCost]:
    """Return those of the newest release of each build of a library, but for what keeps no certificate."""
    shown: list[CertificateCost] = []
    for place in PLACES:
        there = [one for one in costs if one.place == place and one.bytes and DROP_PEER_CHAIN not in one.stack]
        newest = newest_of_each_build(one.stack for one in there)
        shown += [one for one in there if one.stack in newest]
    return shown


def parts(cost: CertificateCost) -> list[tuple[BucketStyle, float]]:
    """Return the kinds that hold something, in the order of a bar."""
    kinds = cost.kinds
    if isinstance(kinds, Missing):
        return []
    return [(style, float(kinds[style.bucket])) for style in KIND_STYLES if kinds[style.bucket] > 0]


def describe_finding(costs: Sequence[CertificateCost]) -> str:
    """Return the title: how much larger than its encoding a certificate is, of the place that comes first."""
    place = costs[0].place
    there = sorted((one for one in costs if one.place == place), key=lambda one: one.bytes / one.der_bytes)
    least, most = there[0], there[-1]
    least_times, most_times = (float(one.bytes / one.der_bytes) for one in (least, most))
    if len(there) == 1:
        return f"A certificate that {stack_title(most.stack)} keeps is {most_times:.1f} times its encoding"
    return (
        f"A certificate that is kept costs {least_times:.1f} times its encoding in {stack_title(least.stack)} and "
        f"{most_times:.1f} times in {stack_title(most.stack)}"
    )


def draw_place(axes: Axes, place: str, costs: Sequence[CertificateCost], top: float, widest: float) -> list[float]:
    """Draw the heading of a place and its bars from row `top` on; return the rows of the bars."""
    words: dict[str, Any] = {"va": "center", "weight": "bold", "fontsize": points(0.95), "color": INK}
    axes.text(0.004 * widest, top + OFFSET - HEADING / 2 - 0.2, HEADINGS[place], **words)
    rows = [top + at + OFFSET for at in range(len(costs))]
    for row, cost in zip(rows, costs, strict=True):
        if divided := parts(cost):
            bucket_panel.draw_parts(axes, row, divided, widest)
        else:
            axes.barh(row, float(cost.bytes), height=THICK, zorder=2, **UNDIVIDED)
        text = f"{float(cost.bytes):,.0f} B ({float(cost.bytes / cost.der_bytes):.1f}×)"
        write_beside(axes, float(cost.bytes), row, text if divided else f"{text}, no call stacks")
    return rows


def figure(costs: Sequence[CertificateCost], left_out: str = "") -> Figure:
    """Draw the picture; `left_out` begins its caption. Raises ValueError where nothing was measured."""
    shown = select_costs(costs)
    if not shown:
        raise ValueError(
            "no certificate was measured (tools/tls-memtest measure chains, tools/tls-memtest measure contexts)"
        )
    places = [place for place in PLACES if any(one.place == place for one in shown)]
    made, (axes,) = create_rows(len(shown) + HEADING * len(places), AROUND)
    widest, top, rows = float(max(one.bytes for one in shown)), 0.0, []
    for place in places:
        there = [one for one in shown if one.place == place]
        rows += draw_place(axes, place, there, top, widest)
        top += len(there) + HEADING
    names = [stack_title(one.stack) for one in shown]
    list_rows(axes, names)
    axes.set_yticks(rows, names)
    axes.set_ylim(rows[-1] + 0.6, OFFSET - HEADING - 0.3)
    for label, cost in zip(axes.get_yticklabels(), shown, strict=True):
        label.set_color(library_colour(cost.stack))
    axes.set_xlim(0, 1.22 * widest)
    seen = {style for one in shown for style, size in parts(one) if size > bucket_panel.LEAST * widest}
    legend = [Patch(label=one.bucket, **bucket_panel.fill(one)) for one in KIND_STYLES if one in seen]
    subtitle = "Live heap of one certificate, RSA-2048 but for roots of a public bundle, by what the bytes are."
    runs = [run for one in shown for run in one.runs]
    caption = f"{left_out}In brackets: times the length of the encoding (DER). {describe_records(runs)}"
    add_frame(made, describe_finding(shown), subtitle, caption, legend)
    return made
