"""Errors of builds. They are here for commands that build next to nothing, and need not import what builds."""

from tlsmem.base.errors import UserError
from tlsmem.base.printable import printable_text


class BuildFailed(UserError):
    """A library or program could not be built. The last lines of its log may follow the sentence."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.args = ("\n".join(map(printable_text, text.expandtabs().split("\n"))),)


class Unavailable(BuildFailed):
    """What is not to be had, here or any more; nothing is broken, and the others can be made."""
