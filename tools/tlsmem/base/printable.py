"""Text that others wrote, made safe to show: names in records, profiles and budgets may hold anything."""

import re

ASKED = re.compile(r" \(TLSv1[^()]*\)$")  # the suite, at the end of a driver's reason


def printable_text(text: str) -> str:
    """Replace each character that moves a terminal's cursor, breaks a line, or is no XML, by a question mark."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else "?" for sign in text)


def strip_suite(reason: str) -> str:
    """Return a driver's reason without the suite that was asked for: the same reason holds for others."""
    return ASKED.sub("", reason)
