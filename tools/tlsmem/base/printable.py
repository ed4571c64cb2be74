"""Text that others wrote, made safe to show: names in records, profiles and budgets may hold anything."""


def printable_text(text: str) -> str:
    """Replace each character that moves a terminal's cursor, breaks a line, or is no XML, by a question mark."""
    return text if text.isprintable() else "".join(sign if sign.isprintable() else "?" for sign in text)
