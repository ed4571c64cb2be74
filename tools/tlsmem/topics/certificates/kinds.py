"""What the bytes of a certificate are: the rules of memtest/certificates.toml, which name a kind for a call stack."""

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from tlsmem.config import definitions
from tlsmem.config.campaigns import Definition
from tlsmem.config.toml_tables import DEFINITIONS

Kind = Literal["encoding", "name", "key", "extensions", "structure", "private key", "context"]
OTHER = "other"  # what no rule takes
KINDS = (*get_args(Kind), OTHER)


def check_pattern(text: str) -> str:
    """Return the pattern. Raises ValueError with half a sentence where it is no regular expression."""
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is no regular expression: {error}") from None
    return text


class KindRule(Definition):
    """A table of certificates.toml, whose head explains the keys."""

    kind: Kind
    families: list[str] = Field(min_length=1)
    path: list[Annotated[str, AfterValidator(check_pattern)]] = Field(min_length=1)
    at: list[str] = Field(default=[])
    why: str = Field(min_length=1)
    source: str = Field(min_length=1)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """All of `path`."""
        return re.compile("|".join(f"(?:{one})" for one in self.path))

    def takes(self, path: str, places: Sequence[str]) -> bool:
        """Return whether this rule names the kind of what the call stack allocates, which is at `file:line` of each."""
        return bool(self.pattern.search(path)) and (not self.at or any(place in self.at for place in places))


def rules_of_family(family: str) -> list[KindRule]:
    """Return those of stacks whose name begins so, in order; raises UserError when the file is wrong."""
    rules = definitions.read(DEFINITIONS / "certificates.toml", KindRule.model_validate)
    return [rule for rule in rules.values() if family in rule.families]


def kind_of_path(rules: Sequence[KindRule], path: str, places: Sequence[str]) -> str:
    """Return the kind that the first rule names; `other` where none takes the call stack."""
    return next((rule.kind for rule in rules if rule.takes(path, places)), OTHER)
