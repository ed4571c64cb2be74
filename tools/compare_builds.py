#!/usr/bin/env python3
"""Build a library twice, measure both, and say what changed: a commit against another, or against a directory."""

from tlsmem.cli.compare_builds import main

if __name__ == "__main__":
    main()
