#!/usr/bin/env python3
"""Profile one run of a stack: which call stacks hold the bytes, at the end of every phase."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.cli.profile_stack import main

    main()
