"""Runs under a tool that came to nothing."""


class Failed(Exception):
    """One sentence, which begins with what it is about."""


class TooLong(Failed):
    """Killed at its time limit: the script knows how to give it more."""
