"""Suites in other configurations than their own: `tls13-rsa-aes256+low-memory`, `+drop-peer-chain`, `+tickets-2`.

A variant is a suite like any other, made when it is asked for. Standard library only."""

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeGuard

LIBRARY = "library"  # of tickets: as many as the library issues unless it is told otherwise
LOW_MEMORY, DROP_PEER_CHAIN = VARIANT_OPTIONS = ("low-memory", "drop-peer-chain")  # of options, beside the default
VARIANT = re.compile(
    rf"(?P<base>[^+]+)(\+(?P<options>{'|'.join(VARIANT_OPTIONS)}))?(\+tickets-(?P<tickets>{LIBRARY}|0|[1-9][0-9]{{0,8}}))?"
)


def is_ticket_count(value: object) -> TypeGuard[int | str]:
    """Return whether a suite may have this value of `tickets`."""
    return value == LIBRARY or (type(value) is int and value >= 0)


def name_variant(base: str, options: str = "default", tickets: int | str | None = None) -> str:
    """Return the variant's name; without settings the suite's own."""
    return base + f"+{options}" * (options in VARIANT_OPTIONS) + (f"+tickets-{tickets}" if tickets is not None else "")


def split_variant(name: str) -> tuple[str, dict[str, int | str]]:
    """Return the suite's own name and the settings that differ: `options` and `tickets`.

    A name of another form, as in recordings of other versions, is returned as the suite's own."""
    found = VARIANT.fullmatch(name)
    if not found:
        return name, {}
    settings: dict[str, int | str] = {"options": found["options"]} if found["options"] else {}
    if tickets := found["tickets"]:
        settings["tickets"] = tickets if tickets == LIBRARY else int(tickets)
    return found["base"], settings


class SuiteInWords(str):
    """A suite that was asked for in words, `--pq`: where a recording has variants of it alone, those are meant."""


def expand_words(names: Sequence[str] | None, present: Iterable[str]) -> list[str] | None:
    """Return the names; a suite in words that is not present stands for its variants that are."""
    if names is None:
        return None
    there = list(dict.fromkeys(present))
    found = []
    for name in names:
        variants = [one for one in there if split_variant(one)[0] == name]
        found += variants if isinstance(name, SuiteInWords) and name not in there and variants else [name]
    return found


class Suites(dict[str, Any]):
    """Suites by name, as tables or as models; a variant is there too, but is not one of the names that are listed."""

    def __missing__(self, name: str) -> Any:
        base, settings = split_variant(name)
        if not settings or not dict.__contains__(self, base):
            raise KeyError(name)
        suite = self[base]
        return {**suite, **settings} if isinstance(suite, dict) else suite.model_copy(update=settings)

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self[name] is not None
        except KeyError:
            return False
