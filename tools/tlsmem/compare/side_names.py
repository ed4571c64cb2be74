"""Short names of the two sides of a comparison, for headings and sentences."""

import re

RECORDING_DATE = re.compile(r"\d{4}-\d\d-\d\d")  # that a recording's name begins with
OLD, NEW = "OLD", "NEW"  # the sides where nobody named them


def shorten_names(labels: tuple[str, str]) -> tuple[str, str]:
    """Return what tells the two labels apart; `OLD` and `NEW` where they are paths that end alike.

    Of two builds what was asked for, of two releases the versions, of two recordings the dates."""
    for shorten in (requested_builds, versions, recordings):
        old, new = shorten(*labels)
        if old and new and old != new:
            return old, new
    return (OLD, NEW) if labels[0] == labels[1] or "/" in labels[0] + labels[1] else labels


def requested_builds(old: str, new: str) -> tuple[str, str]:
    """Return `good` and `HEAD` of `openssl@git-135527611d82 (good)` and `openssl@git-ec646cebe18c (HEAD)`."""
    found = [re.fullmatch(r".* \((.*)\)", label) for label in (old, new)]
    return (found[0][1], found[1][1]) if found[0] and found[1] else ("", "")


def versions(old: str, new: str) -> tuple[str, str]:
    """Return the versions of two releases of a library."""
    (library, _, before), (other, _, after) = old.partition("@"), new.partition("@")
    return (before, after) if library == other else ("", "")


def recordings(old: str, new: str) -> tuple[str, str]:
    """Return the names of two recordings without their directories, and without the end that both share."""
    names = [label.rstrip("/").rpartition("/")[2] for label in (old, new)]
    dates = [RECORDING_DATE.match(name) for name in names]
    if dates[0] and dates[1] and names[0][dates[0].end() :] == names[1][dates[1].end() :]:
        return dates[0][0], dates[1][0]
    return names[0], names[1]
