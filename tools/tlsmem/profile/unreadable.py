"""What readers of other tools' files say when one cannot be used."""


class Unreadable(ValueError):
    """The file is not there, not of its kind, of another version, or cut off: one sentence, which names it."""
