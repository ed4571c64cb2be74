"""Errors of builds. They are here for commands that build next to nothing, and need not import what builds."""


class BuildFailed(Exception):
    """What went wrong, ready to be shown to a person."""


class Unavailable(BuildFailed):
    """What is not to be had, here or any more; nothing is broken, and the others can be made."""
