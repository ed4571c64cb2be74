"""What a picture draws: runs a script as it stands, and keeps the data of every figure that it saves.

usage: oracle_pictures.py DRAWN.drawn.json SCRIPT [ARGUMENT ...]"""

import json
import re
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib import axes, collections, image, lines, patches, rcParams, spines
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

from oracle_commands import NUMBER

UNFINISHED = r"\.?([^/]*)\.(png|svg)(\.partial|\.\d+-\d+)?$"  # a picture's name, also until it is whole


def draw(drawn: Path, script: str, arguments: Sequence[str]) -> None:
    """Runs the script as it stands; of every figure that it saves what is drawn is kept, once.

    Not of those for a page, whose texts stay text: an earlier command may have drawn them. Files have them too."""
    saved, kept = Figure.savefig, {}

    def savefig(figure: Figure, file: Any, *given: Any, **named: Any) -> None:
        saved(figure, file, *given, **named)
        if rcParams["svg.fonttype"] == "none":
            return
        is_file = isinstance(file, str | Path)  # else it is written to one afterwards
        name = re.sub(UNFINISHED, r"\1", str(file)) if is_file else f"picture {len(kept) + 1}"
        if name not in kept:
            kept[name] = contents(figure)

    Figure.savefig = savefig
    place = f"{str(drawn).removesuffix('.drawn.json')}/"
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).parent.resolve())
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        drawn.write_text(json.dumps({name.removeprefix(place): one for name, one in kept.items()}))


def contents(figure: Any) -> dict[str, list]:
    """Data, colours and texts of all artists; of legends no places, which follow from the words."""
    of_legends = {id(part) for legend in figure.findobj(Legend) for part in legend.findobj()}
    values, words = [], []
    for artist in figure.findobj():
        if isinstance(artist, Text):
            if artist.get_text().strip():
                words.append(artist.get_text())
                values.append(["text", *NUMBER.findall(artist.get_text()), *place_of(artist)])
        elif (data := data_of(artist)) is not None:
            values.append([type(artist).__name__, *(data[-1:] if id(artist) in of_legends else data)])
    return {"values": rounded(values), "words": words}


def place_of(text: Any) -> list:
    """Of one that stands at data."""
    if hasattr(text, "xy"):
        return [text.xy]
    return [text.get_position()] if text.axes and text.get_transform() == text.axes.transData else []


def data_of(artist: Any) -> list | None:
    """Numbers, and a colour at the end; None of what draws no data."""
    match artist:
        case axes.Axes():
            return [artist.get_xscale(), artist.get_yscale(), artist.get_xlim(), artist.get_ylim()]
        case lines.Line2D():
            return [artist.get_xydata(), str(artist.get_linestyle()), artist.get_color()]
        case spines.Spine() | patches.FancyArrowPatch() | patches.FancyBboxPatch():
            return None
        case patches.Rectangle():
            return [artist.get_bbox().bounds, artist.get_hatch(), artist.get_facecolor()]
        case patches.Patch():
            return [artist.get_path().vertices, artist.get_hatch(), artist.get_facecolor()]
        case collections.Collection():
            paths = [path.vertices for path in artist.get_paths()]
            return [artist.get_offsets(), paths, artist.get_array(), artist.get_facecolor()]
        case image.AxesImage():
            return [artist.get_array()]
    return None


def rounded(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    return f"{value:.12g}" if isinstance(value, float) else value


if __name__ == "__main__":
    draw(Path(sys.argv[1]), sys.argv[2], sys.argv[3:])
