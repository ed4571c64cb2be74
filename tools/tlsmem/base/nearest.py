"""What may have been meant: the names nearest to one that is not known. Standard library only."""

import difflib
from collections.abc import Iterable


def suggest_nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean A, B or C?", or an empty string where no known name is near."""
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(filter(None, [', '.join(near[:-1]), near[-1]]))}?" if near else ""
