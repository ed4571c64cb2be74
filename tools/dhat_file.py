"""Reads DHAT's files (version 2 of their form): what was live when the program ended."""

import json
from dataclasses import dataclass
from pathlib import Path

from unreadable import Unreadable

VERSION = 2


@dataclass(frozen=True)
class End:
    """Requested bytes and blocks that were live at the end."""

    live_bytes: int
    live_blocks: int


def end(file: Path | str) -> End:
    """Unreadable, with a sentence, when the file is not there, foreign, of another version or mode, or cut off."""
    try:
        found = json.loads(Path(file).read_bytes())
    except OSError as error:
        raise Unreadable(f"{file}: cannot read it: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise Unreadable(f"{file}: cut off, or no DHAT file: it is not JSON") from None
    if not isinstance(found, dict) or (found.get("dhatFileVersion"), found.get("mode")) != (VERSION, "heap"):
        raise Unreadable(f"{file}: no DHAT file of version {VERSION} in mode heap")
    try:
        return End(sum(int(point["eb"]) for point in found["pps"]), sum(int(point["ebk"]) for point in found["pps"]))
    except (KeyError, TypeError, ValueError):
        raise Unreadable(f"{file}: a DHAT file whose program points (pps) lack eb or ebk") from None
