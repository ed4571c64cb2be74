"""Lines of a recording that were cut off while they were written: how they are known. See docs/records.md."""

import json

TORN = b'{"record":"torn"}'  # the line before this one was cut off while it was written


def cut_off(lines: list[bytes]) -> set[int]:
    """Numbers of the torn lines that may be skipped: the last of the file, or marked as torn by the line after it.

    A mark may be cut off itself; it then is what is left of TORN, and marks nevertheless."""
    found = set()
    for number in range(len(lines), 0, -1):
        after = lines[number] if number < len(lines) else TORN
        marked = after == TORN or (number + 1 in found and TORN.startswith(after))
        if marked and torn(lines[number - 1]):
            found.add(number)
    return found


def torn(line: bytes) -> bool:
    """Whether this is the beginning of a record, cut off: no proper beginning of a JSON object is JSON itself."""
    try:
        json.loads(line)
    except RecursionError:  # no record is so deep, nor the beginning of one
        return False
    except ValueError:
        return line.startswith(b"{")
    return False
