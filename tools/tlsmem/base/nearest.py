"""What may have been meant: the names nearest to one that is not known. Standard library only."""

import difflib
from collections.abc import Iterable

MOST = 3  # names that a sentence suggests
SHORT = 4  # letters of a name that is found within others by chance
ENDS = "-+@"  # after a part of a name


def suggest_beginning(name: str, known: Iterable[str], first: Iterable[str] = ()) -> str:
    """Return "; did you mean A, B or C?" of the known names whose first parts this is, then how many begin so.

    Those of `first` come first. Where none begins so, the nearest are suggested."""
    some = [one for one in dict.fromkeys([*first, *known]) if one.startswith(tuple(f"{name}{end}" for end in ENDS))]
    if not some:
        return suggest_nearest(name, known)
    others = len(some) - MOST
    return f"{ask(some[:MOST])} ({len(some)} names start with {name})" if others > 1 else ask(some[: MOST + 1])


def ask(names: list[str]) -> str:
    return f"; did you mean {' or '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}?"


def suggest_nearest(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean A, B or C?", or an empty string where no known name is near."""
    by_small = {one.lower(): one for one in known}  # capitals do not count
    alike = difflib.get_close_matches(name.lower(), list(by_small), n=MOST, cutoff=0.5)
    near = [by_small[one] for one in alike if is_as_long(name, one)]
    return ask(near) if near else ""


def is_as_long(name: str, known: str) -> bool:
    """Return whether a short name may be meant by a longer one: `nonsense` shares its letters with `none` by chance."""
    return len(known) > SHORT or abs(len(name) - len(known)) <= max(1, len(known) // 2)
