"""The commands: one argument parser each, of the standard library only; the bodies are imported once it has parsed.

Ctrl-C is no error from the import of this package on."""

import sys

from tlsmem.base import venv

sys.excepthook = venv.handle_uncaught
