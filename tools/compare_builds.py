#!/usr/bin/env python3
"""Build a library twice, measure both, and say what changed: a commit against another, or against a directory."""

if __name__ == "__main__":
    from tlsmem.base import venv

    venv.activate()

    from tlsmem.compare.compare_builds import main

    main()
