"""Frames of call stacks as valgrind's tools write them: `0xADDRESS: FUNCTION (FILE:LINE)` or `(in MODULE)`."""

import re

from tlsmem.profile.frames import Frame
from tlsmem.run.symbols import shorter

FRAME = re.compile(r"0x([0-9A-Fa-f]{1,16}): (.*?)(?: \(in (.+)\)| \(([^()]+)\))?")
LINE = re.compile(r"(.+?):([1-9]\d{0,8})(?::\d+)?", re.ASCII)  # with a column, as the crate dhat writes
UNNAMED = "???"


def frame(text: str) -> Frame:
    """What has not this form is a function's name."""
    found = FRAME.fullmatch(text)
    if not found:
        return Frame(text, None, None, None, None)
    address, function, module, where = found.groups()
    numbered = LINE.fullmatch(where or "")
    file, line = (numbered[1], int(numbered[2])) if numbered else (where, None)
    known = function if function not in (UNNAMED, "") else None
    return Frame(known, file and shorter(file), line, module, int(address, 16))
