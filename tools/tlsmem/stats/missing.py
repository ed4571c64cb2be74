"""What stands where a figure cannot be had."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Missing:
    reason: str  # for people: the end of a sentence, as "not measured"
