"""A missing value and its reason."""

from dataclasses import dataclass

NOT_RECORDED = "not recorded"


@dataclass(frozen=True)
class Missing:
    """A value that does not exist or was not measured."""

    reason: str  # for people: the end of a sentence, as "not measured"
