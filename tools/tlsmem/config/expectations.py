"""What the tests expect of a stack: the tables `[STACK.expect]` of memtest/stacks.toml."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PositiveInt

from tlsmem.config.campaigns import Definition
from tlsmem.config.suite_variants import LIBRARY

SWITCHES = ("store", "tickets", "resume")  # keys of a suite that are a feature when they are on
FULL = "full"  # the feature of a suite whose handshakes are full ones


def words(text: str) -> str:
    """The features of a suite, separated by spaces."""
    if not text.split():
        raise ValueError("a suite to refuse has no words")
    return text


class Expectations(Definition):
    """What a stack refuses and what it says then. The lists of texts hold alternatives: a message has one of them."""

    refuses: list[Annotated[str, AfterValidator(words)]] | None = None  # None: it depends on the machine
    another_root: list[str] = Field(default=[])
    another_name: list[str] = Field(default=[])
    another_key: list[str] = Field(default=[])
    missing_file: list[str] = Field(default=[])
    missing_client_key: str | None = None  # the file that it names instead
    most_tickets: PositiveInt | None = None
    not_sealed: list[Literal["aes128", "aes256", "chacha20"]] = Field(default=[])
    group_from: Literal["session", "offer"] = "session"
    heap_varies: str = ""  # why two equal runs differ

    def refusal_of(self, features: frozenset[str], tickets: int | str = 0) -> str | None:
        """The key and entry that say that a suite with these features is refused; None where nothing does."""
        if self.most_tickets and tickets != LIBRARY and int(tickets) > self.most_tickets:
            return f"most_tickets = {self.most_tickets}"
        entry = next((entry for entry in self.refuses or () if features.issuperset(entry.split())), None)
        return entry and f'refuses = "{entry}"'
