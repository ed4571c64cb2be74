#!/usr/bin/env python3
"""Profile one run of a stack: which call stacks hold the bytes, at the end of every phase."""

from tlsmem.cli.profile_heap import main

if __name__ == "__main__":
    main()
