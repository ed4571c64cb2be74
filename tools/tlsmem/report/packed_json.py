"""JSON as a page carries it: what it has several times stands in it once, and all of it is deflated.

The text is `{"parts": [...], "value": ...}`. Any value in it, and in its parts, may be "@N", which is part N. A text
that begins with @ has another @ before it. page.js reads it (`report.parsed`)."""

import base64
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

LEAST = 24  # letters of a part: a shorter one saves nothing once it is deflated
MARK = "@"  # of a reference
HTML_SIGNS, PLAIN_SIGNS = "&<>", ",.:"  # of base 85: those that HTML escapes, and what stands for them


def pack_json(value: object) -> str:
    """Return a JSON value packed. Raises ValueError for a number that JSON has not."""
    return deflate_text(dump_json(share_parts(value)))


def unpack_json(packed: str) -> Any:
    """Return the value that `pack_json` packed."""
    found = json.loads(inflate_text(packed))
    return restore(found["value"], found["parts"])


def dump_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def restore(value: object, parts: Sequence[object]) -> object:
    """Return a value with its parts in their places."""
    if isinstance(value, list):
        return [restore(one, parts) for one in value]
    if isinstance(value, dict):
        return {key: restore(one, parts) for key, one in value.items()}
    if isinstance(value, str) and value.startswith(MARK):
        return value[1:] if value.startswith(2 * MARK) else restore(parts[int(value[1:])], parts)
    return value


class Nodes:
    """The different values within a value, each with a number; those inside another come before it."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[object, ...], int] = {}
        self.nodes: list[object] = []  # lists and dictionaries have numbers of nodes
        self.uses: Counter[int] = Counter()
        self.letters: list[int] = []

    def add(self, value: object) -> int:
        """Return the number of a value."""
        node: object = value
        if isinstance(value, list | tuple):
            node = [self.add(one) for one in value]
            key: tuple[object, ...] = (list, *node)
            length = sum(self.letters[one] + 1 for one in node) + 1
        elif isinstance(value, dict):
            node = {key: self.add(one) for key, one in value.items()}
            key = (dict, *node.items())
            length = sum(self.letters[one] + len(str(name)) + 4 for name, one in node.items()) + 1
        else:
            key, length = (type(value), value), len(str(value)) + 2 * isinstance(value, str)
        if key not in self.numbers:
            self.numbers[key] = len(self.nodes)
            self.nodes.append(node)
            self.letters.append(length)
            self.uses.update(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
        return self.numbers[key]


def share_parts(value: object) -> dict[str, object]:
    """Return the value and its parts: lists, dictionaries and texts that occur several times."""
    found = Nodes()
    root = found.add(value)
    parts: list[object] = []
    written: list[object] = []
    for number, node in enumerate(found.nodes):
        if isinstance(node, list):
            text: object = [written[one] for one in node]
        elif isinstance(node, dict):
            text = {key: written[one] for key, one in node.items()}
        else:
            text = MARK + node if isinstance(node, str) and node.startswith(MARK) else node
        if number != root and found.uses[number] > 1 and found.letters[number] >= LEAST:
            parts.append(text)
            text = f"{MARK}{len(parts) - 1}"
        written.append(text)
    return {"parts": parts, "value": written[root]}


def deflate_text(text: str) -> str:
    """Return zlib's format (RFC 1950) in base 85 (RFC 1924, but for three signs); base 64 is longer by a sixteenth."""
    return base64.b85encode(zlib.compress(text.encode(), 9)).decode().translate(str.maketrans(HTML_SIGNS, PLAIN_SIGNS))


def inflate_text(packed: str) -> str:
    """Return the text that was deflated; page.js does the same."""
    return zlib.decompress(base64.b85decode(packed.translate(str.maketrans(PLAIN_SIGNS, HTML_SIGNS)))).decode()
