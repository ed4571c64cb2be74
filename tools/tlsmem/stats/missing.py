"""A missing value and its reason."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Missing:
    """A value that does not exist or was not measured."""

    reason: str  # for people: the end of a sentence, as "not measured"
